"""How time and memory grow with experts, tokens and hidden size, beside the model of bytes and products.

    python -m benchmarks.cpu_growth

The model is max(bytes of the touched experts / read rate, products / product rate), both rates measured in the run.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from itertools import cycle
from typing import Any

import torch

from aiter_compat.backends.emulation import run_compiled, warm_up
from benchmarks import cpu_ceilings, result_files
from benchmarks.layers import Shape, batches, layer, touched_experts
from benchmarks.timing import take_turns

_TOKENS = (1, 4, 16, 64, 256, 1024, 4096)
_EXPERTS = (8, 32, 128)
_HIDDEN = (512, 1024, 2048, 3072)
_PEAK = """
import sys, torch
from pathlib import Path
from benchmarks.layers import Shape, layer, with_tokens
from aiter_compat.backends.emulation import run_compiled
tokens, experts, hidden = map(int, sys.argv[1:])
torch.set_num_threads(1)
weights = layer(Shape(experts, 4, hidden, hidden))
run_compiled(with_tokens(weights, 1, 4))
request = with_tokens(weights, tokens, 4)
def kib(field):
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(field))
Path("/proc/self/clear_refs").write_text("5")  # the peak starts anew
before = kib("VmRSS")
run_compiled(request)
print((kib("VmHWM") - before) / 1024)
"""


def main() -> None:
    """Measure, print, store."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=1.5, help="share of each point")
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
    measured = {}
    for name, points in studies.items():
        print(f"\nagainst {name}\n  tokens experts hidden   median ms   model ms   ratio   extra peak MiB")
        measured[name] = [_point(tokens, shape, options.seconds) for tokens, shape in points]
    print(result_files.write("cpu_growth", {"studies": measured}))


def _point(tokens: int, shape: Shape, seconds: float) -> dict[str, Any]:
    requests = batches(layer(shape), tokens, shape.choices)
    turn = cycle(requests)
    samples = take_turns(
        {
            "compiled": lambda: run_compiled(next(turn)),
            "read": cpu_ceilings.read_memory(),
            "products": cpu_ceilings.integer_products(),
        },
        seconds,
        threads=1,
    )
    read = cpu_ceilings.READ_BYTES / samples["read"].median
    products = cpu_ceilings.PRODUCTS / samples["products"].median
    of_bytes = touched_experts(requests) * shape.expert_bytes / read
    of_products = tokens * shape.choices * shape.slot_products / products
    point = {
        "tokens": tokens,
        **vars(shape),
        "touched_experts": touched_experts(requests),
        "bytes_ms": of_bytes * 1e3,
        "products_ms": of_products * 1e3,
        "extra_peak_mib": _extra_peak(tokens, shape),
        **samples["compiled"].as_dict(),
    }
    model = max(point["bytes_ms"], point["products_ms"])
    print(
        f"  {tokens:6} {shape.experts:7} {shape.hidden:6} {point['median_ms']:11.2f} {model:10.2f} "
        f"{point['median_ms'] / model:7.2f} {point['extra_peak_mib']:16.1f}",
        flush=True,
    )
    return point


def _extra_peak(tokens: int, shape: Shape) -> float:
    """MiB that a call takes at its peak, in a process that has made a call with one token (Linux)."""
    command = [sys.executable, "-c", _PEAK, str(tokens), str(shape.experts), str(shape.hidden)]
    return float(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


if __name__ == "__main__":
    main()
