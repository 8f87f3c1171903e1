"""The tensors of a call, as a prepared call finds and checks them."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import torch

from aiter_compat.moe.prepared_source import Constants, Unpreparable
from aiter_compat.weights import MoEWeights

_FIELDS = {"topk_weights": "topk_weight"}  # where the public name is not that of `MoECall`
_PARTS = ("w1", "w2", "w1_scale", "w2_scale", "bias1", "bias2")
LAYER_TENSORS = (*_PARTS, "shared_w1", "shared_w2", "shared_w1_scale", "shared_w2_scale")
_ANY_SHAPE = ("a1_scale", "a2_scale")  # no check reads it, and it may follow the number of tokens
_ROUTED = ("hidden_states", "topk_weight", "topk_ids")
_MARKED = ("w1", "w2")
_FETCHED = ("w1", "w2", "w1_scale", "w2_scale")
_PLAIN_TYPES = (torch.Tensor, torch.nn.Parameter)


@dataclass(frozen=True)
class Operand:
    """One tensor.

    Attributes:
        field: its name in `MoECall`.
        name: the local variable that holds it.
        path: how the arguments of the public function say it.
        tensor: as it was in the call that is prepared from.
    """

    field: str
    name: str
    path: str
    tensor: torch.Tensor

    @property
    def is_of_the_layer(self) -> bool:
        """Whether every call of a layer has the same object here."""
        return self.field in LAYER_TENSORS


def operands_of(arguments: Mapping[str, Any], scalars: Collection[str]) -> list[Operand]:
    """Every tensor among the arguments; those inside `MoEWeights` too.

    Raises:
        Unpreparable: one of `scalars` is a tensor, whose value decides.
    """
    found = []
    for name, value in arguments.items():
        if isinstance(value, torch.Tensor):
            if name in scalars:
                raise Unpreparable
            found.append(Operand(_FIELDS.get(name, name), name, name, value))
        elif isinstance(value, MoEWeights):
            parts = ((part, getattr(value, part)) for part in _PARTS)
            found += [Operand(part, part, f"{name}.{part}", tensor) for part, tensor in parts if tensor is not None]
    return found


def metadata_conditions(
    operands: list[Operand],
    constants: Constants,
    *,
    strides: bool,
    tokens: tuple[int, int | None],
    alignment: int = 1,
) -> Iterator[str]:
    """Conditions that another call's tensors have the types, shapes, dtypes and devices of this one's; M is free.

    Args:
        operands: of the call.
        constants: named by the conditions.
        strides: compare strides, too, of the layer's tensors and inside a token (an emulation path depends on them).
        tokens: the least M and the one from which on it is too many; None: there is none.
        alignment: bytes; weights and scales begin at a multiple of it, or do not, as in this call.
    """
    by_field = {operand.field: operand for operand in operands}
    hidden, weight, ids = (by_field[field] for field in _ROUTED)
    for operand in operands:  # first of all, since what follows asks tensors
        yield _type(operand, constants)
    yield f"len(rows := {hidden.name}.shape) == 2 and rows[1] == {constants.name(hidden.tensor.shape[1])}"
    yield from _within(tokens, "rows[0]", constants)
    yield f"(chosen := {ids.name}.shape) == (rows[0], {constants.name(ids.tensor.shape[1])})"
    yield f"{weight.name}.shape == chosen"
    if strides:
        yield f"{hidden.name}.stride(-1) == {constants.name(hidden.tensor.stride(-1))}"
    for operand in operands:
        name, tensor = operand.name, operand.tensor
        if operand.field not in (*_ROUTED, *_ANY_SHAPE):
            yield f"{name}.shape == {constants.name(tensor.shape)}"
        yield f"{name}.dtype is {constants.name(tensor.dtype)}"
        yield f"{name}.is_cpu" if tensor.is_cpu else f"{name}.device == {constants.name(tensor.device)}"
        if strides and operand.is_of_the_layer:
            yield f"{name}.stride() == {constants.name(tensor.stride())}"
        if alignment > 1 and operand.field in _FETCHED:
            misaligned = tensor.data_ptr() % alignment != 0
            yield f"{'' if misaligned else 'not '}{name}.data_ptr() % {constants.name(alignment)}"
    yield from _marks(operands, constants)


def identity_conditions(
    operands: list[Operand],
    constants: Constants,
    *,
    any_hidden_dtype: bool,
    strides: bool,
    tokens: tuple[int, int | None],
) -> Iterator[str]:
    """Conditions that another call of a known layer is of this one's kind.

    What comes with a layer is trusted to be what it was: only whether it is given is looked at.

    Args:
        operands: of the call.
        constants: named by the conditions.
        any_hidden_dtype: the dtype of hidden_states does not matter.
        strides: the stride inside a token and the number of experts per token do (to an emulation path).
        tokens: as for `metadata_conditions`.
    """
    for operand in operands:
        if operand.field in _ROUTED:
            yield _type(operand, constants)
            if operand.field != "hidden_states" or not any_hidden_dtype:
                yield f"{operand.path}.dtype is {constants.name(operand.tensor.dtype)}"
        elif operand.path == operand.field != "w1":  # what the call was found by, or a part of it, is there
            yield f"{operand.path} is not None"
        if strides and operand.field == "hidden_states":
            yield f"{operand.name}.stride(-1) == {constants.name(operand.tensor.stride(-1))}"
        if strides and operand.field == "topk_ids":
            yield f"{operand.name}.shape[-1] == {constants.name(operand.tensor.shape[-1])}"
    if tokens != (0, None):
        yield from _within(tokens, "hidden_states.shape[0]", constants)


def _type(operand: Operand, constants: Constants) -> str:
    kind = type(operand.tensor)
    if operand.field == "hidden_states" and kind not in _PLAIN_TYPES:  # fake tensors and their like take the long way
        raise Unpreparable
    return f"type({operand.name}) is {constants.name(kind)}"


def _within(tokens: tuple[int, int | None], path: str, constants: Constants) -> Iterator[str]:
    low, high = tokens
    if low:
        yield f"{path} >= {constants.name(low)}"
    if high is not None:
        yield f"{path} < {constants.name(high)}"


def _marks(operands: list[Operand], constants: Constants) -> Iterator[str]:
    for operand in operands:
        if operand.field in _MARKED:
            mark = getattr(operand.tensor, "is_shuffled", False)
            if mark is not True and mark is not False:
                raise Unpreparable
            yield f'getattr({operand.path}, "is_shuffled", False) is {constants.name(mark)}'
