"""Draw the GPU figures of the documentation from the stored results, one for each shape.

python -m benchmarks.gpu_plots
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib as mpl

mpl.use("Agg")
import matplotlib.pyplot as plt

from benchmarks import result_files
from benchmarks.gpu_layers import SHAPES
from benchmarks.gpu_peers import OURS

FIGURES = Path(__file__).parents[1] / "docs" / "figures"
_COLOURS = {
    OURS: "#1b6ca8",
    "triton_kernels, no QDQ": "#d98324",
    "bf16 weights kept": "#6b4e9b",
    "vLLM's emulation, fast decode": "#b04a4a",
    "AITER's reference": "#8a8a8a",
}


def main() -> None:
    """Write the SVG files of the shapes that have results."""
    mpl.rcParams["svg.hashsalt"] = "aiter_compat"  # the same bytes from the same results
    for name in SHAPES:
        stored = f"gpu_moe_{name}"
        if (result_files.FOLDER / f"{stored}.json").exists():
            print(draw(result_files.read(stored), FIGURES / f"{stored}.svg"))


def draw(result: dict[str, Any], path: Path) -> Path:
    """Times against tokens, and the same by the floor.

    Args:
        result: the content of a `gpu_moe_<shape>.json`.
        path: of the SVG file.

    Returns:
        The path.
    """
    figure, (times, ratios) = plt.subplots(1, 2, figsize=(11, 4.5), layout="constrained")
    rows = result["rows"]
    floors = {row["tokens"]: max(row["floor_ms"].values()) for row in rows if "floor_ms" in row}
    for name, colour in _COLOURS.items():
        points = [(row["tokens"], row["times"][name]) for row in rows if name in row["times"]]
        if not points:
            continue
        tokens = [count for count, _ in points]
        medians = [item["median_ms"] * 1e3 for _, item in points]
        times.plot(tokens, medians, "o-", color=colour, label=name)
        low, high = ([item[f"{side}_quartile_ms"] * 1e3 for _, item in points] for side in ("lower", "upper"))
        times.fill_between(tokens, low, high, color=colour, alpha=0.2, linewidth=0)
        known = [(count, item["median_ms"] / floors[count]) for count, item in points if count in floors]
        if known:
            ratios.plot(*zip(*known, strict=True), "o-", color=colour)
    if floors:
        times.plot(list(floors), [floor * 1e3 for floor in floors.values()], "k--", linewidth=1, label="floor")
        ratios.axhline(1.0, color="k", linestyle="--", linewidth=1)
    shape = result["shape"]
    figure.suptitle(
        f"{result['model']}: {shape['experts']} experts, top {shape['choices']}, {shape['hidden']} x "
        f"{shape['intermediate']}, MXFP4, {result['card']['name']}",
        fontsize=10,
    )
    for axes, label in ((times, "microseconds"), (ratios, "times the floor")):
        axes.set_xscale("log", base=2)
        axes.set_yscale("log")
        axes.set_xlabel("tokens")
        axes.set_ylabel(label)
        axes.grid(alpha=0.3)
    times.legend(fontsize=8)
    figure.savefig(path, metadata={"Date": None})
    plt.close(figure)
    return path


if __name__ == "__main__":
    main()
