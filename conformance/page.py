"""The results as a page of the documentation."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from conformance.runs import Outcome

PAGE = Path(__file__).resolve().parent.parent / "docs" / "conformance.md"

_INTRODUCTION = """\
# Conformance with AITER's own code

For each release, AITER's own Python package is taken from its tag and imported, with nothing faked but the machine:
the compiled module of its enums, ROCm's command-line tools, the GPU that Triton's driver reports, and, for releases up
to v0.1.19.post2 on torch 2.13 and later, the call that defines its operators (they name their namespace twice).
A grid of calls then goes through `ac.fused_moe(backend="aiter")`, and what arrives behind AITER's public function, at
the registered operators `aiter::fused_moe_` and `aiter::fhmoe_`, is compared with what was asked for. So AITER's
wrapper, its schemas and torch's dispatcher are the real ones; no kernel runs.

A call is **served**: every argument arrived, in the meaning that was asked for (a clamp is judged by AITER's own torch
reference). Or it is **refused** by aiter_compat before AITER is reached, for the reason given; that a release really
cannot express such a call is read from its own signature, enums and sources. Anything else fails the run.

This page is written by the run:

```bash
pip install --group real-aiter torch
AITER_SOURCE=<checkout of ROCm/aiter with tags> python -m conformance --write
```

`AITER_SOURCE=… pytest -m real_aiter` asserts the same, and that this page is what the run gives.
"""


_OLDER = """\
These are older than the releases that are supported. `backend="auto"` emulates and says so; `backend="aiter"` warns,
and adapts calls to them:
"""


def page_text(results: Mapping[str, Sequence[Outcome]], older: Mapping[str, Sequence[Outcome]]) -> str:
    """The page.

    Args:
        results: of each supported release, by tag, in their order.
        older: of each recorded release that is older, likewise.
    """
    reasons: dict[str, int] = {}
    groups = _alike(results)
    tables = [
        _INTRODUCTION,
        "## Releases\n",
        _table(("release", "calls", "served", "refused"), (_totals(tag, found) for tag, found in results.items())),
        "## Calls\n",
        "Numbers in brackets are those of the reasons below.\n",
        _table(
            ("call", *(_span(tags) for tags in groups)),
            (
                (kind, *(_cell(kind, results[tags[-1]], tags[-1], reasons) for tags in groups))
                for kind in dict.fromkeys(one.kind for found in results.values() for one in found)
            ),
        ),
        "## Older releases\n",
        _OLDER,
        _table(("release", "calls", "served", "refused"), (_totals(tag, found) for tag, found in older.items())),
        "## Reasons\n",
        "\n".join(f"{number}. {reason}" for reason, number in reasons.items()) + "\n",
    ]
    return "\n".join(tables)


def _totals(tag: str, found: Sequence[Outcome]) -> tuple[str, ...]:
    counted = Counter(one.outcome for one in found)
    return tag, str(len(found)), str(counted["served"]), str(counted["refused"])


def _alike(results: Mapping[str, Sequence[Outcome]]) -> list[list[str]]:
    """Neighbouring tags on which every call fared the same, reasons included."""
    groups: list[list[str]] = []
    for tag, found in results.items():
        if groups and _fared(groups[-1][-1], results[groups[-1][-1]]) == _fared(tag, found):
            groups[-1].append(tag)
        else:
            groups.append([tag])
    return groups


def _fared(tag: str, found: Sequence[Outcome]) -> list[tuple[str, str, tuple[str, ...]]]:
    return [(one.kind, one.outcome, _of_any_release(tag, one.reasons)) for one in found]


def _cell(kind: str, found: Sequence[Outcome], tag: str, reasons: dict[str, int]) -> str:
    mine = [one for one in found if one.kind == kind]
    refused = [one for one in mine if one.outcome == "refused"]
    if not refused:
        return "served"
    texts = dict.fromkeys(text for one in refused for text in _of_any_release(tag, one.reasons))
    numbers = sorted(reasons.setdefault(text, len(reasons) + 1) for text in texts)
    cited = f"[{', '.join(map(str, numbers))}]"
    return f"refused {cited}" if len(refused) == len(mine) else f"{len(refused)} of {len(mine)} refused {cited}"


def _of_any_release(tag: str, reasons: Iterable[str]) -> tuple[str, ...]:
    """Reasons without the number of the release that they name."""
    return tuple(reason.replace(f"AITER {tag.removeprefix('v')}", "this release") for reason in reasons)


def _span(tags: Sequence[str]) -> str:
    return tags[0] if len(tags) == 1 else f"{tags[0]} to {tags[-1]}"


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)
