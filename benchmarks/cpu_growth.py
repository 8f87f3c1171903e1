"""How time and memory grow with tokens, experts and hidden size, beside the model of bytes and operations.

    python -m benchmarks.cpu_growth

Compiled path: max(bytes of the touched experts / read rate, products / product rate). Torch path: values of the touched
experts / decoding rate + products / GEMM rate. All rates are measured in the same run, in turns with the calls.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from itertools import cycle
from typing import Any

import torch

from aiter_compat.backends.emulation import run, run_compiled, warm_up
from benchmarks import cpu_ceilings, result_files
from benchmarks.layers import Shape, batches, layer, touched_experts
from benchmarks.timing import Samples, take_turns

_TOKENS = (1, 16, 256, 4096)
_EXPERTS = (8, 32, 128)
_HIDDEN = (512, 1024, 2048)
_PEAK = """
import sys, torch
from pathlib import Path
from benchmarks.layers import Shape, layer, with_tokens
from aiter_compat.backends import emulation
run = getattr(emulation, sys.argv[1])
tokens, experts, hidden = map(int, sys.argv[2:])
torch.set_num_threads(1)
weights = layer(Shape(experts, 4, hidden, hidden))
run(with_tokens(weights, 1, 4))
request = with_tokens(weights, tokens, 4)
def kib(field):
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(field))
Path("/proc/self/clear_refs").write_text("5")  # the peak starts anew
before = kib("VmRSS")
run(request)
print((kib("VmHWM") - before) / 1024)
"""


def main() -> None:
    """Measure, print, store."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=1.5, help="share of each path at each point")
    options = parser.parse_args()
    torch.set_num_threads(1)
    missing = warm_up()
    if missing is not None:
        raise SystemExit(f"the compiled path is not available: {missing}")
    studies = {
        "tokens": [(tokens, Shape()) for tokens in _TOKENS],
        "experts": [(16, Shape(experts=experts)) for experts in _EXPERTS],
        "hidden": [(16, Shape(hidden=size, intermediate=size)) for size in _HIDDEN],
    }
    measured: dict[tuple[int, Shape], dict[str, Any]] = {}  # the studies cross in one point
    print("tokens experts hidden  path      median ms   model ms   ratio   extra peak MiB")
    for point in dict.fromkeys(point for points in studies.values() for point in points):
        measured[point] = _point(*point, options.seconds)
    found = {name: [measured[point] for point in points] for name, points in studies.items()}
    print(result_files.write("cpu_growth", {"studies": found}))


def _point(tokens: int, shape: Shape, seconds: float) -> dict[str, Any]:
    requests = batches(layer(shape), tokens, shape.choices)
    turns = cycle(requests), cycle(requests)
    samples = take_turns(
        {
            "compiled": lambda: run_compiled(next(turns[0])),
            "torch": lambda: run(next(turns[1])),
            "read": cpu_ceilings.read_memory(),
            "integers": cpu_ceilings.integer_products(),
            "decode": cpu_ceilings.decode_values(),
            "fp32": cpu_ceilings.fp32_products(),
        },
        seconds,
        threads=1,
    )
    touched, products = touched_experts(requests), tokens * shape.choices * shape.slot_products
    terms = {
        "compiled": {
            "bytes_ms": 1e3 * touched * shape.expert_bytes / _rate(samples["read"], cpu_ceilings.READ_BYTES),
            "products_ms": 1e3 * products / _rate(samples["integers"], cpu_ceilings.PRODUCTS),
        },
        "torch": {
            "decoding_ms": 1e3 * touched * shape.slot_products / _rate(samples["decode"], cpu_ceilings.DECODED_VALUES),
            "products_ms": 1e3 * products / _rate(samples["fp32"], cpu_ceilings.FP32_PRODUCTS),
        },
    }
    point: dict[str, Any] = {"tokens": tokens, **vars(shape), "touched_experts": touched}
    peaks = _extra_peaks(tokens, shape)
    for path, combine in (("compiled", max), ("torch", sum)):
        found = {
            **terms[path],
            "model_ms": combine(terms[path].values()),
            "extra_peak_mib": peaks[path],
            **samples[path].as_dict(),
        }
        point[path] = found
        print(
            f"{tokens:6} {shape.experts:7} {shape.hidden:6}  {path:8} {found['median_ms']:10.2f} "
            f"{found['model_ms']:10.2f} {found['median_ms'] / found['model_ms']:7.2f} {found['extra_peak_mib']:16.1f}",
            flush=True,
        )
    return point


def _rate(samples: Samples, work: float) -> float:
    return work / samples.median


def _extra_peaks(tokens: int, shape: Shape) -> dict[str, float]:
    """MiB that a call takes at its peak, each path in a process that has made a call with one token (Linux)."""
    processes = {}
    for path, name in (("compiled", "run_compiled"), ("torch", "run")):
        command = [sys.executable, "-c", _PEAK, name, str(tokens), str(shape.experts), str(shape.hidden)]
        processes[path] = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    outputs = {path: process.communicate()[0] for path, process in processes.items()}
    return {path: float(output) for path, output in outputs.items()}


if __name__ == "__main__":
    main()
