"""The public functions' first look at a call: by a prepared one where there is one, else by the function itself.

What stands in front is generated from the function's own signature, for reasons of speed: keyword-only parameters cost
CPython a dictionary lookup each (parameters behind an end mark, which nothing can be passed to by accident, do not),
arguments must travel by position from here on, and each that travels costs ten nanoseconds.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar, cast

import torch

from aiter_compat.prepared_calls import MISSED, PreparedCalls, Shelf

_Function = TypeVar("_Function", bound=Callable[..., Any])
_END = "_no_more_positions"


@dataclass(frozen=True)
class Form:
    """The arguments of a public function, as its front tells them apart.

    Attributes:
        layer: the argument by whose object a layer is known.
        tensors: the other tensors that most calls have.
        seldom: what few calls have and is None in the others, tensors or not.
        scalars: what is no tensor; not changed from call to call, as a rule.
        names: all of them, in the order of the function.
    """

    layer: str
    tensors: tuple[str, ...]
    seldom: tuple[str, ...]
    scalars: tuple[str, ...]
    names: tuple[str, ...]

    def is_plain(self, arguments: Mapping[str, Any]) -> bool:
        """Whether none is given that seldom is."""
        return all(arguments[name] is None for name in self.seldom)

    def taken(self, plain: bool) -> tuple[str, ...]:
        """What a prepared call takes; a plain one has no use for what is None."""
        return tuple(name for name in self.names if not (plain and name in self.seldom))

    def compared(self, plain: bool) -> tuple[str, ...]:
        """The scalars that the front compares, for a known layer."""
        return tuple(name for name in self.taken(plain) if name in self.scalars)

    def passed(self, plain: bool) -> tuple[str, ...]:
        """What a prepared call for a known layer takes: what its front does not compare."""
        return tuple(name for name in self.taken(plain) if name not in self.scalars)


class Front:
    """What stands in front of one public function.

    `torch.compile` never sees it: it follows the function itself.

    Args:
        layer: the argument by whose object a layer is known.
        seldom: what few calls have, tensors or not; None by default.
    """

    def __init__(self, layer: str, seldom: tuple[str, ...]) -> None:
        self._layer, self._seldom = layer, seldom
        self._shelf = Shelf()
        self.form = Form(layer, (), seldom, (), ())

    def calls(self, arguments: Mapping[str, Any]) -> PreparedCalls:
        """The table in force for a call with these arguments."""
        return self._shelf.plain if self.form.is_plain(arguments) else self._shelf.full

    def before(self, function: _Function) -> _Function:
        """The function, with prepared calls in front of it; what is annotated as a tensor is taken for one."""
        parameters = inspect.signature(function).parameters
        self.form = form_of(function, self._layer, self._seldom)
        namespace: dict[str, Any] = {
            "_original": function,
            "shelf": self._shelf,
            "is_dynamo_compiling": torch.compiler.is_dynamo_compiling,
            "MISSED": MISSED,
            "END": object(),
            "defaults": {name: parameter.default for name, parameter in parameters.items()},
        }
        source = front_source(function, self.form)
        exec(compile(source, f"<front of {function.__name__}>", "exec"), namespace)  # noqa: S102 - our own signature
        return cast(_Function, functools.update_wrapper(namespace[function.__name__], function))


def form_of(function: Callable[..., Any], layer: str, seldom: tuple[str, ...]) -> Form:
    """The form of a public function."""
    named = {
        name: one
        for name, one in inspect.signature(function).parameters.items()
        if one.kind is not inspect.Parameter.VAR_KEYWORD
    }
    tensors = [name for name, one in named.items() if "Tensor" in str(one.annotation) and name != layer]
    return Form(
        layer,
        tuple(name for name in tensors if name not in seldom),
        seldom,
        tuple(name for name in named if name not in (layer, *tensors)),
        tuple(named),
    )


def front_source(function: Callable[..., Any], form: Form) -> str:
    """Source text of the function in front, for people and tests."""
    parameters = inspect.signature(function).parameters
    rest = [name for name, one in parameters.items() if one.kind is inspect.Parameter.VAR_KEYWORD]
    named = {name: one for name, one in parameters.items() if name not in rest}
    positional = [name for name, one in named.items() if one.kind is inspect.Parameter.POSITIONAL_OR_KEYWORD]
    keyword_only = [name for name in named if name not in positional]
    required = [name for name in keyword_only if named[name].default is inspect.Parameter.empty]
    defaults = {name: "END" if name in required else f"defaults[{name!r}]" for name in named}
    given = [
        *(
            name if named[name].default is inspect.Parameter.empty else f"{name}={defaults[name]}"
            for name in positional
        ),
        f"{_END}=END",
        *(f"{name}={defaults[name]}" for name in keyword_only),
        *(f"**{name}" for name in rest),
    ]
    by_name = [*positional, *(f"{name}={name}" for name in keyword_only), *(f"**{name}" for name in rest)]
    usual = [f"{_END} is END", *(f"not {name}" for name in rest)]
    return "\n".join([
        f"def {function.__name__}({', '.join(given)}):",
        f"    if not is_dynamo_compiling() and {' and '.join(usual)}:",
        f"        if {' and '.join(f'{name} is None' for name in form.seldom)}:",
        *_look_up(form, plain=True),
        "        else:",
        *_look_up(form, plain=False),
        # too many positions, or too few keywords: the function's own TypeError
        f"    if {_END} is not END:",
        f"        return _original({', '.join(positional)}, {_END})",
        *(f"    if {name} is END:\n        return _original({', '.join(positional)})" for name in required),
        f"    return _original({', '.join(by_name)})",
    ])  # fmt: skip


def _look_up(form: Form, *, plain: bool) -> list[str]:
    compared, taken = form.compared(plain), ", ".join(form.taken(plain))
    return [
        f"            calls = shelf.{'plain' if plain else 'full'}",
        "            known = calls.known",
        "            if known is None:",
        "                for prepared in calls.first:",
        *_answer(f"prepared({taken})", 20),
        "            else:",
        f"                for {', '.join(f'seen_{name}' for name in compared)}, prepared in "
        f"known.get(id({form.layer}), ()):",
        f"                    if {' and '.join(f'{name} is seen_{name}' for name in compared)}:",
        *_answer(f"prepared({', '.join(form.passed(plain))})", 24),
        *_answer(f"calls.search(({taken},))", 12),
    ]


def _answer(call: str, indent: int) -> list[str]:
    space = " " * indent
    return [f"{space}result = {call}", f"{space}if result is not MISSED:", f"{space}    return result"]
