"""The quirks of AITER's fused MoE that can change a result or make an argument pointless.

Ranges are release numbers, `until` exclusive; None for `until` means that no release is known to have ended it.
Sources are files of ROCm/aiter at the tag named, or public issues.
"""

from __future__ import annotations

from dataclasses import dataclass

from packaging.version import Version

from aiter_compat.releases import ReleaseRange


@dataclass(frozen=True)
class Quirk:
    """One behaviour that no signature shows.

    Attributes:
        name: stable identifier.
        range: releases that behave so.
        ignores: argument that a kernel family which may serve a call drops without a word, or None.
        harmless: ignoring it cannot change the result of a call that keeps AITER's own preconditions.
        warns: `backend="aiter"` warns once about it; False where the caller has stated what it is about.
        effect: what happens, in one sentence.
        remedy: what a caller does about it.
        source: where this was read.
        activations: canonical activations it concerns; empty: all.
        quant_types: canonical quant types it concerns; empty: all.
    """

    name: str
    range: ReleaseRange
    effect: str
    remedy: str
    source: str
    ignores: str | None = None
    harmless: bool = False
    warns: bool = True
    activations: tuple[str, ...] = ()
    quant_types: tuple[str, ...] = ()

    def concerns(self, activation: str, quant_type: str) -> bool:
        """Whether a call with this activation and quant type can meet it."""
        return (not self.activations or activation in self.activations) and (
            not self.quant_types or quant_type in self.quant_types
        )


