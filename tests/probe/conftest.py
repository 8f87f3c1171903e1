"""Fake AITER packages, as small as a test needs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

# As AITER has it: members come from the compiled module.
REAL_ENUM_MODULE = """
from ..jit.core import compile_ops

@compile_ops("module_aiter_core", "ActivationType")
def _ActivationType(dummy): ...

@compile_ops("module_aiter_core", "QuantType")
def _QuantType(dummy): ...

ActivationType = type(_ActivationType(0))
QuantType = type(_QuantType(0))
"""
HEADER = """
// enum class Commented { A };
enum class ActivationType : int
{
    No     = -1,
    Silu   = 0,
    Gelu, /* enum class Other { B } */
    Swiglu = 2, // the last
};
enum class QuantType : int { No, per_Tensor, per_Token, per_1x32 };
"""


@pytest.fixture
def write_aiter(tmp_path: Path) -> Callable[..., str]:
    """Write a package `aiter` from relative names and texts; names that start with ../ lie beside it."""

    def write(files: Mapping[str, str], root: str = "site") -> str:
        package = tmp_path / root / "aiter"
        everything = {"__init__.py": "", "fused_moe.py": "", "ops/enum.py": REAL_ENUM_MODULE}
        everything["../csrc/include/aiter_enum.h"] = HEADER
        for name, text in {**everything, **files}.items():
            path = package / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        return str(package)

    return write
