"""Draw the figures of docs/performance.md from the stored results.

python -m benchmarks.plots
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib as mpl

mpl.use("Agg")
import matplotlib.pyplot as plt

from benchmarks import result_files

FIGURES = Path(__file__).parents[1] / "docs" / "figures"
_COLOURS = {
    "compiled": "#1b6ca8",
    "torch": "#d98324",
    "weights kept in fp32": "#6b4e9b",
    "AITER's reference": "#8a8a8a",
    "vLLM's emulation": "#b04a4a",
}


def main() -> None:
    """Write the SVG files."""
    mpl.rcParams["svg.hashsalt"] = "aiter_compat"  # the same bytes from the same results
    for path in (_peers(result_files.read("cpu_moe_mxfp4_1")), _growth(result_files.read("cpu_growth"))):
        print(path)


def _peers(result: dict[str, Any]) -> Path:
    figure, axes = plt.subplots(figsize=(7, 4.5), layout="constrained")
    tokens = [row["tokens"] for row in result["rows"]]
    for name, colour in _COLOURS.items():
        rows = [row["times"].get(name) for row in result["rows"]]
        if None in rows:
            continue
        axes.plot(tokens, [row["median_ms"] for row in rows], "o-", color=colour, label=name)
        low, high = ([row[f"{side}_quartile_ms"] for row in rows] for side in ("lower", "upper"))
        axes.fill_between(tokens, low, high, color=colour, alpha=0.2, linewidth=0)
    floor = [max(row["floor_ms"].values()) for row in result["rows"]]
    axes.plot(tokens, floor, "k--", linewidth=1, label="floor: bytes or products")
    shape = result["shape"]
    axes.set_title(
        f"MXFP4 weights and activations, {result['threads']} thread: {shape['experts']} experts, "
        f"top {shape['choices']}, {shape['hidden']} x {shape['intermediate']}",
        fontsize=10,
    )
    return _save(figure, axes, "tokens", "cpu_moe.svg")


def _growth(result: dict[str, Any]) -> Path:
    figure, axes = plt.subplots(figsize=(7, 4.5), layout="constrained")
    points = result["studies"]["tokens"]
    tokens = [point["tokens"] for point in points]
    axes.plot(tokens, [point["median_ms"] for point in points], "o-", color=_COLOURS["compiled"], label="compiled")
    axes.plot(tokens, [point["bytes_ms"] for point in points], ":", color="k", label="bytes of touched experts")
    axes.plot(tokens, [point["products_ms"] for point in points], "--", color="k", label="products")
    axes.set_title("Time against tokens, and the two terms of the model", fontsize=10)
    return _save(figure, axes, "tokens", "cpu_growth.svg")


def _save(figure: Any, axes: Any, label: str, name: str) -> Path:
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    axes.set_xlabel(label)
    axes.set_ylabel("milliseconds")
    axes.grid(alpha=0.3)
    axes.legend(fontsize=8)
    path = FIGURES / name
    figure.savefig(path, metadata={"Date": None})
    plt.close(figure)
    return path


if __name__ == "__main__":
    main()
