"""Pad sizes for AITER's kernels: derived from a layer's sizes, overridable, in AITER's or vLLM's convention."""

from aiter_compat.padding.resolve import Padding, check_convention, resolve_padding

__all__ = ["Padding", "check_convention", "resolve_padding"]
