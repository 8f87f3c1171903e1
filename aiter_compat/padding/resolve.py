"""`resolve_padding`: how much of a layer is padding, in the numbers that AITER's `fused_moe` takes.

AITER counts a pad once per gate/up half: its own test zeroes the last `intermediate_pad` rows of each half and the last
`hidden_pad` columns, and passes those numbers (v0.1.15.post3, op_tests/test_moe_2stage.py). On zero-filled weights a
number below the true pad changes nothing, one above it masks rows that carry data.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from aiter_compat.errors import InvalidArgument
from aiter_compat.layer_config import MoEConfig

_HIDDEN_STEP = 128  # CK-Tile skips hidden columns in steps of 128 and intermediate rows in steps of 64
_INTERMEDIATE_STEP = 64  # (v0.1.9 to v0.1.20.post1, aiter/fused_moe.py, n_pad_zeros and k_pad_zeros)


@dataclass(frozen=True)
class Padding:
    """Pads to pass to `fused_moe`.

    Attributes:
        hidden_pad: columns of padding at the end of the hidden size.
        intermediate_pad: rows of padding at the end of each gate/up half (the "vllm" convention may double it).
        reason: how the numbers came about, in one sentence each.
        masks_live_rows: the convention asks for more than the true pad.
    """

    hidden_pad: int
    intermediate_pad: int
    reason: str
    masks_live_rows: bool = False


def resolve_padding(config: MoEConfig, convention: str = "aiter") -> Padding:
    """The pads of a layer.

    Args:
        config: the layer; `config.intermediate_pad` overrides the derived intermediate pad (0 switches pad skipping
            off).
        convention: "aiter": the true pads, hidden rounded down to 128 and intermediate to 64, never above the true pad.
            "vllm": vLLM 0.33.0's rule (`aiter_moe_pads` in rocm_aiter_moe.py): raw for SiTUv2; else rounded likewise,
            and the intermediate pad doubled when `tp_size == 1`, except for w4a4 with SiLU.

    Raises:
        InvalidArgument: unknown convention.
    """
    check_convention("convention", convention)
    return _CONVENTIONS[convention](config)


def check_convention(argument: str, convention: object) -> None:
    """Refuse a convention that does not exist.

    Args:
        argument: its name in the caller's API, for the error.
        convention: as passed.

    Raises:
        InvalidArgument: unknown convention.
    """
    if not isinstance(convention, str) or convention not in _CONVENTIONS:
        raise InvalidArgument(argument, convention, ", ".join(_CONVENTIONS))


def _aiter(config: MoEConfig) -> Padding:
    hidden = _down(_true_hidden(config), _HIDDEN_STEP)
    true = _true_intermediate(config)
    wanted, reasons = _override(config, true)
    if true is not None and wanted > true:
        reasons.append(
            f"intermediate_pad={wanted} exceeds the true pad {true} and would mask live rows: {true} is used"
        )
        wanted = true
    intermediate = _down(wanted, _INTERMEDIATE_STEP)
    reasons.append(f"rounded down to {_HIDDEN_STEP} (hidden) and {_INTERMEDIATE_STEP} (intermediate)")
    return Padding(hidden, intermediate, "; ".join(reasons))


def _vllm(config: MoEConfig) -> Padding:
    hidden = _true_hidden(config)
    true = _true_intermediate(config)
    intermediate, reasons = _override(config, true)
    if config.host_activation.function == "situv2":
        reasons.append("vLLM passes SiTUv2's pads as they are")
    else:
        hidden = _down(hidden, _HIDDEN_STEP)
        intermediate = _down(intermediate, _INTERMEDIATE_STEP)
        reasons.append(f"rounded down to {_HIDDEN_STEP} (hidden) and {_INTERMEDIATE_STEP} (intermediate)")
        w4a4_silu = config.weight_format == "mxfp4" and config.qdq == "mxfp4" and config.activation == "silu"
        if config.tp_size == 1 and not w4a4_silu:
            intermediate *= 2
            reasons.append("doubled, as vLLM does when tp_size == 1")
    stated = true if true is not None else config.intermediate_pad or 0
    masks = intermediate > stated
    if masks:
        reasons.append(f"intermediate_pad={intermediate} exceeds the true pad {stated}: kernels mask live rows")
    return Padding(hidden, intermediate, "; ".join(reasons), masks)


def _true_hidden(config: MoEConfig) -> int:
    return 0 if config.hidden_size_unpadded is None else config.hidden_size - config.hidden_size_unpadded


def _true_intermediate(config: MoEConfig) -> int | None:
    """The true pad, or None when the host did not say how much of the size carries data."""
    if config.intermediate_size_unpadded is None:
        return None
    return config.intermediate_size - config.intermediate_size_unpadded


def _override(config: MoEConfig, true: int | None) -> tuple[int, list[str]]:
    if config.intermediate_pad is not None:
        return config.intermediate_pad, [f"intermediate_pad={config.intermediate_pad} set by the host"]
    return true or 0, ["derived from padded minus unpadded sizes"]


def _down(size: int, step: int) -> int:
    return size // step * step


_CONVENTIONS: dict[str, Callable[[MoEConfig], Padding]] = {"aiter": _aiter, "vllm": _vllm}
