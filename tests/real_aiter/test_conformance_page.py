"""The page of conformance is complete, and of the grid as it is now."""

import re

from conformance.calls import calls
from conformance.page import PAGE
from conformance.runs import older_tags, tags
from conformance.traps import trap_kinds

KINDS = [*(call.kind for call in calls()), *trap_kinds()]
"""Kind of every call, those that meet traps included."""


def rows(heading: str) -> list[list[str]]:
    """Cells of the table below a heading, without its head."""
    section = PAGE.read_text(encoding="utf-8").partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    lines = [line for line in section.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]


def test_every_supported_release_is_on_it_with_every_call():
    for heading, expected in (("Releases", tags()), ("Older releases", older_tags())):
        listed = {tag: [int(count) for count in counts] for tag, *counts in rows(heading)}
        assert tuple(listed) == expected
        for tag, (made, served, refused) in listed.items():
            assert made == len(KINDS) == served + refused, tag
            assert served > refused, tag


def test_every_kind_of_call_is_on_it():
    assert [kind for kind, *_ in rows("Calls")] == list(dict.fromkeys(KINDS))


def test_every_refusal_cites_a_reason():
    text = PAGE.read_text(encoding="utf-8").partition("\n## Reasons\n")[2]
    given = {int(number) for number in re.findall(r"^(\d+)\. \S", text, re.MULTILINE)}
    cited = [
        {int(number) for number in re.findall(r"\d+", cell.partition("[")[2])}
        for _, *cells in rows("Calls")
        for cell in cells
        if "refused" in cell
    ]
    assert all(cited)
    assert set().union(*cited) == given
