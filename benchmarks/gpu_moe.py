"""MXFP4 layers of real models on a GPU: the Triton path, what people have instead, and the floor.

    python -m benchmarks.gpu_moe --triton-kernels PATH [--shapes a b] [--tokens 1 16 ...] [--peers ...]

Everything is a CUDA graph over several batches with their own tokens and routing (`gpu_timing`). The floor is the
larger of two times: the bytes of the experts that a batch touches at the rate of reading memory, and its operations at
the rate of a large bf16 matrix product, both measured in the same rounds. "difference" is the relative difference to
the torch path on the first batch; for a peer that leaves the activations unrounded, to the torch path without rounding.
"""

from __future__ import annotations

import argparse
import json
import time
import traceback
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

from aiter_compat.backends.emulation import EmulationRequest, run
from benchmarks import gpu_ceilings, gpu_peers, result_files
from benchmarks.gpu_layers import SHAPES, batches, batches_needed, layer
from benchmarks.gpu_timing import Contender, captured, eager, take_turns
from benchmarks.layers import touched_experts

TOKENS = (1, 16, 64, 256, 1024, 4096, 16384)
_READ, _PRODUCT = "read", "product"


def main() -> None:
    """Measure, print, store after each number of tokens."""
    started = time.perf_counter()
    options = _options()
    device = torch.device(options.device)
    ceilings = _ceilings(device)
    for name in options.shapes:
        shape, _, model = SHAPES[name]
        print(f"\n{name}: {model}; {shape.experts} experts, top {shape.choices}, {shape.hidden} x {shape.intermediate}")
        weights = layer(name, device, options.activations)
        peers, failed = gpu_peers.build(weights, options)
        for peer, error in failed.items():
            print(f"  {peer} is left out: {error}")
        rows: list[dict[str, Any]] = []
        for tokens in options.tokens:
            count = batches_needed(shape, tokens) if device.type == "cuda" else 2
            requests = batches(weights, tokens, shape.choices, count)
            rows.append(_measure(name, requests, peers, ceilings, options))
            _print(rows[-1])
            told = {"card": card(device), "shape": vars(shape), "model": model, "left_out": failed}
            _write(options, name, {**told, "rows": rows})
        del peers, weights, requests
        print(f"\n{name}: {time.perf_counter() - started:.0f} s since the start", flush=True)


def stored_name(shape: str, activations: str) -> str:
    """Name of the results of a shape whose activations are rounded through a format, "none" for unrounded."""
    return f"gpu_moe_{shape}" if activations == "mxfp4" else f"gpu_moe_{shape}_unrounded"


def card(device: torch.device) -> dict[str, Any]:
    """What a reader needs to judge a number."""
    import triton

    versions = {"triton": triton.__version__, "cuda": torch.version.cuda}
    if device.type != "cuda":
        return {"name": "CPU", **versions}
    properties = torch.cuda.get_device_properties(device)
    return {
        "name": properties.name,
        "multiprocessors": properties.multi_processor_count,
        "memory_gib": round(properties.total_memory / 2**30, 1),
        **versions,
    }


def _ceilings(device: torch.device) -> dict[str, Contender]:
    if device.type != "cuda":
        return {}
    return {
        _READ: captured([gpu_ceilings.read_memory(device)], device),
        _PRODUCT: captured([gpu_ceilings.matrix_product(device)], device),
    }


def _measure(
    name: str,
    requests: list[EmulationRequest],
    peers: dict[str, gpu_peers.Peer],
    ceilings: dict[str, Contender],
    options: argparse.Namespace,
) -> dict[str, Any]:
    device = requests[0].w1.device
    shape = SHAPES[name][0]
    tokens = requests[0].hidden_states.shape[0]
    contenders, errors, checks = {}, {}, {}
    expected = {True: run(requests[0]), False: run(replace(requests[0], qdq_first="none", qdq_second="none"))}
    for peer_name, peer in peers.items():
        if tokens > peer.most_tokens:
            continue
        try:
            checks[peer_name] = _check(peer, requests[0], expected[peer.rounds_activations])
            contenders[peer_name] = _contender(peer, requests, device)
        except Exception as error:  # noqa: BLE001 - one that fails must not stop the others
            traceback.print_exc()
            errors[peer_name] = f"{type(error).__name__}: {error}"
    samples, failed = take_turns({**contenders, **ceilings}, options.seconds, device)
    touched = touched_experts(requests)
    row: dict[str, Any] = {
        "tokens": tokens,
        "batches": len(requests),
        "touched_experts": touched,
        "errors": errors | failed,
    }
    if ceilings:
        read = gpu_ceilings.READ_BYTES / samples.pop(_READ).median
        product = gpu_ceilings.FLOP / samples.pop(_PRODUCT).median
        flop = 2.0 * tokens * shape.choices * shape.slot_products
        row |= {
            "read_tb_per_s": read / 1e12,
            "product_tflop_per_s": product / 1e12,
            "floor_ms": {"bytes": touched * shape.expert_bytes / read * 1e3, "products": flop / product * 1e3},
        }
    row["times"] = {peer: item.as_dict() | checks[peer] for peer, item in samples.items()}
    return row


