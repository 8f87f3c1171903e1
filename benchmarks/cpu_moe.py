"""An MXFP4 layer on the CPU: the torch path, the compiled path, and what people have instead.

    python -m benchmarks.cpu_moe [--threads 1] [--tokens 1 16 128] [--experts 32] [--hidden 1024] ...

The table gives medians, quartiles, and how many times longer a peer takes than the compiled path.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from itertools import cycle
from typing import Any

import torch

from aiter_compat.backends.emulation import EmulationRequest, run, run_compiled, warm_up
from benchmarks import cpu_ceilings, cpu_peers, result_files
from benchmarks.layers import Shape, batches, layer, touched_experts
from benchmarks.timing import take_turns

_OURS = "compiled"


def main() -> None:
    """Measure, print, store."""
    options = _options()
    torch.set_num_threads(options.threads)
    missing = warm_up()
    if missing is not None:
        raise SystemExit(f"the compiled path is not available: {missing}")
    shape = Shape(options.experts, options.choices, options.hidden, options.intermediate)
    weights = layer(shape, options.activations)
    rows = []
    for tokens in options.tokens:
        rows.append(_measure(batches(weights, tokens, shape.choices), shape, options))
        _print(rows[-1])
    name = f"cpu_moe_{options.activations}_{options.threads}"
    print(result_files.write(name, {"shape": vars(shape), "threads": options.threads, "rows": rows}))


def _measure(requests: list[EmulationRequest], shape: Shape, options: argparse.Namespace) -> dict[str, Any]:
    work = {
        _OURS: _in_turn(run_compiled, requests),
        "torch": _in_turn(run, requests),
        "weights kept in fp32": cpu_peers.decoded_once(cycle(requests)),
    }
    if not options.quick:
        work["AITER's reference"] = cpu_peers.aiter_reference(cycle(requests))
        work["vLLM's emulation"] = cpu_peers.vllm_emulation(cycle(requests))
    work["ceiling: read"] = cpu_ceilings.read_memory()
    work["ceiling: products"] = cpu_ceilings.integer_products()
    samples = take_turns(work, options.seconds, threads=options.threads)
    read = cpu_ceilings.READ_BYTES / samples.pop("ceiling: read").median
    products = cpu_ceilings.PRODUCTS / samples.pop("ceiling: products").median
    touched = touched_experts(requests)
    slots = requests[0].topk_ids.numel()
    floors = {
        "bytes": touched * shape.expert_bytes / read * 1e3,
        "products": slots * shape.slot_products / products / options.threads * 1e3,
    }
    return {
        "tokens": requests[0].hidden_states.shape[0],
        "touched_experts": touched,
        "read_gb_per_s": read / 1e9,
        "products_g_per_s": products / 1e9,
        "floor_ms": floors,
        "times": {
            name: item.as_dict() | {"ratio": item.median / samples[_OURS].median} for name, item in samples.items()
        },
        "agreement": _relative_difference(run_compiled(requests[0]), run(requests[0])),
    }


def _in_turn(
    path: Callable[[EmulationRequest], torch.Tensor], requests: list[EmulationRequest]
) -> Callable[[], torch.Tensor]:
    turn = cycle(requests)
    return lambda: path(next(turn))


def _relative_difference(left: torch.Tensor, right: torch.Tensor) -> float:
    return float((left.double() - right.double()).norm() / right.double().norm())


def _print(row: dict[str, Any]) -> None:
    floors = row["floor_ms"]
    print(f"\n{row['tokens']} tokens, {row['touched_experts']:.1f} experts touched")
    print(f"  {'':24}{'median ms':>10}{'quartiles':>20}{'times ours':>12}")
    for name, times in row["times"].items():
        spread = f"{times['lower_quartile_ms']:.2f} - {times['upper_quartile_ms']:.2f}"
        print(f"  {name:24}{times['median_ms']:>10.2f}{spread:>20}{times['ratio']:>12.2f}")
    print(f"  {'floor: bytes':24}{floors['bytes']:>10.2f}   at {row['read_gb_per_s']:.1f} GB/s")
    print(f"  {'floor: products':24}{floors['products']:>10.2f}   at {row['products_g_per_s']:.0f} G/s a thread")
    print(f"  compiled against torch: {row['agreement']:.1e} relative difference")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--tokens", type=int, nargs="+", default=[1, 16, 128])
    parser.add_argument("--activations", default="mxfp4", choices=("mxfp4", "mxfp8", "none"))
    parser.add_argument("--experts", type=int, default=32)
    parser.add_argument("--choices", type=int, default=4)
    parser.add_argument("--hidden", type=int, default=1024)
    parser.add_argument("--intermediate", type=int, default=1024)
    parser.add_argument("--seconds", type=float, default=3.0, help="share of each peer at each number of tokens")
    parser.add_argument("--quick", action="store_true", help="leave out the peers that take seconds")
    return parser.parse_args()


if __name__ == "__main__":
    main()
