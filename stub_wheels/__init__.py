"""Installable stand-ins for `amd-aiter`, one per recorded release: a development tool, never shipped.

A stub wheel has the distribution name, version, modules, signatures, defaults and enum kinds of the AITER release it
stands for, all taken from the release's record, and its `fused_moe` computes: a plain dense fp32 MoE on the CPU that
honours every argument of that release. An argument that gets lost on the way to it changes the output.

What it computes is written independently of aiter_compat's own numerics, so that a mistake there cannot cancel out.
"""

from stub_wheels.builder import build_wheel
from stub_wheels.factors import Factor, factor, factor_name
from stub_wheels.variants import VARIANTS, Variant, variant

__all__ = ["VARIANTS", "Factor", "Variant", "build_wheel", "factor", "factor_name", "variant"]
