"""Write the tables of docs/performance.md about the CPU from the stored results, between the marks that name them.

python -m benchmarks.cpu_tables
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from benchmarks import result_files

_PAGE = Path(__file__).parents[1] / "docs" / "performance.md"
_MOE = ("cpu_moe_mxfp4_1", "cpu_moe_mxfp4_2", "cpu_moe_mxfp8_1", "cpu_moe_none_1")
_REFERENCE = "AITER's reference"
_STUDIES = {"tokens": "tokens", "experts": "experts", "hidden": "hidden = intermediate"}


def main() -> None:
    """Replace the tables."""
    page = _PAGE.read_text(encoding="utf-8")
    for name, lines in _tables().items():
        marked = re.compile(rf"(<!-- {name} -->\n).*?(<!-- /{name} -->)", re.DOTALL)
        if not marked.search(page):
            raise SystemExit(f"{_PAGE} has no marks for {name}")
        table = "\n".join(lines) + "\n"
        page = marked.sub(lambda found, table=table: found[1] + table + found[2], page)
    _PAGE.write_text(page, encoding="utf-8")
    print(_PAGE)


def _tables() -> dict[str, list[str]]:
    results = {name: result_files.read(name) for name in _MOE}
    tables = {name: [_about(result), "", *_moe(result)] for name, result in results.items()}
    growth = result_files.read("cpu_growth")
    tables["cpu_growth"] = [_about(growth)]
    for study, label in _STUDIES.items():
        tables["cpu_growth"] += ["", *_growth(growth["studies"][study], study, label)]
    tables["cpu_targets"] = _targets(results["cpu_moe_mxfp4_1"], growth)
    return tables


def _targets(result: dict[str, Any], growth: dict[str, Any]) -> list[str]:
    rows = {row["tokens"]: row["times"] for row in result["rows"]}
    peak = max(point["torch"]["extra_peak_mib"] for point in growth["studies"]["tokens"] if point["tokens"] <= 256)

    def ratios(peer: str, ours: str) -> str:
        found = (rows[tokens][peer]["median_ms"] / rows[tokens][ours]["median_ms"] for tokens in (1, 16, 128))
        return " / ".join(f"{ratio:.1f}x" if ratio >= 10 else f"{ratio:.2f}x" for ratio in found)

    return [
        "| CPU, one thread, M = 1 / 16 / 128 | target | reached in the run above |",
        "|---|---|---|",
        f"| compiled faster than ggml, plain rows | 1x, stretch 2x at 16 and 128 | {ratios('ggml', 'compiled')} |",
        f"| compiled faster than ggml, rows regrouped | the same | {ratios('ggml, rows regrouped', 'compiled')} |",
        f"| torch only faster than AITER's algorithm | 100x / 20x / 8x | {ratios(_REFERENCE, 'torch')} |",
        f"| torch only, extra memory up to M = 256 | 80 MiB | {peak:.0f} MiB |",
    ]


def _about(result: dict[str, Any]) -> str:
    machine = result["machine"]
    packages = ", ".join(f"{name} {version}" for name, version in machine["packages"].items())
    load = f"load average {machine['load_average']:.1f} on {machine['processors']} processors"
    ggml = f", ggml of {result['ggml']}" if result.get("ggml") else ""
    threads = f", {result['threads']} threads" if result.get("threads", 1) > 1 else ""
    return f"{machine['date'][:16]} UTC, {machine['processor']}{threads}, {load}; {packages}{ggml}:"


def _moe(result: dict[str, Any]) -> list[str]:
    """Medians with quartiles; in brackets how many times the compiled path's median."""
    rows = result["rows"]
    names = list(dict.fromkeys(name for row in rows for name in row["times"]))
    lines = ["| M = | " + " | ".join(str(row["tokens"]) for row in rows) + " |", "|---|" + "---|" * len(rows)]
    for name in names:
        cells = []
        for row in rows:
            times = row["times"].get(name)
            cells.append("" if times is None else _cell(times))
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    for floor in ("bytes", "products"):
        lines.append(f"| floor: {floor} | " + " | ".join(_number(row["floor_ms"][floor]) for row in rows) + " |")
    over = [row["times"]["compiled"]["median_ms"] / max(row["floor_ms"].values()) for row in rows]
    lines.append("| compiled over the floor | " + " | ".join(f"{ratio:.2f}x" for ratio in over) + " |")
    return lines


def _cell(times: dict[str, float]) -> str:
    spread = f"{_number(times['lower_quartile_ms'])}-{_number(times['upper_quartile_ms'])}"
    ratio = "" if times["ratio"] == 1.0 else f" **{times['ratio']:.2f}x**"
    return f"{_number(times['median_ms'])} ({spread}){ratio}"


def _growth(points: list[dict[str, Any]], study: str, label: str) -> list[str]:
    lines = [
        f"| {label} | experts touched | compiled ms | bytes | products | over model | extra MiB | torch ms | decoding "
        "| products | over model | extra MiB |",
        "|" + "---|" * 12,
    ]
    for point in points:
        cells = [str(point[study]), f"{point['touched_experts']:.1f}"]
        for path, terms in (("compiled", ("bytes_ms", "products_ms")), ("torch", ("decoding_ms", "products_ms"))):
            found = point[path]
            cells += [_number(found["median_ms"]), *(_number(found[term]) for term in terms)]
            cells += [f"{found['median_ms'] / found['model_ms']:.2f}x", f"{found['extra_peak_mib']:.1f}"]
        lines.append("| " + " | ".join(cells) + " |")
    return lines


def _number(value: float) -> str:
    return f"{value:.2f}" if value < 10 else f"{value:.1f}" if value < 100 else f"{value:.0f}"


if __name__ == "__main__":
    main()
