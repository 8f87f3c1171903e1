"""What becomes of aiter_compat's companions on a release of AITER: where each is found, and whether torch agrees.

    python -m conformance.companions TREE RESULTS

runs in a process of its own, as `conformance.witness` does. Kernels cannot run here, so of those it is asked which
object serves a call in its smallest form; AITER's plain torch code is run, and compared with the emulation bit for bit.
"""

from __future__ import annotations

import importlib
import inspect
import json
import subprocess
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

import aiter_compat as ac
from aiter_compat import companions
from aiter_compat.companions import row_quantisers
from aiter_compat.companions.names import COMPANIONS
from aiter_compat.companions.serving import _native_function
from conformance.checkout import extract
from conformance.fakes.machine import install_gpu
from conformance.fakes.operator_names import accept_doubled_namespace
from conformance.runs import _environment

_OURS_ALONE = ("backend", "numerics")


def found_on(source: Path, tag: str, folder: Path) -> dict[str, Any]:
    """What the process says of the release of a tag: `served` (name -> module) and `differing` (names).

    Raises:
        AssertionError: the process did not come to its end.
    """
    tree, results = extract(source, tag, folder), folder / "results.json"
    command = [sys.executable, "-m", "conformance.companions", str(tree), str(results)]
    done = subprocess.run(
        command, env=_environment(folder, None), cwd=folder, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, f"{tag}: {done.stdout}{done.stderr}"
    told: dict[str, Any] = json.loads(results.read_text(encoding="utf-8"))
    return told


def main(tree: str, results: str) -> None:
    """Run."""
    sys.path.insert(0, tree)
    torch.set_num_threads(1)
    accept_doubled_namespace()
    install_gpu()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # AITER's own
        served = {name: module for name in COMPANIONS if (module := _module_of(name)) is not None}
        differing = [name for name, call in _torch_code().items() if name in served and not _agrees(call)]
    told = {"served": served, "differing": differing}
    Path(results).write_text(json.dumps(told, indent=1), encoding="utf-8")


def _module_of(name: str) -> str | None:
    """The module of AITER's whose function serves a call that gives the required arguments alone; None: refused."""
    own = getattr(companions, name.removesuffix("_shuffled"), None) or getattr(row_quantisers, name)
    parameters = inspect.signature(own).parameters
    known = tuple(argument for argument in parameters if argument not in _OURS_ALONE)
    given = tuple(argument for argument in known if parameters[argument].default is inspect.Parameter.empty)
    try:
        function = _native_function(name, given, known, "cuda", "aiter")
    except ac.UnsupportedByAiter:
        return None
    assert function is not None
    assert callable(getattr(importlib.import_module(function.module.__name__), function.name))
    return function.module.__name__


def _torch_code() -> dict[str, Callable[[str], Any]]:
    x = torch.randn(4, 128, generator=torch.Generator().manual_seed(0)).bfloat16()
    weight = torch.arange(2 * 32 * 64).remainder(251).to(torch.uint8).view(2, 32, 64)
    scale = torch.arange(64 * 8).remainder(250).to(torch.uint8).view(64, 8)
    codes = torch.arange(256).remainder(15).sub(7).to(torch.int8)
    fp8 = torch.float8_e4m3fn
    return {
        "shuffle_weight": lambda backend: ac.shuffle_weight(weight, backend=backend),
        "shuffle_weight_a16w4": lambda backend: ac.shuffle_weight_a16w4(weight, 16, True, backend=backend),
        "shuffle_weight_NK": lambda backend: ac.shuffle_weight_NK(weight, 16, 64, backend=backend),
        "shuffle_scale_a16w4": lambda backend: ac.shuffle_scale_a16w4(scale, 2, True, backend=backend),
        "shuffle_scale_for_int4": lambda backend: ac.shuffle_scale_for_int4(x.view(2, 4, 64), backend=backend),
        "pack_int8_to_packed_int4": lambda backend: ac.pack_int8_to_packed_int4(codes, backend=backend),
        "shuffle_scale_moe": lambda backend: ac.shuffle_scale_moe(scale.T, "gfx1250", 32, 4, backend=backend),
        "pertoken_quant": lambda backend: ac.pertoken_quant(x, quant_dtype=fp8, backend=backend),
        "per_tensor_quant": lambda backend: ac.per_tensor_quant(x, quant_dtype=torch.int8, backend=backend),
        "per_1x32_f4_quant": lambda backend: ac.per_1x32_f4_quant(x, backend=backend),
        "per_1x32_i4_quant": lambda backend: ac.per_1x32_i4_quant(x, backend=backend),
    }


def _agrees(call: Callable[[str], Any]) -> bool:
    pairs = zip(_tensors(call("aiter")), _tensors(call("emulation")), strict=True)
    return all(
        (one.dtype, one.shape) == (other.dtype, other.shape)
        and torch.equal(one.contiguous().view(torch.uint8), other.contiguous().view(torch.uint8))
        for one, other in pairs
    )


def _tensors(result: Any) -> tuple[torch.Tensor, ...]:
    return result if isinstance(result, tuple) else (result,)


if __name__ == "__main__":
    main(*sys.argv[1:])