def _contender(peer: gpu_peers.Peer, requests: list[EmulationRequest], device: torch.device) -> Contender:
    if not peer.in_graph:
        return eager([lambda: peer.call(requests[0])])
    for request in requests[1:]:
        if peer.prepare is not None:
            peer.prepare(request)
    return captured([lambda request=request: peer.call(request) for request in requests], device)


def _check(peer: gpu_peers.Peer, request: EmulationRequest, expected: torch.Tensor) -> dict[str, float | None]:
    """Relative difference and the most memory that a call takes beyond what is there, its result included."""
    if peer.prepare is not None:
        peer.prepare(request)
    on_gpu = request.w1.is_cuda
    if on_gpu:
        torch.cuda.synchronize()
        torch.cuda.reset_peak_memory_stats()
        before = torch.cuda.memory_allocated()
    result = peer.call(request)
    extra = (torch.cuda.max_memory_allocated() - before) / 2**20 if on_gpu else None
    difference = (result.double() - expected.double()).norm() / expected.double().norm()
    return {"difference": float(difference), "extra_peak_mib": extra}


def _print(row: dict[str, Any]) -> None:
    print(f"\n  {row['tokens']} tokens, {row['touched_experts']:.1f} experts touched, {row['batches']} batches in turn")
    print(f"  {'':30}{'median us':>11}{'quartiles':>22}{'to ours':>9}{'to floor':>10}{'difference':>12}{'MiB':>9}")
    times = row["times"]
    ours = times.get(gpu_peers.OURS, {}).get("median_ms")
    floor = max(row["floor_ms"].values()) if "floor_ms" in row else None
    for name, item in times.items():
        median = item["median_ms"]
        spread = f"{item['lower_quartile_ms'] * 1e3:.1f} - {item['upper_quartile_ms'] * 1e3:.1f}"
        memory = "-" if item["extra_peak_mib"] is None else f"{item['extra_peak_mib']:.1f}"
        print(
            f"  {name:30}{median * 1e3:>11.1f}{spread:>22}{_ratio(median, ours):>9}{_ratio(median, floor):>10}"
            f"{item['difference']:>12.1e}{memory:>9}"
        )
    for name, error in row["errors"].items():
        print(f"  {name:30} failed: {error[:300]}")
    if floor is not None:
        kind = max(row["floor_ms"], key=row["floor_ms"].get)
        rates = f"reads {row['read_tb_per_s']:.2f} TB/s, multiplies {row['product_tflop_per_s']:.0f} TFLOP/s"
        print(f"  {'floor: ' + kind:30}{floor * 1e3:>11.1f}   ({rates})", flush=True)


def _ratio(value: float, base: float | None) -> str:
    return "-" if base is None else f"{value / base:.2f}"


def _write(options: argparse.Namespace, name: str, measured: dict[str, Any]) -> None:
    options.folder.mkdir(parents=True, exist_ok=True)
    path = options.folder / f"{stored_name(name, options.activations)}.json"
    path.write_text(json.dumps({"machine": result_files.machine(), **measured}, indent=1) + "\n", encoding="utf-8")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--shapes", nargs="+", default=["a", "b"], choices=tuple(SHAPES))
    parser.add_argument("--tokens", type=int, nargs="+", default=TOKENS)
    parser.add_argument("--peers", nargs="*", default=list(gpu_peers.PEERS), choices=gpu_peers.PEERS)
    parser.add_argument("--triton-kernels", type=Path, help="folder of OpenAI's library, from an unzipped vLLM wheel")
    parser.add_argument("--activations", default="mxfp4", choices=("mxfp4", "none"))
    parser.add_argument("--seconds", type=float, default=0.15, help="share of each contender at each number of tokens")
    parser.add_argument("--folder", type=Path, default=result_files.FOLDER, help="where the results go")
    parser.add_argument("--device", default="cuda")
    return parser.parse_args()


if __name__ == "__main__":
    main()
