"""Memory layouts of MoE weights and block scales, and their exact inverses.

Every function returns a new tensor and moves bytes only. None reads or sets AITER's `is_shuffled` attribute,
which torch drops on most operations: the layout travels with the weights in `MoEWeights`.
"""

from aiter_compat.layouts.a16w4_scale import shuffle_scale_a16w4, unshuffle_scale_a16w4
from aiter_compat.layouts.a16w4_weight import shuffle_a16w4, unshuffle_a16w4
from aiter_compat.layouts.e8m0_scale import shuffle_scale_e8m0, unshuffle_scale_e8m0
from aiter_compat.layouts.row_interleave import deinterleave_rows, interleave_rows
from aiter_compat.layouts.scale_padding import PAD_SCALE_BYTE
from aiter_compat.layouts.size_rules import LayoutRequirements, layout_requirements
from aiter_compat.layouts.tile_16x16 import shuffle_16x16, unshuffle_16x16

__all__ = [
    "PAD_SCALE_BYTE",
    "LayoutRequirements",
    "deinterleave_rows",
    "interleave_rows",
    "layout_requirements",
    "shuffle_16x16",
    "shuffle_a16w4",
    "shuffle_scale_a16w4",
    "shuffle_scale_e8m0",
    "unshuffle_16x16",
    "unshuffle_a16w4",
    "unshuffle_scale_a16w4",
    "unshuffle_scale_e8m0",
]