QUIRKS: tuple[Quirk, ...] = (
    Quirk(
        name="limit_ignored",
        range=ReleaseRange("0.1.14", None),
        ignores="swiglu_limit",
        effect=(
            "only FlyDSL stage 1 receives swiglu_limit; CK, CK-Tile and 1-stage kernels clamp SwiGLU at 7.0 and SiLU "
            "not at all"
        ),
        remedy="leave swiglu_limit at the activation's default, or use the emulation",
        source="v0.1.14 to v0.1.20.post1 aiter/fused_moe.py; csrc/kernels/activation_kernels.cu at v0.1.17",
    ),
    Quirk(
        name="doweight_stage1_ignored",
        range=ReleaseRange(None, None),
        ignores="doweight_stage1",
        effect="CK-Tile's gate/up epilogue and FlyDSL split-K never apply the routing weight in stage 1",
        remedy="weight the hidden states before the call, or use the emulation",
        source="v0.1.15.post3 aiter/fused_moe.py",
        activations=("swiglu",),
        quant_types=("per_1x32",),
    ),
    Quirk(
        name="bias_ignored",
        range=ReleaseRange(None, None),
        ignores="bias",
        effect="bias1 and bias2 reach the kernels of per_1x32 weights alone; for other quant types they are dropped",
        remedy="use the emulation",
        source="v0.1.13.post1 to v0.1.20.post1 aiter/fused_moe.py (need_bias_support)",
        quant_types=("no", "per_tensor", "per_token", "per_1x128", "per_128x128", "per_256x128", "per_1024x128"),
    ),
    Quirk(
        name="bias_ignored_without_swiglu",
        range=ReleaseRange(None, None),
        ignores="bias",
        effect="with SiLU and GELU, CK and CK-Tile stages never receive bias1 and bias2",
        remedy="use the emulation",
        source="v0.1.13.post1 and v0.1.15.post3 aiter/fused_moe.py (has_bias)",
        activations=("silu", "gelu", "gelu_tanh"),
        quant_types=("per_1x32",),
    ),
    Quirk(
        name="logical_scales_misread",
        range=ReleaseRange(None, None),
        ignores="logical_layout",
        warns=False,
        effect="kernels read the e8m0 scales of separated MXFP4 weights shuffled, whether or not the weights are",
        remedy="prepare the weights (ac.prepare_weights)",
        source="v0.1.15.post3 op_tests/test_moe_2stage.py",
        quant_types=("per_1x32",),
    ),
    Quirk(
        name="pads_ignored_by_ck",
        range=ReleaseRange(None, None),
        ignores="padding",
        harmless=True,
        effect="CK 2-stage and 1-stage kernels ignore hidden_pad and intermediate_pad",
        remedy="fill the pads of the weights with zeros",
        source="v0.1.9 to v0.1.20.post1 aiter/fused_moe.py; ROCm/aiter#5413",
    ),
    Quirk(
        name="pads_ignored_by_flydsl",
        range=ReleaseRange(None, "0.1.15"),
        ignores="padding",
        harmless=True,
        effect="FlyDSL kernels ignore hidden_pad and intermediate_pad",
        remedy="fill the pads of the weights with zeros",
        source="v0.1.14.post1 aiter/fused_moe.py",
        quant_types=("per_1x32",),
    ),
    Quirk(
        name="pad_skipping_inaccurate",
        range=ReleaseRange("0.1.15", "0.1.15.post3"),
        effect="FlyDSL stage 2 can read columns that stage 1 never wrote when pads are passed",
        remedy="pass intermediate_pad=0 over zero-filled weights",
        source="ROCm/aiter#3401, fixed by commit e2e0a4a86b in v0.1.15.post3 and ef114b0d41 in v0.1.16",
        quant_types=("per_1x32",),
    ),
    Quirk(
        name="bias_switches_pads_off",
        range=ReleaseRange("0.1.15.post3", None),
        ignores="padding",
        harmless=True,
        effect="FlyDSL stages that have a bias run with both pads set to 0",
        remedy="fill the pads of the weights with zeros",
        source="v0.1.15.post3 and v0.1.16 aiter/fused_moe.py _get_padding_for_flydsl",
        quant_types=("per_1x32",),
    ),
    Quirk(
        name="swiglu_reads_interleaved",
        range=ReleaseRange(None, "0.1.14"),
        effect="without a gate_mode keyword, SwiGLU over MXFP4 weights reads them as gate/up-interleaved (a16w4)",
        remedy="prepare interleaved weights, or use a release from v0.1.14 on",
        source="v0.1.13.post1 aiter/fused_moe.py; ROCm/aiter#3586",
        activations=("swiglu",),
        quant_types=("per_1x32",),
    ),
    Quirk(
        name="limit_zero_clamps_in_reference",
        range=ReleaseRange("0.1.17", None),
        effect="swiglu_limit=0.0 clamps at zero in AITER's torch paths; None is the default there",
        remedy="pass None; aiter_compat never sends 0.0",
        source="v0.1.17 aiter/fused_moe.py swiglu; v0.1.19.post1 aiter/ops/flydsl/moe_common.py",
    ),
    Quirk(
        name="shared_expert_loses_beta",
        range=ReleaseRange("0.1.19.post1", None),
        effect="the shared-expert route receives neither beta nor linear_beta",
        remedy="use the default beta and linear_beta with a shared expert",
        source="v0.1.19.post1 aiter/fused_moe.py, aiter/fhmoe.py",
        activations=("situv2",),
    ),
    Quirk(
        name="a16w4_scale_columns_padded",
        range=ReleaseRange("0.1.18", None),
        effect="scales of a16w4 weights are padded to 8 columns with byte 0x7F: K need not be a multiple of 256",
        remedy="prepare weights for the release that serves them (ac.prepare_weights)",
        source="v0.1.18 aiter/ops/shuffle.py shuffle_scale_a16w4; up to v0.1.17 it raises",
        quant_types=("per_1x32",),
    ),
)


def has_quirk(name: str, version: Version | None) -> bool:
    """Whether a release has the quirk of this name; None is taken for newer than every recorded release."""
    return any(
        quirk.name == name and (quirk.range.until is None if version is None else quirk.range.contains(version))
        for quirk in QUIRKS
    )


def quirks_of(version: Version | None, activation: str, quant_type: str) -> tuple[Quirk, ...]:
    """Quirks that a call with this activation and quant type can meet on a release.

    A version that nothing states (None) is taken for newer than every recorded release.
    """
    return tuple(
        quirk
        for quirk in QUIRKS
        if quirk.concerns(activation, quant_type)
        and (quirk.range.until is None if version is None else quirk.range.contains(version))
    )
