"""Write the tables of docs/performance.md about the GPU from the stored results, between the marks that name them.

python -m benchmarks.gpu_tables
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from benchmarks import result_files
from benchmarks.gpu_layers import SHAPES
from benchmarks.gpu_moe import stored_name
from benchmarks.gpu_peers import OURS

_PAGE = Path(__file__).parents[1] / "docs" / "performance.md"
_TO_BEAT = "triton_kernels, no QDQ"


def main() -> None:
    """Replace the tables."""
    page = _PAGE.read_text(encoding="utf-8")
    for name in (stored_name(shape, activations) for shape in SHAPES for activations in ("mxfp4", "none")):
        if not (result_files.FOLDER / f"{name}.json").exists():
            continue
        marked = re.compile(rf"(<!-- {name} -->\n).*?(<!-- /{name} -->)", re.DOTALL)
        if not marked.search(page):
            raise SystemExit(f"{_PAGE} has no marks for {name}")
        table = "\n".join(_table(result_files.read(name))) + "\n"
        page = marked.sub(lambda found, table=table: found[1] + table + found[2], page)
    _PAGE.write_text(page, encoding="utf-8")
    print(_PAGE)


def _table(result: dict[str, Any]) -> list[str]:
    """Medians in microseconds; in bold how many times ours; then ours over the floor."""
    rows, card, shape = result["rows"], result["card"], result["shape"]
    names = list(dict.fromkeys(name for row in rows for name in row["times"]))
    lines = [
        f"{result['model']}: {shape['experts']} experts, top {shape['choices']}, {shape['hidden']} x "
        f"{shape['intermediate']}. {result['machine']['date'][:10]}, {card['name']}, torch "
        f"{result['machine']['packages']['torch']}, Triton {card['triton']}:",
        "",
        "| M = | " + " | ".join(str(row["tokens"]) for row in rows) + " |",
        "|---|" + "---|" * len(rows),
    ]
    for name in names:
        cells = [_cell(row["times"].get(name), row["times"][OURS], name) for row in rows]
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    floors = [max(row["floor_ms"].values()) for row in rows]
    over = [row["times"][OURS]["median_ms"] / floor for row, floor in zip(rows, floors, strict=True)]
    lines.append("| floor | " + " | ".join(_microseconds(floor) for floor in floors) + " |")
    lines.append("| ours over the floor | " + " | ".join(f"{ratio:.2f}x" for ratio in over) + " |")
    return lines


def _cell(times: dict[str, Any] | None, ours: dict[str, Any], name: str) -> str:
    if times is None:
        return ""
    text = _microseconds(times["median_ms"])
    if name == OURS:
        return text
    ratio = f"{times['median_ms'] / ours['median_ms']:.3g}x"
    return f"{text} **{ratio}**" if name == _TO_BEAT else f"{text} {ratio}"


def _microseconds(milliseconds: float) -> str:
    value = milliseconds * 1e3
    return f"{value:.0f}" if value >= 100 else f"{value:.1f}"


if __name__ == "__main__":
    main()
