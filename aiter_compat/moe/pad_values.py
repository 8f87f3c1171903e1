"""Debug check: the pads of the weights are zero, as AITER's kernels need them to be."""

from __future__ import annotations

import torch

from aiter_compat.backends.moe_call import MoECall
from aiter_compat.errors import InvalidArgument

# bits of a stored byte that are not signs: -0 is zero too
_MAGNITUDE_BITS = {
    "mxfp4": 0x77,
    "mxfp6_e2m3": 0x1F,
    "mxfp6_e3m2": 0x1F,
    "mxfp8": 0x7F,
    "mxfp8_e5m2": 0x7F,
    "fp8": 0x7F,
}


def check_pad_values(call: MoECall) -> None:
    """Refuse weights with anything but zero in the rows and columns that the pads name.

    Kernels round pads down and multiply the remainder, so garbage there reaches the result. Only the logical layout is
    checked; in a shuffled one the pad rows are spread.

    Raises:
        InvalidArgument: a pad of w1 or w2 is not zero.
    """
    if call.known_layout not in (None, "logical"):
        return
    per_byte = call.hidden // call.w1.shape[2]
    if call.intermediate_pad:
        half, pad = call.intermediate, call.intermediate_pad
        for start in range(half - pad, call.w1.shape[1], half):
            _zero("w1", "intermediate_pad", call.w1[:, start : start + pad], call.weight_format)
        _zero("w2", "intermediate_pad", call.w2[:, :, -((pad - half) // per_byte) :], call.weight_format)
    if call.hidden_pad:
        live = call.hidden - call.hidden_pad
        _zero("w1", "hidden_pad", call.w1[:, :, -(-live // per_byte) :], call.weight_format)
        _zero("w2", "hidden_pad", call.w2[:, live:], call.weight_format)


def _zero(argument: str, pad: str, part: torch.Tensor, weight_format: str) -> None:
    magnitude = _MAGNITUDE_BITS.get(weight_format)
    live = (part != 0).any() if magnitude is None else (part.view(torch.uint8) & magnitude).any()
    if bool(live):
        raise InvalidArgument(
            argument,
            f"non-zero weights in the rows or columns that {pad} names as padding",
            "zeros there",
            "Fill the pads with zeros once, after loading.",
        )
