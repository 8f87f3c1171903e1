"""Cutting definitions out of a large source gives what parsing the whole of it would give."""

from __future__ import annotations

import ast

import pytest

from aiter_compat.probe.blocks import definitions, outline
from aiter_compat.probe.python_source import symbols_in

TRICKY = '''\
#!/usr/bin/env python
"""A docstring

def in_docstring(a): ...
"""
import torch  # def in_comment(a): ...

TEMPLATE = r"""
def in_template(x):
class InTemplate:
"""
TABLE = {
    "a": 1,
}


@functools.lru_cache(maxsize=1)
@torch_compile_guard(gen_fake=lambda x: x)
def decorated(
    hidden_states,
    w1,  # [expert, inter_dim * 2, dim]: "N, K"
    activation=ActivationType.Silu,  # don't
    limits: dict[str, float] = {"swiglu": 7.0},
    pick=lambda row: row[1:2],
    text=": (",
    other=\'\'\'
def in_default(): ...
\'\'\',
    *,
    gate_mode: str | None = GateMode.SEPARATED.value,
    **rest,
) -> tuple[int, ...]:
    """Body: with a colon."""
    if hidden_states:
        return {1: 2}


def one_line(a, b=1): return a


async def later(a): await a


def _private(a): ...


try:
    from elsewhere import GateMode
except ImportError:

    class GateMode(Enum):
        SEPARATED = "separated"

else:
    def with_flydsl(a): ...

if torch.version.hip:
    def on_rocm(a, b): ...
else:
    def on_rocm(a): ...


class Metadata:
    """Held together.

class NotMe:
    """

    def method(self): ...


def repeated(a): ...
def repeated(a, b): ...
'''


def symbols(statements):
    return symbols_in(statements, "aiter.fused_moe", lambda name: True)


def test_an_outline_has_the_symbols_of_the_whole():
    whole = symbols(ast.parse(TRICKY).body)
    assert symbols(outline(TRICKY)) == whole
    assert {path.rpartition(".")[2] for path in whole} == {
        "decorated", "one_line", "later", "_private", "GateMode", "with_flydsl", "on_rocm", "Metadata", "repeated",
    }  # fmt: skip
    assert [one.name for one in whole["aiter.fused_moe.decorated"].parameters][-2:] == ["gate_mode", "rest"]


def test_bodies_are_left_out():
    source = TRICKY.replace("        return {1: 2}\n", "        return this is no Python\n")
    with pytest.raises(SyntaxError):
        ast.parse(source)
    assert symbols(outline(source)) == symbols(ast.parse(TRICKY).body)


@pytest.mark.parametrize(
    "source",
    [
        "def broken(:\n",
        "def no_colon(a)\n",
        "def unclosed(a:\n    pass\n\ndef other(b): ...\n",
        "class Broken(:\n  x\n",
    ],
)
def test_what_cannot_be_cut_is_left_to_the_parser(source):
    assert outline(source) is None


def test_definitions_by_name_in_the_order_asked_for():
    found = definitions(TRICKY, ["Metadata", "one_line", "absent"])
    assert [statement.name for statement in found] == ["Metadata", "one_line"]
    assert ast.get_docstring(found[0]).startswith("Held together.\n\nclass NotMe:")
