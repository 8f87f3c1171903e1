"""Surfaces as values: what is asked of them, and their trip through JSON."""

from __future__ import annotations

import inspect
import json
import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aiter_compat.errors import RecordError
from aiter_compat.probe import Parameter, Surface, Symbol
from aiter_compat.probe.parameters import from_texts, to_texts

FUNCTION = Symbol("aiter.fused_moe.fused_moe", "function", (Parameter("x"), Parameter("y", "keyword_only", "None")))
ENUM = Symbol("aiter.ops.enum.QuantType", "enum", members={"No": 0, "per_1x32": 3}, enum_kind="pybind")
SURFACE = Surface("here", {symbol.path: symbol for symbol in (FUNCTION, ENUM)}, ("a note",))


def test_questions():
    assert SURFACE.has(FUNCTION.path)
    assert not SURFACE.has("aiter.fused_moe")
    assert SURFACE.parameters(FUNCTION.path) == FUNCTION.parameters
    assert SURFACE.parameters(ENUM.path) is None
    assert SURFACE.parameters("nowhere") is None
    assert SURFACE.parameter(FUNCTION.path, "y") == Parameter("y", "keyword_only", "None")
    assert SURFACE.parameter("nowhere", "y") is None
    assert SURFACE.members(ENUM.path) == {"No": 0, "per_1x32": 3}
    assert SURFACE.members(FUNCTION.path) is None
    assert SURFACE.first(["nowhere", ENUM.path, FUNCTION.path]) == ENUM.path
    assert SURFACE.first(["nowhere"]) is None


def test_trip_through_json_changes_nothing():
    assert Surface.from_dict(json.loads(json.dumps(SURFACE.to_dict()))) == SURFACE


def test_surface_can_be_pickled_hashed_and_not_changed():
    assert pickle.loads(pickle.dumps(SURFACE)) == SURFACE
    assert hash(SURFACE) == hash(pickle.loads(pickle.dumps(SURFACE)))
    with pytest.raises(TypeError):
        SURFACE.symbols["x"] = FUNCTION  # type: ignore[index]
    with pytest.raises(TypeError):
        ENUM.members["x"] = 1  # type: ignore[index]


@pytest.mark.parametrize(
    "plain",
    [
        {},
        {"origin": "x"},
        {"origin": "x", "symbols": []},
        {"origin": "x", "symbols": {"a": {}}},
        {"origin": "x", "symbols": {"a": {"kind": "function", "parameters": ["not a name"]}}},
        {"origin": "x", "symbols": {"a": {"kind": "function", "parameters": 3}}},
    ],
)
def test_malformed_content_is_a_record_error(plain):
    with pytest.raises(RecordError, match="malformed"):
        Surface.from_dict(plain)


@pytest.mark.parametrize(
    "text",
    ["", "a", "a, b=1", "a, /", "a, /, b", "a=1, /, *, c", "*args, c=2, **kw", "a, *, c, d='=', **kw", "**kw"],
)
def test_texts_are_those_of_a_python_signature(text):
    namespace: dict[str, object] = {}
    exec(f"def f({text}): ...", namespace)
    expected = inspect.signature(namespace["f"])
    parameters = from_texts([part.strip() for part in text.split(",")] if text else [])
    assert [(p.name, p.kind) for p in parameters] == [
        (p.name, p.kind.name.lower()) for p in expected.parameters.values()
    ]
    assert ", ".join(to_texts(parameters)) == text


KINDS = ("positional_only", "positional_or_keyword", "var_positional", "keyword_only", "var_keyword")


@given(st.lists(st.tuples(st.sampled_from(KINDS), st.none() | st.sampled_from(["1", "'a=b'", "x.y"])), max_size=8))
def test_texts_lose_nothing(drawn):
    ordered = sorted(drawn, key=lambda item: KINDS.index(item[0]))
    seen: set[str] = set()
    parameters = []
    for index, (kind, default) in enumerate(ordered):
        starred = kind.startswith("var_")
        if starred and kind in seen:
            continue
        seen.add(kind)
        parameters.append(Parameter(f"p{index}", kind, None if starred else default))
    assert from_texts(to_texts(parameters)) == tuple(parameters)
