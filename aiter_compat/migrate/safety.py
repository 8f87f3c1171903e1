"""Whether one use of an AITER symbol means the same when the symbol is aiter_compat's."""

from __future__ import annotations

import libcst as cst
from libcst import matchers as m
from libcst.helpers import get_full_name_for_node

from aiter_compat.migrate.bindings import Bindings
from aiter_compat.migrate.plan import Destination

_POSITIONAL = 13  # of AITER's fused_moe; what follows moved between releases, so aiter_compat takes it by keyword only
_READ_PARAMETERS = frozenset({"signature", "getfullargspec", "unwrap"})
_OF_A_FUNCTION = frozenset({"__code__", "__defaults__", "__kwdefaults__", "__signature__", "__wrapped__"})
_LOOK_INSIDE = frozenset({"setattr", "hasattr", "delattr"})
_MEMBERSHIP = m.Comparison(
    left=m.SimpleString(),
    comparisons=[
        m.ComparisonTarget(operator=m.In() | m.NotIn(), comparator=m.Attribute(m.Call(), m.Name("parameters")))
    ],
)


def reason_against(bindings: Bindings, use: cst.CSTNode, destination: Destination) -> str | None:
    """Why it does not, in half a sentence; None when it does.

    Args:
        bindings: of the file.
        use: the name, or the chain of attributes.
        destination: what would stand there.
    """
    if bindings.is_target(use):
        return "the host puts something else in its place"
    parent = bindings.parent(use)
    if isinstance(parent, cst.Attribute) and parent.attr.value in _OF_A_FUNCTION:
        return f"the host reads {parent.attr.value} of AITER's own function"
    if isinstance(parent, cst.Call) and parent.func is use:
        return _against_call(parent)
    call = bindings.parent(parent) if isinstance(parent, cst.Arg) else None
    if isinstance(call, cst.Call):
        called = _name(call)
        if called in _READ_PARAMETERS and not _asks_for_one_of(bindings, call, destination.parameters):
            return "the host reads the parameters of AITER's own function"
        if called in _LOOK_INSIDE and call.args[0] is parent:
            return "the host looks into it or changes it by name"
    return None


def may_call(bindings: Bindings, use: cst.CSTNode) -> bool:
    """Whether a use is anything else than a look at the function's parameters."""
    parent = bindings.parent(use)
    call = bindings.parent(parent) if isinstance(parent, cst.Arg) else None
    return not (isinstance(call, cst.Call) and _name(call) in _READ_PARAMETERS)


def _name(call: cst.Call) -> str:
    return (get_full_name_for_node(call.func) or "").rpartition(".")[2]


def _against_call(call: cst.Call) -> str | None:
    if any(argument.star == "*" for argument in call.args):
        return "a call unpacks a sequence, so its positional arguments cannot be counted"
    positional = sum(argument.keyword is None and argument.star == "" for argument in call.args)
    if positional > _POSITIONAL:
        return f"a call passes {positional} positional arguments; only {_POSITIONAL} mean the same on every release"
    return None


def _asks_for_one_of(bindings: Bindings, call: cst.Call, parameters: frozenset[str]) -> bool:
    """Whether it is `"name" in inspect.signature(f).parameters` with a name that our function takes on every release.

    Answered for AITER's function, it would keep the host from passing that argument to ours.
    """
    node: cst.CSTNode | None = call
    for _ in range(3):  # .parameters, the right side of the comparison, the comparison
        node = None if node is None else bindings.parent(node)
    if not isinstance(node, cst.Comparison) or not m.matches(node, _MEMBERSHIP):
        return False
    return isinstance(node.left, cst.SimpleString) and node.left.evaluated_value in parameters
