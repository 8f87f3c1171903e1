"""What a call must have for a quirk to matter to it, by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Protocol

_SCALE_GROUP = 256  # 8 blocks of 32, which one group of shuffled e8m0 scales covers


class Numbers(Protocol):
    """The activation's numbers, as far as conditions ask."""

    @property
    def limit_is_default(self) -> bool:
        """Whether the clamp is the one that the activation has when nobody asks."""

    @property
    def constants_are_default(self) -> bool:
        """Whether alpha, beta and linear_beta are those of AITER's kernels."""


class Call(Protocol):
    """A call, as far as conditions ask; `backends.moe_call.MoECall` is one."""

    @property
    def activation(self) -> Numbers:
        """The activation's numbers."""

    @property
    def weight_format(self) -> str:
        """Stored format of the weights."""

    @property
    def gate_mode(self) -> str:
        """Canonical gate mode."""

    @property
    def weight_layout(self) -> str:
        """Memory layout as stated."""

    @property
    def intermediate(self) -> int:
        """Intermediate size, pads included."""

    @property
    def hidden_pad(self) -> int:
        """Padded columns of the hidden dimension."""

    @property
    def intermediate_pad(self) -> int:
        """Padded columns of the intermediate dimension, per gate/up half."""

    @property
    def bias1(self) -> object:
        """Bias of the first GEMM, or None."""

    @property
    def bias2(self) -> object:
        """Bias of the second GEMM, or None."""

    @property
    def doweight_stage1(self) -> bool:
        """Whether the routing weight is applied in stage 1."""

    @property
    def shared_w1(self) -> object:
        """First weight of the shared expert, or None."""

    @property
    def activation_qdq(self) -> str:
        """Activation format as asked for."""


Condition = Callable[[Call, str], bool]
"""Of the call and of the activation format that AITER chooses for it."""

CONDITIONS: Mapping[str, Condition] = {
    "limit": lambda call, _: not call.activation.limit_is_default,
    "bias": lambda call, _: call.bias1 is not None or call.bias2 is not None,
    "pads": lambda call, _: bool(call.hidden_pad or call.intermediate_pad),
    "hidden_pad": lambda call, _: bool(call.hidden_pad),
    "intermediate_pad": lambda call, _: bool(call.intermediate_pad),
    "partial_pads": lambda call, _: bool(call.hidden_pad % 128 or call.intermediate_pad % 128),
    "unaligned_intermediate": lambda call, _: bool(call.intermediate % _SCALE_GROUP),
    "doweight_stage1": lambda call, _: call.doweight_stage1,
    "shared_expert": lambda call, _: call.shared_w1 is not None,
    "logical_layout": lambda call, _: call.weight_layout == "logical",
    "interleave": lambda call, _: call.gate_mode == "interleave",
    "mxfp4_weights": lambda call, _: call.weight_format == "mxfp4",
    "other_constants": lambda call, _: not call.activation.constants_are_default,
    "aiter_chooses_format": lambda call, _: call.activation_qdq == "as_aiter",
    "unquantised_activations": lambda _, chosen: chosen == "none",
    "fp8_cast_activations": lambda _, chosen: chosen == "fp8_cast",
    "mx_activations": lambda _, chosen: chosen in ("mxfp4", "mxfp8"),
    "without_aiter_compat": lambda _call, _chosen: False,  # what it says or sends keeps such a call from it
}
