"""`dtypes`: AITER's short names of torch dtypes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch

from aiter_compat.companions.architecture_name import device_architecture
from aiter_compat.detect import installation
from aiter_compat.errors import AiterImportError
from aiter_compat.symbols import load

_FNUZ = "gfx942"
_FIXED: Mapping[str, torch.dtype] = {
    # torch older than 2.8 has no packed fp4, and bytes stand for it, as in AITER
    "i4x2": getattr(torch, "int4", torch.uint8),
    "fp4x2": getattr(torch, "float4_e2m1fn_x2", torch.uint8),
    "fp8_e8m0": getattr(torch, "float8_e8m0fnu", torch.uint8),
    "fp16": torch.float16,
    "bf16": torch.bfloat16,
    "fp32": torch.float32,
    "u32": torch.uint32,
    "i32": torch.int32,
    "i16": torch.int16,
    "i8": torch.int8,
    "u8": torch.uint8,
    "i64": torch.int64,
    "u64": torch.uint64,
}
FP4X2 = _FIXED["fp4x2"]
FP8_E8M0 = _FIXED["fp8_e8m0"]


class DtypeNames:
    """AITER's module `aiter.utility.dtypes`, resolved when a name is touched; the object `ac.dtypes`.

    AITER's own where it can be imported and torch drives ROCm GPUs, so `fp8` is what its kernels take. Elsewhere fp8 is
    float8_e4m3fnuz on gfx942 and float8_e4m3fn otherwise (on an architecture that AITER does not know, its own is
    uint8). The other names are the same in every release: bf16, fp16, fp32, fp4x2, fp8_e8m0, i4x2, i8, i16, i32, i64,
    u8, u32, u64; `d_dtypes` maps names to dtypes.
    """

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        if torch.version.hip is not None and installation().kind == "present":
            try:
                return getattr(load("aiter.utility.dtypes"), name)
            except AiterImportError:
                pass  # a broken AITER: the names mean the same
        if name == "fp8":
            return default_fp8()
        if name == "d_dtypes":
            return {**_FIXED, "fp8": default_fp8()}
        if name in _FIXED:
            return _FIXED[name]
        raise AttributeError(f"ac.dtypes has no {name!r}; it has fp8, d_dtypes, {', '.join(_FIXED)}")

    def __dir__(self) -> list[str]:
        return sorted((*_FIXED, "fp8", "d_dtypes"))


def default_fp8() -> torch.dtype:
    """The fp8 dtype of the current device's kernels."""
    return torch.float8_e4m3fnuz if device_architecture() == _FNUZ else torch.float8_e4m3fn


dtypes = DtypeNames()
