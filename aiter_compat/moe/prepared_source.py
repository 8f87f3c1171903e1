"""Source text of prepared calls: guards on the arguments, then the call itself.

The text depends on the form of a call only (what is given, what must be converted); values that it compares with or
sends are handed to the compiled text as constants, so that calls of one form compile once.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import torch

from aiter_compat.layer_config import MoEConfig
from aiter_compat.profiles import NumericsProfile

# Types whose equality, between two values of the very same type, means the same call. No subclasses.
_COMPARABLE = (int, float, str, torch.dtype, MoEConfig, NumericsProfile)


class Unpreparable(Exception):
    """Nothing can prove that another call is of this one's kind."""


class Constants:
    """Values that a text names."""

    def __init__(self) -> None:
        self.values: list[Any] = []
        self._names: dict[int, str] = {}

    def name(self, value: Any) -> str:
        """How the text says `value`.

        Raises:
            Unpreparable: it is a tensor, which a constant would keep alive.
        """
        if value is None or value is True or value is False:
            return repr(value)
        if isinstance(value, torch.Tensor):
            raise Unpreparable
        known = self._names.get(id(value))  # alive in `values`, so the id is its own
        if known is None:
            known = self._names[id(value)] = f"c{len(self.values)}"
            self.values.append(value)
        return known

    def same(self, path: str, value: Any) -> str:
        """A condition: what `path` says is the same value, of the same type.

        Identity answers first. Members of enums, numbers and texts are compared where it says no.

        Raises:
            Unpreparable: equality of such values proves nothing.
        """
        name = self.name(value)
        if value is None or value is True or value is False:
            return f"{path} is {name}"
        kind = type(value)
        if kind not in _COMPARABLE and not hasattr(kind, "__members__"):
            raise Unpreparable
        return f"({path} is {name} or (type({path}) is {self.name(kind)} and {path} == {name}))"


def function_source(
    parameters: Iterable[str],
    constants: Sequence[str],
    scalars: Iterable[str],
    assignments: Iterable[tuple[str, str]],
    tensors: Iterable[str],
    steps: Iterable[str],
    call: Sequence[str],
) -> str:
    """Text of `bind(*constants)`, which returns the prepared call.

    Args:
        parameters: names of the prepared call's parameters.
        constants: names of bind's.
        scalars: conditions on plain arguments.
        assignments: names given to parts of arguments, once the plain arguments are right.
        tensors: conditions on tensors.
        steps: statements before the call, once all conditions hold.
        call: statements that return the result.
    """
    return "\n".join([
        f"def bind({', '.join(constants)}):",
        f"    def prepared({', '.join(parameters)}):",
        f"        if not ({' and '.join(scalars) or 'True'}):",
        "            return MISSED",
        *(f"        {name} = {path}" for name, path in assignments),
        f"        if not ({' and '.join(tensors) or 'True'}):",
        "            return MISSED",
        *(f"        {statement}" for statement in (*steps, *call)),
        "    return prepared",
        "",
    ])  # fmt: skip


def compiled(source: str, namespace: Mapping[str, Any]) -> Callable[..., Callable[..., Any]]:
    """The function `bind` of a text; `namespace` holds what every prepared call uses by name."""
    scope = dict(namespace)
    exec(_code(source), scope)  # noqa: S102 - our own text; what callers pass enters as constants only
    bind: Callable[..., Callable[..., Any]] = scope["bind"]
    return bind


@functools.lru_cache(maxsize=256)
def _code(source: str) -> Any:
    return compile(source, "<aiter_compat prepared call>", "exec")
