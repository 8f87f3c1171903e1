"""From a call that took the long way to one that later calls of its kind take: validate and decide once per kind.

What a call's result depends on beside the values of tensors is either compared by the prepared call's guards or the
same for the whole process between two `ac.refresh()`. The number of tokens is free between two numbers at which the
decision changes.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import torch

from aiter_compat.adapters import without_own_defaults
from aiter_compat.backends.aiter_native import Expression
from aiter_compat.backends.aiter_native.invoke import FUNCTION, marked
from aiter_compat.backends.emulation import EmulationRequest
from aiter_compat.backends.moe_call import MoECall
from aiter_compat.errors import AiterCompatError
from aiter_compat.moe.call_front import Form
from aiter_compat.moe.decide import Plan, plan_call
from aiter_compat.moe.experts_map import map_in_order, mask_of_map
from aiter_compat.moe.operands import Operand, identity_conditions, metadata_conditions, operands_of
from aiter_compat.moe.prepared_source import Constants, Unpreparable, compiled, function_source
from aiter_compat.moe.run import emulation_request, local_ids, native_call_of, run_request
from aiter_compat.moe.value_checks import check_mask_values
from aiter_compat.prepared_calls import MISSED, Kind, KnownLayers, PreparedCalls
from aiter_compat.settings import settings
from aiter_compat.weights import MoEWeights

_STATED = ("layout", "weight_format")  # of `MoEWeights`, beside its tensors
_CONVERTED = ("topk_weight", "topk_ids", "bias1", "bias2")  # where another dtype of the same values is sent
_ALIGNMENT = {"cuda": 16}  # of weights, in bytes: where an emulation path of the device serves no others
_NAMESPACE: Mapping[str, Any] = {
    "MISSED": MISSED,
    "MoEWeights": MoEWeights,
    "EmulationRequest": EmulationRequest,
    "check_mask_values": check_mask_values,
    "local_ids": local_ids,
    "marked": marked,
    "map_in_order": map_in_order,
    "mask_of_map": mask_of_map,
    "run_request": run_request,
}


def prepare(calls: PreparedCalls, form: Form, arguments: Mapping[str, Any], call: MoECall, plan: Plan) -> None:
    """Keep what later calls of this kind need, where guards can tell them from others.

    Args:
        calls: the table that was in force before the call was decided.
        form: of the public function.
        arguments: every argument of the public function by name.
        call: what they were checked to be.
        plan: what was decided.
    """
    level = settings().checks
    if level == "debug":  # values are checked at every call
        return
    plain = form.is_plain(arguments)
    arguments = {name: arguments[name] for name in form.taken(plain)}
    try:
        kind = _Preparation(form, plain, arguments, call, plan, trust_identity=level == "off").kind()
    except Unpreparable:
        return
    calls.add(kind, tuple(arguments.values()))


class _Preparation:
    """The parts of one kind of call."""

    def __init__(
        self, form: Form, plain: bool, arguments: Mapping[str, Any], call: MoECall, plan: Plan, *, trust_identity: bool
    ) -> None:
        self.form, self.plain, self.arguments, self.call, self.plan = form, plain, arguments, call, plan
        self.trust_identity = trust_identity
        self.operands = operands_of(arguments, form.scalars)
        self.paths = {operand.field: operand for operand in self.operands}
        self.tokens = tokens_alike(call, plan)

    def kind(self) -> Kind:
        """The prepared call for any layer, and what makes those for known ones."""
        constants = Constants()
        scalars = self._scalars(constants)
        emulated = self.plan.expression is None
        alignment = _ALIGNMENT.get(self.call.hidden_states.device.type, 1) if emulated else 1
        conditions = metadata_conditions(
            self.operands, constants, strides=emulated, tokens=self.tokens, alignment=alignment
        )
        run = self._function(self.arguments, constants, scalars, list(conditions))(*constants.values)
        return Kind(run, self._known_layers() if self.trust_identity else None)

    def _known_layers(self) -> KnownLayers:
        constants = Constants()
        passed = self.form.passed(self.plain)
        absent = [f"{name} is None" for name in passed if self.arguments[name] is None]
        dtype_stated = self.plan.expression is not None and self.arguments.get("dtype") is not None
        conditions = identity_conditions(
            self.operands,
            constants,
            any_hidden_dtype=dtype_stated,
            strides=self.plan.expression is None,
            tokens=self.tokens,
        )
        run = self._function(passed, constants, absent, list(conditions))(*constants.values)
        positions = {name: position for position, name in enumerate(self.arguments)}
        compared = tuple(positions[name] for name in self.form.compared(self.plain))
        return KnownLayers(run, positions[self.form.layer], compared)

    def _scalars(self, constants: Constants) -> list[str]:
        """Conditions on all that is no tensor."""
        conditions = []
        for name, value in self.arguments.items():
            if isinstance(value, torch.Tensor):
                continue
            if not isinstance(value, MoEWeights):
                conditions.append(constants.same(name, value))
                continue
            conditions.append(f"type({name}) is MoEWeights")
            conditions += [constants.same(f"{name}.{part}", getattr(value, part)) for part in _STATED]
            absent = [field.name for field in dataclasses.fields(value) if getattr(value, field.name) is None]
            conditions += [f"{name}.{part} is None" for part in absent]
        return conditions

    def _function(
        self,
        parameters: Iterable[str],
        constants: Constants,
        plain: list[str],
        tensors: list[str],
    ) -> Callable[..., Any]:
        steps = self._steps(constants)
        call = self._native(constants) if self.plan.expression is not None else self._emulated(constants)
        names = [f"c{index}" for index in range(len(constants.values))]
        assignments = [(operand.name, operand.path) for operand in self.operands if operand.name != operand.path]
        source = function_source(parameters, names, plain, assignments, tensors, steps, call)
        return compiled(source, _NAMESPACE)

    def _steps(self, constants: Constants) -> list[str]:
        """What depends on values and so is done at each call."""
        call = self.call
        experts = constants.name(call.experts)
        if call.expert_map is not None:
            sizes = f"{experts}, {constants.name(self.arguments['config'].num_experts)}"
            return [
                f"if map_in_order({self.paths['expert_map'].name}, {sizes}) is not {call.expert_map_in_order}:",
                "    return MISSED",
            ]
        if not self.trust_identity and call.expert_mask is not None and call.expert_mask.device.type == "cpu":
            return [f"check_mask_values({self.paths['expert_mask'].name}, {experts})"]
        return []

    def _native(self, constants: Constants) -> list[str]:
        native = native_call_of(self.call, self.plan)
        if native.arguments.extra:
            raise Unpreparable
        # each argument costs, and beyond thirty of them CPython makes a list first
        values = [
            f"{name}={text}" if by_keyword else text
            for name, by_keyword in without_own_defaults(native.parameters, native.arguments)
            for text in (self._expression(name, getattr(native.arguments, name), constants),)
        ]
        return [
            "try:",
            f"    return {constants.name(native.module)}.{FUNCTION}({', '.join(values)})",
            "except Exception as error:",
            f"    {constants.name(native.add_context)}(error, hidden_states.shape[0])",
            "    raise",
        ]

    def _emulated(self, constants: Constants) -> list[str]:
        request = emulation_request(self.call, self.plan)
        fields = {field.name: getattr(request, field.name) for field in dataclasses.fields(request)}
        alike = constants.name({name: value for name, value in fields.items() if not isinstance(value, torch.Tensor)})
        tensors = [
            f"{name!r}: {self._expression(name, value, constants)}"
            for name, value in fields.items()
            if isinstance(value, torch.Tensor)
        ]
        path = constants.name(self.plan.decision.path)
        return [f"return run_request({path}, EmulationRequest.of_fields({{**{alike}, {', '.join(tensors)}}}))"]

    def _expression(self, field: str, value: Any, constants: Constants) -> str:
        """What stands for `value` in the prepared call: the argument that it is or was made from, or a constant.

        Raises:
            Unpreparable: it is a tensor that was made in a way not known here.
        """
        if not isinstance(value, torch.Tensor):
            return constants.name(value)
        operand = self.paths.get(field)
        if field == "expert_mask" and self.call.expert_map is not None:
            return f"mask_of_map({self.paths['expert_map'].name})"
        if operand is None:
            raise Unpreparable
        if field == "topk_ids" and self.call.expert_map is not None and self.plan.expression is None:
            return f"local_ids({_converted(operand, self.call.topk_ids, constants)}, {self.paths['expert_map'].name})"
        if field in ("w1", "w2") and value is not operand.tensor:
            return f"marked({operand.name}, {getattr(value, 'is_shuffled', False)})"
        return _converted(operand, value, constants)


def _converted(operand: Operand, value: torch.Tensor, constants: Constants) -> str:
    if value is operand.tensor:
        return operand.name
    if operand.field in _CONVERTED and value.dtype != operand.tensor.dtype:
        return f"{operand.name}.to({constants.name(value.dtype)})"
    raise Unpreparable


def tokens_alike(call: MoECall, plan: Plan) -> tuple[int, int | None]:
    """The numbers of tokens that a plan serves: from the first up to but not including the second (None: no end).

    Where a plan for more or fewer tokens would run the same, the numbers between are one interval with this one's.
    """
    bounds = [0, *sorted({bound for bound in plan.token_bounds if bound > 0})]
    first = last = max(index for index, bound in enumerate(bounds) if bound <= call.tokens)
    while first > 0 and _same_with(call, plan, bounds[first - 1]):
        first -= 1
    while last + 1 < len(bounds) and _same_with(call, plan, bounds[last + 1]):
        last += 1
    return bounds[first], bounds[last + 1] if last + 1 < len(bounds) else None


def _same_with(call: MoECall, plan: Plan, tokens: int) -> bool:
    try:
        other = plan_call(dataclasses.replace(call, tokens=tokens), quiet=True)
    except AiterCompatError:
        return False
    if plan.expression is not None and other.expression is not None:
        return _sent_alike(plan.expression, other.expression)
    mine, others = plan.decision, other.decision
    return plan.profile == other.profile and all(
        getattr(mine, name) == getattr(others, name)
        for name in ("backend", "path", "rejected", "activation_format", "weight_layout")
    )


def _sent_alike(one: Expression, other: Expression) -> bool:
    """Whether AITER receives the same, and a person is told the same (`plan_call` warns of quirks)."""
    told = [[quirk.name for quirk in each.quirks if quirk.outcome != "note"] for each in (one, other)]
    return one.swiglu_limit == other.swiglu_limit and told[0] == told[1]
