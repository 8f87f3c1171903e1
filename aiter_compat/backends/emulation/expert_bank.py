"""All weights of one call, addressed by local expert number; a shared expert is the number after the last."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import torch

from aiter_compat.backends.emulation.expert_matrices import ExpertMatrices
from aiter_compat.backends.emulation.request import EmulationRequest, WeightFormat
from aiter_compat.errors import InvalidArgument

_Given: TypeAlias = tuple[str, torch.Tensor, torch.Tensor | None]  # argument, matrices, scales


@dataclass(frozen=True, eq=False)
class ExpertBank:
    """Weights and biases of the experts of one call. Made by `open_bank`, which checks them.

    Attributes:
        routed: (w1, w2) of the E routed experts.
        shared: the same of the shared expert, or None.
        stage1_bias: [E, N1] or None, as given.
        stage2_bias: [E, H] or None, as given.
    """

    routed: tuple[ExpertMatrices, ExpertMatrices]
    shared: tuple[ExpertMatrices, ExpertMatrices] | None
    stage1_bias: torch.Tensor | None
    stage2_bias: torch.Tensor | None

    @property
    def experts(self) -> int:
        """How many numbers `first` and `second` take: the routed experts, and one more with a shared expert."""
        return self.routed[0].experts + (self.shared is not None)

    @property
    def hidden(self) -> int:
        """H."""
        return self.routed[1].rows

    @property
    def intermediate(self) -> int:
        """I."""
        return self.routed[1].columns

    def first(self, expert: int) -> tuple[ExpertMatrices, int]:
        """Where the first matrix of an expert is: the matrices and the index into them."""
        return self._locate(0, expert)

    def second(self, expert: int) -> tuple[ExpertMatrices, int]:
        """Where the second matrix of an expert is."""
        return self._locate(1, expert)

    def bias1(self, expert: int) -> torch.Tensor | None:
        """[N1] fp32 bias of stage 1, None without one; a shared expert has none."""
        return self._bias(self.stage1_bias, expert)

    def bias2(self, expert: int) -> torch.Tensor | None:
        """[H] fp32 bias of stage 2."""
        return self._bias(self.stage2_bias, expert)

    def _locate(self, stage: int, expert: int) -> tuple[ExpertMatrices, int]:
        if self.shared is not None and expert == self.routed[0].experts:
            return self.shared[stage], 0
        return self.routed[stage], expert

    def _bias(self, bias: torch.Tensor | None, expert: int) -> torch.Tensor | None:
        return None if bias is None or expert == self.routed[0].experts else bias[expert].float()


def open_bank(request: EmulationRequest) -> ExpertBank:
    """Read the weights of a request, checking that formats, shapes, scales and layouts fit together.

    Raises:
        InvalidArgument: something has a wrong rank, dtype or shape.
        UnsupportedByEmulation: a layout or combination that is not defined.
    """
    routed = _matrices(
        request,
        ("w1", request.w1, request.w1_scale),
        ("w2", request.w2, request.w2_scale),
        request.weight_format,
    )
    shared = None
    if request.shared_w1 is not None and request.shared_w2 is not None:
        shared = _matrices(
            request,
            ("shared_w1", _as_one_expert(request.shared_w1), request.shared_w1_scale),
            ("shared_w2", _as_one_expert(request.shared_w2), request.shared_w2_scale),
            request.shared_weight_format or request.weight_format,
        )
        for own, of_routed in zip(shared, routed, strict=True):
            if (own.experts, own.rows, own.columns) != (1, of_routed.rows, of_routed.columns):
                raise InvalidArgument(
                    own.argument,
                    f"{own.experts} x {own.rows} x {own.columns} values",
                    f"1 x {of_routed.rows} x {of_routed.columns}, the size of one expert of {of_routed.argument}",
                )
    elif request.shared_w1 is not None or request.shared_w2 is not None:
        raise InvalidArgument("shared_w1, shared_w2", "one of the two", "both, or neither")
    bank = ExpertBank(routed, shared, request.bias1, request.bias2)
    _check_bias("bias1", request.bias1, routed[0])
    _check_bias("bias2", request.bias2, routed[1])
    return bank


def _matrices(
    request: EmulationRequest, first: _Given, second: _Given, weight_format: WeightFormat
) -> tuple[ExpertMatrices, ExpertMatrices]:
    for argument, stored, _ in (first, second):
        if stored.ndim != 3:
            raise InvalidArgument(argument, f"{stored.ndim} dimensions", "three: [experts, rows, columns]")
    # The sizes come from the rows, which no packing changes: those of w2 are hidden features, those of w1
    # gate and up.
    rows1, hidden = first[1].shape[1], second[1].shape[1]
    gated = request.activation.gated
    if gated and rows1 % 2:
        raise InvalidArgument(first[0], f"{rows1} rows", "an even number: a gate and an up half")
    intermediate = rows1 // 2 if gated else rows1
    w1, w2 = (
        ExpertMatrices(
            argument=argument,
            stored=stored,
            scale=scale,
            weight_format=weight_format,
            quant_type=request.quant_type,
            layout=request.weight_layout,
            gate_up=halves,
            columns=columns,
        )
        for (argument, stored, scale), halves, columns in (
            (first, gated, hidden),
            (second, False, intermediate),
        )
    )
    if w1.experts != w2.experts:
        raise InvalidArgument(w2.argument, f"{w2.experts} experts", f"{w1.experts}, as {w1.argument} has")
    w1.check()
    w2.check()
    return w1, w2


def _as_one_expert(matrix: torch.Tensor) -> torch.Tensor:
    return matrix.unsqueeze(0) if matrix.ndim == 2 else matrix


def _check_bias(argument: str, bias: torch.Tensor | None, matrices: ExpertMatrices) -> None:
    allowed = (matrices.experts, matrices.rows)
    if bias is not None and tuple(bias.shape) != allowed:
        raise InvalidArgument(argument, f"shape {tuple(bias.shape)}", f"shape {list(allowed)}")
