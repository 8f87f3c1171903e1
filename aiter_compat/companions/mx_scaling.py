"""Groups of elements under one e8m0 scale, as AITER's MX quantisers make them."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from aiter_compat.detect import installation
from aiter_compat.formats.elements import E2M1, Element
from aiter_compat.formats.mx_block import MxScaling
from aiter_compat.formats.mx_scale import E8M0_LARGEST, e8m0_from_amax, e8m0_to_fp32
from aiter_compat.formats.scaled_groups import GroupScale, Scaling, largest_magnitudes, quantize_groups
from aiter_compat.profiles import NumericsProfile, profile, profile_for_release
from aiter_compat.profiles.model import ScaleRule


def mx_rows(
    groups: Tensor, element: Element, name: str, numerics: NumericsProfile | str | None, *, floor: float = 0.0
) -> tuple[Tensor, Tensor]:
    """Codes uint8 [n, size], one a byte, and scale bytes uint8 [n, 1].

    Args:
        groups: [n, size], any size and floating dtype.
        element: element format.
        name: "mxfp4" or "mxfp8": which scale rule of the profile.
        numerics: a profile or its name; None: that of the installed AITER, without one aiter-0.1.15.
        floor: smallest maximum that counts.
    """
    return rows_scaled_by(groups, element, MxScaling(element, scale_rule(name, numerics), floor))


def rows_scaled_by(groups: Tensor, element: Element, scaling: Scaling) -> tuple[Tensor, Tensor]:
    """`mx_rows` under another scale rule."""
    codes, scales = quantize_groups(groups, scaling, element)
    return codes, scales.to(torch.uint8)


def scale_rule(name: str, numerics: NumericsProfile | str | None) -> ScaleRule:
    """The scale rule of a profile for "mxfp4" or "mxfp8"."""
    chosen = profile(_installed_profile() if numerics is None else numerics)
    return chosen.mxfp4_scale_rule if name == "mxfp4" else chosen.mxfp8_scale_rule


@dataclass(frozen=True)
class TritonEvenScaling:
    """The scale of `dynamic_mxfp4_quant`: Quark's even rule, in which no group is flagged as NaN for holding Inf.

    v0.1.15.post3 and v0.1.20.post1 aiter/ops/triton/_triton_kernels/quant/quant.py `_mxfp4_quant_op`: the scale byte
    is held at 254, under which Inf saturates at 6.
    """

    def __call__(self, groups: Tensor) -> GroupScale:
        """Scale of each group, [n, 32] of any floating dtype."""
        amax = largest_magnitudes(groups)
        byte = e8m0_from_amax(amax, E2M1, "even_or_largest")
        byte = torch.where(amax.isinf(), E8M0_LARGEST, byte)
        value = e8m0_to_fp32(byte)
        return GroupScale(byte, value, value.reciprocal())


def _installed_profile() -> str:
    found = installation()
    return profile_for_release(found.release if found.kind == "present" else None)
