"""Draw the figures of docs/performance.md from the stored results.

    python -m benchmarks.plots

The same results give the same bytes.
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
    "ggml, rows regrouped": "#2e8b57",
    "ggml": "#8fbc8f",
    "torch, weights kept decoded": "#e9b872",
    "weights kept in fp32": "#6b4e9b",
    "AITER's reference": "#8a8a8a",
    "vLLM's emulation": "#b04a4a",
}
_NAMES = {"compiled": "this package, compiled", "torch": "this package, torch"}
_LABELS = _NAMES | {"torch, weights kept decoded": "this package, torch, weights kept decoded"}
_STUDIES = {"tokens": "tokens", "experts": "experts", "hidden": "hidden and intermediate size"}


def main() -> None:
    """Write the SVG files."""
    mpl.rcParams["svg.hashsalt"] = "aiter_compat"
    for path in (_peers(result_files.read("cpu_moe_mxfp4_1")), _growth(result_files.read("cpu_growth"))):
        print(path)


def _peers(result: dict[str, Any]) -> Path:
    """Time against tokens: this package, what people have instead, and the floor; bands from quartile to quartile."""
    figure, axes = plt.subplots(figsize=(7.5, 5), layout="constrained")
    for name, colour in _COLOURS.items():
        rows = [row for row in result["rows"] if name in row["times"]]
        if not rows:
            continue
        tokens, times = [row["tokens"] for row in rows], [row["times"][name] for row in rows]
        width = 2.2 if name in _NAMES else 1.2
        label = _LABELS.get(name, name)
        axes.plot(tokens, [time["median_ms"] for time in times], "o-", color=colour, lw=width, ms=4, label=label)
        low, high = ([time[f"{side}_quartile_ms"] for time in times] for side in ("lower", "upper"))
        axes.fill_between(tokens, low, high, color=colour, alpha=0.2, linewidth=0)
    tokens = [row["tokens"] for row in result["rows"]]
    floor = [max(row["floor_ms"].values()) for row in result["rows"]]
    axes.plot(tokens, floor, "k--", linewidth=1.2, label="floor: bytes or products, rates of the same run")
    shape = result["shape"]
    axes.set_title(
        f"One MXFP4 MoE layer on the CPU, {result['threads']} thread: {shape['experts']} experts, "
        f"top {shape['choices']}, {shape['hidden']} x {shape['intermediate']}",
        fontsize=10,
    )
    _scales(axes, tokens, "tokens", "milliseconds, median")
    # Two columns below the lines: seven peers would cover them.
    figure.legend(*axes.get_legend_handles_labels(), loc="outside lower center", ncols=2, fontsize=8, frameon=False)
    return _save(figure, "cpu_moe.svg")


def _growth(result: dict[str, Any]) -> Path:
    """Time above, memory below, against tokens, experts and size; dashed is the model."""
    figure, grid = plt.subplots(2, len(_STUDIES), figsize=(10, 6), layout="constrained", sharex="col")
    for column, (study, label) in enumerate(_STUDIES.items()):
        points = result["studies"][study]
        x = [point[study] for point in points]
        above, below = grid[0][column], grid[1][column]
        for path, name in _NAMES.items():
            colour, values = _COLOURS[path], [point[path] for point in points]
            above.plot(x, [value["median_ms"] for value in values], "o-", color=colour, ms=4, label=name)
            above.plot(x, [value["model_ms"] for value in values], "--", color=colour, lw=1, label=f"{path}: model")
            peaks = [max(value["extra_peak_mib"], 0.01) for value in values]  # a logarithmic axis has no 0
            below.plot(x, peaks, "o-", color=colour, ms=4, label=name)
        of_weights = [
            point["experts"] * 3 * point["hidden"] * point["intermediate"] * 17 / 32 / 2**20 for point in points
        ]
        below.plot(x, of_weights, "k:", lw=1, label="the layer's weights")
        _scales(above, x, None, "milliseconds, median" if column == 0 else None)
        _scales(below, x, label, "extra peak memory, MiB" if column == 0 else None)
    figure.legend(
        *grid[0][0].get_legend_handles_labels(), loc="outside upper center", ncols=4, fontsize=8, frameon=False
    )
    grid[1][0].legend(fontsize=7, frameon=False)
    return _save(figure, "cpu_growth.svg")


def _scales(axes: Any, x: list[int], x_label: str | None, y_label: str | None) -> None:
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    axes.set_xticks(x)
    axes.xaxis.set_major_formatter("{x:.0f}")
    axes.set(xlabel=x_label or "", ylabel=y_label or "")
    axes.grid(alpha=0.3)


def _save(figure: Any, name: str) -> Path:
    path = FIGURES / name
    figure.savefig(path, metadata={"Date": None})
    plt.close(figure)
    return path


if __name__ == "__main__":
    main()
