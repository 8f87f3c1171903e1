"""What hosts do because of a quirk, and when it has become pointless or harmful.

A workaround is obsolete on a release whose quirk is over (`Quirk.over`): its expiry is the quirk's.
"""

from __future__ import annotations

import os
from dataclasses import dataclass

from packaging.version import Version

from aiter_compat.probe import Surface
from aiter_compat.quirks.model import Quirk
from aiter_compat.quirks.table import QUIRKS


@dataclass(frozen=True)
class Workaround:
    """One habit.

    Attributes:
        name: stable identifier.
        quirk: name of the quirk that it is for.
        habit: what hosts do, as a noun phrase.
        instead: what to do on a release without the quirk.
        variable: environment variable by which it is done; None: it is in the host's code.
    """

    name: str
    quirk: str
    habit: str
    instead: str
    variable: str | None = None


@dataclass(frozen=True)
class Obsolete:
    """A workaround that a release no longer needs.

    Attributes:
        workaround: which.
        quirk: what it was for.
        in_use: whether its environment variable is set; None where files and environment cannot tell.
    """

    workaround: Workaround
    quirk: Quirk
    in_use: bool | None


WORKAROUNDS: tuple[Workaround, ...] = (
    Workaround(
        name="intermediate_pad_zero",
        quirk="pad_skipping_inaccurate",
        habit="intermediate_pad=0 (MoEConfig.intermediate_pad=0) to keep FlyDSL from skipping pads",
        instead="leave it out: ac.resolve_padding gives the true pad; compare the outputs once",
    ),
    Workaround(
        name="gate_mode_left_out",
        quirk="swiglu_reads_interleaved",
        habit="leaving gate_mode out and interleaving every SwiGLU weight",
        instead="state gate_mode with the layout that the weights have: left out it means separated",
    ),
    Workaround(
        name="swiglu_limit_zero",
        quirk="limit_zero_is_unset",
        habit="swiglu_limit=0.0 for the default clamp",
        instead="pass None: 0.0 clamps at zero in AITER's torch paths",
    ),
    Workaround(
        name="clamp_before_silu",
        quirk="limited_silu_takes_swiglu_slope",
        habit="keeping swiglu_limit away from SiLU because of the wrong slope",
        instead="pass swiglu_limit",
    ),
    Workaround(
        name="zero_filled_tokens",
        quirk="padded_tokens_spread_nan",
        habit="filling padded tokens with zeros so that no NaN spreads",
        instead="give padded tokens the weight 0.0",
    ),
    Workaround(
        name="marking_w1",
        quirk="shuffle_mark_of_w1_only",
        habit="setting is_shuffled on w1 anew after loading",
        instead="state weight_layout, or carry the layout in MoEWeights",
    ),
    Workaround(
        name="bf16_bound_raised",
        quirk="fp8_activations_unscaled",
        habit="AITER_BF16_FP8_BOUND raised to keep FP8 activations with unit scales away",
        instead="unset it: from v0.1.14 on AITER reads AITER_BF16_FP8_MOE_BOUND, and blocks are scaled from v0.1.15 on",
        variable="AITER_BF16_FP8_BOUND",
    ),
    Workaround(
        name="graph_break_at_interleave",
        quirk="interleave_fails_while_tracing",
        habit="keeping torch.compile away from interleaved calls",
        instead="trace them",
    ),
)
_QUIRKS = {quirk.name: quirk for quirk in QUIRKS}


def obsolete_workarounds(version: Version | None, surface: Surface | None = None) -> tuple[Obsolete, ...]:
    """The workarounds that a release no longer needs; those in use first.

    Args:
        version: the release; None: unknown, taken for newer than every recorded one.
        surface: the installed surface, where it is at hand: its evidence wins over `version`.
    """
    found = [
        Obsolete(workaround, quirk, None if workaround.variable is None else workaround.variable in os.environ)
        for workaround in WORKAROUNDS
        if (quirk := _QUIRKS[workaround.quirk]).over(version, surface)
    ]
    return tuple(sorted(found, key=lambda one: one.in_use is not True))
