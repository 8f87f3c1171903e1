"""An MXFP4 layer on the CPU: the torch path, the compiled path, and what people have instead.

    python -m benchmarks.cpu_moe [--threads 1] [--tokens 1 16 128] [--experts 32] [--slow-peers 1 16 128] ...

The table gives medians, quartiles, and how many times longer a peer takes than the compiled path. With pywhispercpp
installed (`pip install pywhispercpp`), whose wheel brings ggml, that is a peer too.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from itertools import cycle
from typing import Any

import torch

from aiter_compat.backends.emulation import EmulationRequest, run, run_compiled, torch_grouped, warm_up
from aiter_compat.backends.emulation.decoded_weights import DecodedWeights
from benchmarks import cpu_ceilings, cpu_peers, ggml_peer, result_files
from benchmarks.layers import Shape, batches, layer, touched_experts
from benchmarks.timing import take_turns

_OURS = "compiled"
_GGML = {"ggml": False, "ggml, rows regrouped": True}


def main() -> None:
    """Measure, print, store."""
    options = _options()
    torch.set_num_threads(options.threads)
    missing = warm_up()
    if missing is not None:
        raise SystemExit(f"the compiled path is not available: {missing}")
    shape = Shape(options.experts, options.choices, options.hidden, options.intermediate)
    weights = layer(shape, options.activations)
    ggml, source = ggml_peer.library() or (None, None)
    in_ggml = {}
    if ggml is not None:
        for name, repacked in _GGML.items():
            in_ggml[name] = ggml_peer.Layer(ggml, weights, options.threads, repacked)
    rows = []
    for tokens in options.tokens:
        rows.append(_measure(batches(weights, tokens, shape.choices), shape, options, in_ggml))
        _print(rows[-1])
    name = f"cpu_moe_{options.activations}_{options.threads}"
    about = {"shape": vars(shape), "threads": options.threads, "activations": options.activations, "ggml": source}
    print(result_files.write(name, {**about, "rows": rows}))


def _measure(
    requests: list[EmulationRequest], shape: Shape, options: argparse.Namespace, in_ggml: dict[str, ggml_peer.Layer]
) -> dict[str, Any]:
    work = {
        _OURS: _in_turn(run_compiled, requests),
        "torch": _in_turn(run, requests),
        "torch, weights kept decoded": _with_kept_weights(requests, shape),
        "weights kept in fp32": cpu_peers.decoded_once(cycle(requests)),
    }
    work |= {name: peer.call(requests) for name, peer in in_ggml.items()}
    if requests[0].hidden_states.shape[0] in options.slow_peers:
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


def _with_kept_weights(requests: list[EmulationRequest], shape: Shape) -> Callable[[], torch.Tensor]:
    """The torch path with AITER_COMPAT_DECODED_WEIGHTS_MIB set so that all weights fit, for its own calls only."""
    kept = DecodedWeights(int(4 * shape.experts * shape.slot_products))
    call, usual = _in_turn(run, requests), torch_grouped.decoded_weights

    def with_kept_weights() -> torch.Tensor:
        torch_grouped.decoded_weights = lambda: kept
        try:
            return call()
        finally:
            torch_grouped.decoded_weights = usual

    for _ in requests:
        with_kept_weights()  # so that every expert that occurs has been decoded
    return with_kept_weights


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
    parser.add_argument(
        "--slow-peers",
        type=int,
        nargs="*",
        default=[],
        metavar="M",
        help="numbers of tokens for those that take seconds",
    )
    return parser.parse_args()


if __name__ == "__main__":
    main()
