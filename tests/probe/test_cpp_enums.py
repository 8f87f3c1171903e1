"""Enum members from C++ text, with C++'s rules for what is left out."""

from __future__ import annotations

import pytest

from aiter_compat.probe.cpp_enums import enums_in


@pytest.mark.parametrize(
    ("body", "members"),
    [
        ("A, B, C", {"A": 0, "B": 1, "C": 2}),
        ("No = -1, Silu, Gelu = 5, Last,", {"No": -1, "Silu": 0, "Gelu": 5, "Last": 6}),
        ("A = 0x10, B = 0b11u, C = 010, D = 0, E = +3", {"A": 16, "B": 3, "C": 8, "D": 0, "E": 3}),
        ("A = 2, B = A, C", {"A": 2, "B": 2, "C": 3}),
    ],
)
def test_values_follow_cpp(body, members):
    assert enums_in(f"enum class E : int {{ {body} }};") == {"E": members}


@pytest.mark.parametrize("body", ["A = sizeof(int)", "A,\n#ifdef X\nB,\n#endif\nC", "A = other::B", ""])
def test_enum_that_cannot_be_known_whole_is_left_out(body):
    assert enums_in(f"enum class E {{ {body} }}; enum F {{ A }};") == {"F": {"A": 0}}


def test_every_form_of_enum_is_read_and_comments_are_not():
    header = """
        // enum class No1 { A };
        /* enum class No2 { A }; */
        enum class One : std::uint8_t { A = 1 /* = 2 */, B }; // tail
        enum struct Two { A };
        typedef enum { X } Unnamed;
        enum Three { A };
    """
    assert enums_in(header) == {"One": {"A": 1, "B": 2}, "Two": {"A": 0}, "Three": {"A": 0}}
