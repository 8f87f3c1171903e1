"""The capabilities: one row each, with what it needs and the release that brought it.

`since` is the first release tag whose source has it, as read from ROCm/aiter's tags; the probe of the installed files
decides, `since` only explains.
"""

from __future__ import annotations

from dataclasses import dataclass

from aiter_compat.features.needs import AnyOf, Keyword, Member, Need
from aiter_compat.features.paths import ACTIVATION_TYPE, FUSED_MOE, GATE_MODE, QUANT_TYPE


@dataclass(frozen=True)
class CapabilityRule:
    """How to decide one capability.

    Attributes:
        name: what code asks for.
        summary: what it lets a host do.
        since: first release with it, without the v.
        needs: conditions that must all hold.
    """

    name: str
    summary: str
    since: str
    needs: tuple[Need, ...]


def _keywords(*names: str) -> tuple[Need, ...]:
    return (Keyword(FUSED_MOE, names),)


RULES: tuple[CapabilityRule, ...] = (
    CapabilityRule("fused_moe", "the fused MoE entry point", "0.1.2", (AnyOf((FUSED_MOE,)),)),
    CapabilityRule("moe_mxfp4", "MXFP4 weights (QuantType.per_1x32)", "0.1.2", (Member(QUANT_TYPE, "per_1x32"),)),
    CapabilityRule("num_local_tokens", "a padded batch with a token count", "0.1.4", _keywords("num_local_tokens")),
    CapabilityRule("swiglu", "the SwiGLU-OAI activation", "0.1.6.post2", (Member(ACTIVATION_TYPE, "Swiglu"),)),
    CapabilityRule(
        "padding", "hidden_pad and intermediate_pad", "0.1.6.post2", _keywords("hidden_pad", "intermediate_pad")
    ),
    CapabilityRule("bias", "bias1 and bias2", "0.1.6.post2", _keywords("bias1", "bias2")),
    CapabilityRule("gate_mode_enum", "the GateMode class", "0.1.13", (AnyOf(GATE_MODE),)),
    CapabilityRule("gate_mode", "choosing the gate/up layout per call", "0.1.14", _keywords("gate_mode")),
    CapabilityRule("swiglu_limit", "choosing the clamp of the activation", "0.1.14", _keywords("swiglu_limit")),
    CapabilityRule(
        "pad_skipping_fix",
        "FlyDSL pad skipping that keeps its accuracy (ROCm/aiter#3401)",
        "0.1.15.post3",
        (AnyOf(("aiter.fused_moe._get_padding_for_flydsl",)),),
    ),
    CapabilityRule(
        "situv2",
        "the SiTUv2 activation with beta and linear_beta",
        "0.1.19",
        (Member(ACTIVATION_TYPE, "Situv2"), *_keywords("beta", "linear_beta")),
    ),
    CapabilityRule(
        "shared_expert",
        "a shared expert in the same call",
        "0.1.19.post1",
        _keywords("shared_w1", "shared_w2", "shared_w1_scale", "shared_w2_scale", "shared_expert_id"),
    ),
    CapabilityRule("gelu_tanh", "the tanh form of GELU", "0.1.21", (Member(ACTIVATION_TYPE, "GeluTanh"),)),
    CapabilityRule("quant_dtype_a", "choosing the activation dtype per call", "0.1.22", _keywords("quant_dtype_a")),
    CapabilityRule("output_buffer", "writing into the caller's buffer", "0.1.21", _keywords("output")),
)
BY_NAME = {rule.name: rule for rule in RULES}
