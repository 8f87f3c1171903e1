"""Draw `scale_rules.png`: the share of blocks in which each scale rule gives other values than the default profile.

Run from the repository root with the `docs` dependency group installed:

    python docs/figures/scale_rules.py

Every number comes from `ac.qdq` on seeded random input; the table printed on stdout is the one in docs/numerics.md.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import matplotlib as mpl
import torch

import aiter_compat as ac

mpl.use("Agg")
import matplotlib.pyplot as plt

BLOCKS = 65_536
BLOCK = 32
SEED = 20_260
RULES = {
    "rceil": "round up (AITER from v0.1.16, torchao RCEIL)",
    "even": "even (Quark, vLLM's emulation, torchao EVEN)",
    "floor": "floor (OCP MX v1.0, torchao FLOOR)",
    "ceil": "ceil (torchao CEIL)",
}
COLOURS = {"rceil": "#1b6ca8", "even": "#d98324", "floor": "#6b4e9b", "ceil": "#8a8a8a"}
FORMATS = {"mxfp4": "mxfp4_scale_rule", "mxfp8": "mxfp8_scale_rule"}


def distributions() -> dict[str, torch.Tensor]:
    """Input blocks [BLOCKS, 32] in bf16, from narrow to heavy-tailed."""
    generator = torch.Generator().manual_seed(SEED)

    def draw(sample: Callable[[tuple[int, int]], torch.Tensor]) -> torch.Tensor:
        return sample((BLOCKS, BLOCK)).to(torch.bfloat16)

    def normal(shape: tuple[int, int]) -> torch.Tensor:
        return torch.randn(shape, generator=generator)

    def uniform(shape: tuple[int, int]) -> torch.Tensor:
        return torch.rand(shape, generator=generator) * 2 - 1

    def heavy(shape: tuple[int, int]) -> torch.Tensor:
        """Student's t with three degrees of freedom."""
        chi = sum(torch.randn(shape, generator=generator) ** 2 for _ in range(3)) / 3
        return normal(shape) / chi.sqrt()

    def swiglu(shape: tuple[int, int]) -> torch.Tensor:
        """What the second quantisation sees: clamped SwiGLU of normal gate and up."""
        gate, up = (normal(shape) * 3).clamp(max=7.0), (normal(shape) * 3).clamp(-7.0, 7.0)
        return gate * torch.sigmoid(1.702 * gate) * (up + 1)

    def on_grid(shape: tuple[int, int]) -> torch.Tensor:
        """Values that MXFP4 holds exactly, such as dequantised weights."""
        codes = torch.randint(0, 256, (shape[0], BLOCK // 2), generator=generator, dtype=torch.uint8)
        scales = torch.randint(120, 134, (shape[0], 1), generator=generator, dtype=torch.uint8)
        return ac.dequantize(ac.Quantized(codes, scales, "mxfp4"))

    return {
        "uniform": draw(uniform),
        "normal": draw(normal),
        "Student t, 3 d.o.f.": draw(heavy),
        "after SwiGLU": draw(swiglu),
        "MXFP4 grid": draw(on_grid),
    }


def share(x: torch.Tensor, fmt: str, rule: str) -> tuple[float, float]:
    """Per cent of blocks whose dequantised values, and whose scale byte, differ from the default profile's."""
    other = ac.numerics(None, **{FORMATS[fmt]: rule})
    values = (ac.qdq(x, fmt) != ac.qdq(x, fmt, numerics=other)).view(-1, BLOCK).any(dim=1)
    scales = ac.quantize(x, fmt).scales != ac.quantize(x, fmt, numerics=other).scales
    return float(values.float().mean() * 100), float(scales.float().mean() * 100)


def main() -> int:
    """Compute, print and draw."""
    inputs = distributions()
    shares = {fmt: {rule: [share(x, fmt, rule) for x in inputs.values()] for rule in RULES} for fmt in FORMATS}
    for fmt, rows in shares.items():
        print(f"| {fmt} | {' | '.join(inputs)} |")
        print("|---" * (len(inputs) + 1) + "|")
        for rule, pairs in rows.items():
            print(f"| {rule} | {' | '.join(f'{values:.1f} ({scales:.1f})' for values, scales in pairs)} |")
        print()
    draw_figure(list(inputs), shares)
    return 0


def draw_figure(names: list[str], shares: dict[str, dict[str, list[tuple[float, float]]]]) -> None:
    """Grouped bars, one panel for each format: full bars for values, outlines for scale bytes."""
    figure, panels = plt.subplots(1, len(shares), figsize=(13, 5), sharey=True, layout="constrained")
    width = 0.84 / len(RULES)
    for panel, (fmt, rows) in zip(panels, shares.items(), strict=True):
        for index, (rule, pairs) in enumerate(rows.items()):
            places = [place + (index - (len(RULES) - 1) / 2) * width for place in range(len(names))]
            outline = panel.bar(
                places, [scales for _, scales in pairs], width * 0.9, facecolor="none", edgecolor=COLOURS[rule]
            )
            panel.bar(places, [values for values, _ in pairs], width * 0.9, color=COLOURS[rule], label=RULES[rule])
            panel.bar_label(outline, [f"{values:.0f}" for values, _ in pairs], fontsize=7, padding=1, color="#444444")
        panel.set_title(f"{fmt} against the default profile, aiter-0.1.15", fontsize=11)
        panel.set_xticks(range(len(names)), names, fontsize=9)
        panel.spines[["top", "right"]].set_visible(False)
        panel.grid(axis="y", color="#dddddd", linewidth=0.6)
        panel.set_axisbelow(True)
        panel.set_ylim(0, 108)
    panels[0].set_ylabel("blocks of 32 that differ, %\n(full: values, as labelled; outline: scale byte)")
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=2, fontsize=9, frameon=False)
    figure.savefig(Path(__file__).with_suffix(".png"), dpi=140)


if __name__ == "__main__":
    sys.exit(main())
