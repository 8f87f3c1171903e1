"""Code that survives the failure of an import, and so decides something by whether it works."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import libcst as cst
from libcst.helpers import get_full_name_for_node

_CATCH_IMPORTS = frozenset({"ImportError", "ModuleNotFoundError", "Exception", "BaseException"})


def is_guarded(node: cst.CSTNode, parent_of: Callable[[cst.CSTNode], cst.CSTNode | None]) -> bool:
    """Whether a `try` with a handler for it, or `contextlib.suppress`, stands around an import."""
    child, parent = node, parent_of(node)
    while parent is not None and not isinstance(parent, (cst.FunctionDef, cst.Lambda)):
        if isinstance(parent, (cst.Try, cst.TryStar)) and child is parent.body and any(map(_handles, parent.handlers)):
            return True
        if isinstance(parent, cst.With) and child is parent.body and any(map(_suppresses, parent.items)):
            return True
        child, parent = parent, parent_of(parent)
    return False


def _handles(handler: cst.ExceptHandler | cst.ExceptStarHandler) -> bool:
    if handler.type is None:
        return True
    caught = handler.type
    return _catches([one.value for one in caught.elements] if isinstance(caught, cst.Tuple) else [caught])


def _suppresses(item: cst.WithItem) -> bool:
    call = item.item
    return (
        isinstance(call, cst.Call)
        and (get_full_name_for_node(call.func) or "").rpartition(".")[2] == "suppress"
        and _catches(argument.value for argument in call.args)
    )


def _catches(exceptions: Iterable[cst.BaseExpression]) -> bool:
    return any((get_full_name_for_node(one) or "").rpartition(".")[2] in _CATCH_IMPORTS for one in exceptions)
