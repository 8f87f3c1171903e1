"""What a capability needs explains itself in half a sentence."""

import pytest

from aiter_compat.features.needs import AnyOf, Keyword, Member
from aiter_compat.probe import Parameter, Surface, Symbol

SURFACE = Surface(
    "test",
    {
        "aiter.f": Symbol("aiter.f", "function", parameters=(Parameter("x", "positional_or_keyword"),)),
        "aiter.E": Symbol("aiter.E", "enum", members={"A": 1}, enum_kind="plain"),
        "aiter.Hidden": Symbol("aiter.Hidden", "enum", enum_kind="pybind"),
    },
)


@pytest.mark.parametrize(
    ("need", "missing"),
    [
        (Keyword("aiter.f", ("x",)), None),
        (Keyword("aiter.f", ("x", "y", "z")), "aiter.f takes no y and no z"),
        (Keyword("aiter.g", ("x",)), "there is no aiter.g"),
        (Member(("aiter.E",), "A"), None),
        (Member(("aiter.E",), "B"), "aiter.E has no B"),
        (Member(("aiter.missing", "aiter.E"), "A"), None),
        (Member(("aiter.missing", "aiter.E"), "B"), "aiter.E has no B"),
        (Member(("aiter.missing", "aiter.other"), "A"), "there is no aiter.missing"),
        (AnyOf(("aiter.g", "aiter.f")), None),
        (AnyOf(("aiter.g", "aiter.h")), "there is no aiter.g and no aiter.h"),
    ],
)
def test_missing(need, missing):
    assert need.missing(SURFACE) == missing


def test_members_that_no_file_states_are_not_said_to_be_absent():
    assert Member(("aiter.Hidden",), "A").missing(SURFACE) == "the members of aiter.Hidden are not known"
