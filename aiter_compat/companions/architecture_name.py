"""`get_gfx`: the name of the GPU's architecture."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import cast

import torch

from aiter_compat.detect import installation
from aiter_compat.errors import AiterImportError
from aiter_compat.symbols import load

_VARIABLE = "GPU_ARCHS"
_DETECT = "native"


def get_gfx() -> str:
    """AITER's `aiter.jit.utils.chip_info.get_gfx`: "gfx942", "gfx950", ….

    AITER's own answer where it can be imported and torch drives ROCm GPUs; its errors, such as KeyError for an
    architecture that it does not know, come through. Elsewhere the same rule: the last name in the environment variable
    `GPU_ARCHS` unless that is "native", else what torch says of the current ROCm device. Where there is none, AITER
    raises; this returns "", which is no architecture, so that a host's `if get_gfx() == "gfx950"` may stay.

    Returns:
        The name; "" without a ROCm GPU.
    """
    if torch.version.hip is not None and installation().kind == "present":
        try:
            return cast("Callable[[], str]", load("aiter.jit.utils.chip_info.get_gfx"))()
        except AiterImportError:
            pass  # a broken AITER: torch knows as well
    named = os.environ.get(_VARIABLE, _DETECT).split(";")[-1].strip()
    return device_architecture() if named in ("", _DETECT) else named


def device_architecture() -> str:
    """What torch says of the current ROCm device; "" without one."""
    if torch.version.hip is None or not torch.cuda.is_available():
        return ""
    name: str = torch.cuda.get_device_properties(torch.cuda.current_device()).gcnArchName
    return name.partition(":")[0]
