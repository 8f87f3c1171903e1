"""The matrix as one HTML page that needs nothing else: no network, no other file."""

from __future__ import annotations

import html
from collections.abc import Sequence

from aiter_compat.checker.matrix import LETTERS, Cell, Matrix

_ORDER = ".-gFM"  # of a column that is sorted
_CLASSES = {"M": "M", "F": "F", "g": "g", "-": "there", ".": "there"}
_STYLE = """
:root { color-scheme: light dark; }
body { font: 14px/1.4 system-ui, sans-serif; margin: 2rem; }
table { border-collapse: collapse; }
thead th { position: sticky; top: 0; background: Canvas; cursor: pointer; vertical-align: bottom; padding: .2rem; }
thead th.release span { writing-mode: vertical-rl; transform: rotate(180deg); font-weight: normal; }
thead th[aria-sort=ascending]::after { content: "\\2191"; }
thead th[aria-sort=descending]::after { content: "\\2193"; }
tr > :first-child { position: sticky; left: 0; background: Canvas; min-width: 18rem; max-width: 34rem; }
thead tr > :first-child { z-index: 1; }
tbody th { text-align: left; font: 12px ui-monospace, monospace; padding-right: 1rem; overflow-wrap: anywhere; }
td { width: 1.5rem; text-align: center; border: 1px solid color-mix(in srgb, CanvasText 15%, Canvas); }
.M { background: #b3261e; color: #fff; } .F { background: #e8833a; color: #000; }
.g { background: #c9d7e8; color: #000; } .there { color: GrayText; }
"""
_SCRIPT = """
const table = document.querySelector("table"), body = table.tBodies[0];
const heads = [...table.tHead.rows[0].cells];
heads.forEach((head, column) => head.addEventListener("click", () => {
  const down = head.getAttribute("aria-sort") === "ascending";
  heads.forEach(other => other.removeAttribute("aria-sort"));
  head.setAttribute("aria-sort", down ? "descending" : "ascending");
  const key = row => row.cells[column].dataset.key;
  const rows = [...body.rows].sort((a, b) => key(a).localeCompare(key(b), "en", {numeric: true}));
  if (down) rows.reverse();
  body.append(...rows);
}));
"""


def as_html(matrix: Matrix) -> str:
    """The page: a row for each symbol, a column for each release; a click on a head sorts."""
    cells = matrix.cells()
    heads = "".join(
        f'<th class="release" scope="col"><span>{html.escape(release)}</span></th>' for release in matrix.releases
    )
    rows = "\n".join(_row(symbol, row) for symbol, row in cells.items())
    legend = " ".join(
        f'<span class="{_CLASSES[letter]}">&nbsp;{letter}&nbsp;</span> {meaning}' for letter, meaning in LETTERS.items()
    )
    title = f"{html.escape(matrix.root)} against AITER"
    return f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>{title}</title><style>{_STYLE}</style></head>
<body><h1>{title}</h1>
<p>{len(cells)} symbols are missing in at least one of {len(matrix.releases)} releases. {legend}</p>
<table><thead><tr><th scope="col">symbol</th><th scope="col">places</th>{heads}</tr></thead>
<tbody>
{rows}
</tbody></table>
<script>{_SCRIPT}</script></body></html>
"""


def _row(symbol: str, row: Sequence[Cell]) -> str:
    places = sorted({f"{gap.file}:{gap.line}" for cell in row for gap in cell.gaps})
    name = html.escape(symbol)
    head = f'<th scope="row" data-key="{name}">{name}</th>'
    count = _data(str(len(places)), str(len(places)), "\n".join(places))
    return f"<tr>{head}{count}{''.join(map(_cell, row))}</tr>"


def _cell(cell: Cell) -> str:
    title = "\n".join(dict.fromkeys(gap.message for gap in cell.gaps)) or LETTERS[cell.letter]
    return _data(cell.letter, str(_ORDER.index(cell.letter)), title, _CLASSES[cell.letter])


def _data(text: str, key: str, title: str, style: str = "") -> str:
    name = f' class="{style}"' if style else ""
    return f'<td{name} data-key="{key}" title="{html.escape(title, quote=True)}">{text}</td>'
