"""Which changes of a signature break calls that were written for it."""

from __future__ import annotations

import inspect

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aiter_compat.probe.module_names import signature_text
from aiter_compat.probe.parameters import Parameter, from_texts
from aiter_compat.probe.signatures import breaks_shortest_call, incompatibilities


def problems(before: str, after: str) -> tuple[str, ...]:
    return incompatibilities(from_texts(before.split()), from_texts(after.split()))


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("a b=1", "a b=1"),
        ("a b=1", "a b=2 c=3"),
        ("a b", "a b=None"),
        ("a * b", "a b"),
        ("a b", "*args **kwargs"),
        ("a *args", "a *more"),
        ("a / b", "a / b"),
        ("a", "a * c=1"),
    ],
)
def test_compatible(before, after):
    assert problems(before, after) == ()
    assert not breaks_shortest_call(from_texts(before.split()), from_texts(after.split()))


@pytest.mark.parametrize(
    ("before", "after", "told", "shortest"),
    [
        ("a b", "a", "b is gone", True),
        ("a b=1", "a", "b is gone", False),
        ("a", "a b", "b must be passed", True),
        ("a", "a * b", "b must be passed", True),
        ("a b", "b a", "position 0 is b, was a", True),
        ("a b=1 c=2", "a d=0 b=1 c=2", "position 1 is d, was b", False),
        ("a b=1", "a b", "b has no default any more", True),
        ("a b", "a * b", "b cannot be passed by position any more", True),
        ("a *args", "a", "*args is gone", False),
        ("a **kwargs", "a", "**kwargs is gone", False),
        ("q q_weight", "q_out=None q=None q_weight=None", "position 0 is q_out, was q", True),
    ],
)
def test_broken(before, after, told, shortest):
    assert told in problems(before, after)
    assert breaks_shortest_call(from_texts(before.split()), from_texts(after.split())) is shortest


@st.composite
def signatures(draw):
    names = draw(st.permutations("abcd"))[: draw(st.integers(0, 4))]
    split = draw(st.integers(0, len(names)))
    required = draw(st.integers(0, split))
    positional = [Parameter(name, default=None if i < required else "0") for i, name in enumerate(names[:split])]
    keyword = [Parameter(name, "keyword_only", draw(st.sampled_from([None, "0"]))) for name in names[split:]]
    return (*positional, *keyword)


def as_python(parameters) -> inspect.Signature:
    space: dict[str, object] = {}
    exec(f"def f{signature_text(parameters)}: ...", space)
    return inspect.signature(space["f"])


@given(signatures(), signatures(), st.data())
def test_no_problem_means_that_every_call_binds_the_same(before, after, data):
    if incompatibilities(before, after):
        return
    old, new = as_python(before), as_python(after)
    positional = [p.name for p in before if p.kind == "positional_or_keyword"]
    by_position = data.draw(st.integers(0, len(positional)))
    values = {p.name: p.name.upper() for p in before}
    given_names = positional[:by_position]
    keywords = {
        p.name: values[p.name]
        for p in before
        if p.name not in given_names and (p.default is None or data.draw(st.booleans()))
    }
    arguments = [values[name] for name in given_names]
    assert new.bind(*arguments, **keywords).arguments == old.bind(*arguments, **keywords).arguments
