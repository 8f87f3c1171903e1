"""The activation format that AITER chooses by itself, release by release.

Source: the chain of conditions in `fused_moe_` (aiter/fused_moe.py) at v0.1.9 to v0.1.20.post1. Rows are tried in
order. The bounds count tokens M; below a bound activations stay in bf16, that is, no quantise-dequantise.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

from packaging.version import Version

from aiter_compat.quirks.environment import bound, switched_on
from aiter_compat.releases import ReleaseRange


@dataclass(frozen=True)
class FormatRule:
    """One condition of the chain, for per_1x32 calls.

    Attributes:
        range: releases that have it.
        activations: canonical activations; empty: any.
        gate_modes: canonical gate modes; empty: any.
        weights: stored weight formats.
        format: activation format at and above the bound.
        bound: tokens below which activations stay in bf16; 0: no bound.
        variable: AITER's environment variable for the bound.
        gfx950_only: on other architectures activations stay in bf16.
        arch: the only architecture it concerns; None: any.
        switches: AITER's environment variables that choose another format, with that format; the first one on wins.
    """

    range: ReleaseRange
    format: str
    activations: tuple[str, ...] = ()
    gate_modes: tuple[str, ...] = ()
    weights: tuple[str, ...] = ("mxfp4",)
    bound: int = 0
    variable: str | None = None
    gfx950_only: bool = False
    arch: str | None = None
    switches: tuple[tuple[str, str], ...] = ()

    def matches(self, version: Version | None, activation: str, gate_mode: str, weights: str, arch: str) -> bool:
        """Whether the row decides this call."""
        in_range = self.range.until is None if version is None else self.range.contains(version)
        return (
            in_range
            and weights in self.weights
            and self.arch in (None, arch)
            and (not self.activations or activation in self.activations)
            and (not self.gate_modes or gate_mode in self.gate_modes)
        )


@dataclass(frozen=True)
class FormatChoice:
    """The chosen format and why.

    Attributes:
        format: activation format.
        reason: who chose it.
        bound: number of tokens at which the choice changes; 0: it is the same for any number.
    """

    format: str
    reason: str
    bound: int = 0


_SWIGLU = ("swiglu",)
_INTERLEAVE = FormatRule(
    ReleaseRange("0.1.14", None),
    "mxfp8",
    (),
    ("interleave",),
    bound=256,
    variable="AITER_BF16_FP8_MOE_BOUND",
    gfx950_only=True,
)
_V0_1_14 = ReleaseRange("0.1.14", "0.1.15")
_RULES: tuple[FormatRule, ...] = (
    FormatRule(
        ReleaseRange("0.1.17", None),
        "mxfp4",
        weights=("mxfp4", "mxfp8", "int4"),
        arch="gfx1250",
        switches=(("AITER_FORCE_A8W4", "mxfp8"),),
    ),
    FormatRule(ReleaseRange("0.1.16.post1", None), "mxfp8", weights=("mxfp8",)),
    FormatRule(ReleaseRange(None, "0.1.13.dev0"), "fp8_cast", _SWIGLU, bound=512, gfx950_only=True),
    FormatRule(ReleaseRange("0.1.13.dev0", "0.1.13.post1"), "fp8_cast", _SWIGLU, bound=256, gfx950_only=True),
    FormatRule(
        ReleaseRange("0.1.13.post1", "0.1.14"),
        "fp8_cast",
        _SWIGLU,
        bound=512,
        variable="AITER_BF16_FP8_BOUND",
        gfx950_only=True,
    ),
    # v0.1.19 asks for interleave before it asks for SiTUv2, later releases the other way round.
    dataclasses.replace(_INTERLEAVE, range=ReleaseRange("0.1.19", "0.1.19.post1"), activations=("situv2",)),
    FormatRule(ReleaseRange("0.1.19", "0.1.19.post1"), "none", ("situv2",), switches=(("AITER_SITUV2_A8W4", "mxfp8"),)),
    FormatRule(
        ReleaseRange("0.1.19.post1", None),
        "none",
        ("situv2",),
        switches=(("AITER_SITUV2_A8W4", "mxfp8"), ("AITER_SITUV2_A4W4", "mxfp4")),
    ),
    FormatRule(
        ReleaseRange("0.1.14", None),
        "mxfp4",
        _SWIGLU,
        ("separated",),
        bound=256,
        variable="GPTOSS_SWIGLU_MXFP4_BF16_BOUND",
    ),
    # v0.1.14 still casts to fp8 with unit scales; block scales come with v0.1.15.
    dataclasses.replace(_INTERLEAVE, range=_V0_1_14, format="fp8_cast", activations=_SWIGLU, gate_modes=()),
    dataclasses.replace(_INTERLEAVE, range=_V0_1_14, format="fp8_cast"),
    FormatRule(
        ReleaseRange("0.1.14", None),
        "mxfp8",
        _SWIGLU,
        bound=256,
        variable="AITER_BF16_FP8_MOE_BOUND",
        gfx950_only=True,
    ),
    _INTERLEAVE,
    FormatRule(ReleaseRange(None, None), "mxfp4"),
)
_BY_QUANT_TYPE = {
    "no": "none",
    "per_tensor": "fp8_tensor",
    "per_token": "fp8_token",
    "per_1x128": "fp8_1x128",
    "per_128x128": "fp8_1x128",
}


def activation_format(
    *,
    version: Version | None,
    activation: str,
    gate_mode: str,
    quant_type: str,
    weights: str,
    tokens: int,
    arch: str = "gfx950",
) -> FormatChoice:
    """The format that AITER quantises activations to before both GEMMs of this call.

    Args:
        version: the release; None: unknown, taken for newer than every recorded one.
        activation: canonical name.
        gate_mode: canonical name.
        quant_type: canonical name.
        weights: stored weight format ("mxfp4", "mxfp8", …).
        tokens: M, rows of hidden_states.
        arch: GPU architecture; the emulation stands for gfx950.
    """
    if quant_type != "per_1x32":
        return FormatChoice(_BY_QUANT_TYPE.get(quant_type, "none"), f"quant type {quant_type}")
    for rule in _RULES:
        if not rule.matches(version, activation, gate_mode, weights, arch):
            continue
        for variable, switched in rule.switches:
            if switched_on(variable):
                return FormatChoice(switched, f"{variable}=1")
        if rule.gfx950_only and arch != "gfx950":
            return FormatChoice("none", f"AITER leaves activations unquantised on {arch}")
        limit = bound(rule.variable, rule.bound) if rule.bound else 0
        if tokens < limit:
            return FormatChoice("none", f"AITER leaves activations unquantised below {limit} tokens", limit)
        return FormatChoice(rule.format, f"AITER's choice for {activation}, {gate_mode}, {tokens} tokens", limit)
    return FormatChoice("none", f"AITER has no rule for {weights} weights: activations stay unquantised")
