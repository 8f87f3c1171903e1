"""What the wrapper adds to a direct call of AITER's `fused_moe`, in microseconds.

    python -m benchmarks.call_overhead [--rounds 300]

AITER is a stub of its release whose `fused_moe` is replaced by a function of the same signature that returns at once,
so that what is measured is the way there. Each round times a burst of direct calls, of calls through the wrapper, and
of what reading shape, dtype and device of the call's nine tensors costs, one after the other; what is added is the
median over the rounds of the difference inside a round. Processor time of the one thread. For the emulation the direct
call is that of its torch path with a request that is ready.
"""

from __future__ import annotations

import argparse
import functools
import inspect
import itertools
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks import result_files

RELEASES = ("0.1.15.post3", "0.1.20.post1")
LEVELS = ("off", "metadata")
_CALLS_IN_A_BURST = 200


def main() -> None:
    """Measure, print, store."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=300)
    parser.add_argument("--site", help="measure with the AITER in this folder and print JSON; what the command runs")
    options = parser.parse_args()
    if options.site:
        print(json.dumps(_measure(Path(options.site), options.rounds)))
        return
    measured: dict[str, dict[str, Any]] = {}
    print(f"{'':34}{'direct us':>11}{'added us':>11}{'quartiles':>18}{'reading us':>12}{'first call us':>15}")
    for release in RELEASES:
        for level in LEVELS:
            for name, times in _in_a_process_of_its_own(release, level, options.rounds).items():
                label = f"{release}, checks {level}, {name}"
                measured[label] = times
                spread = f"{times['added_lower_quartile_us']:.2f} - {times['added_upper_quartile_us']:.2f}"
                print(
                    f"{label:52}{times['direct_us']:>8.2f}{times['added_us']:>11.2f}{spread:>18}{times['reading_us']:>12.2f}"
                    f"{times['first_us']:>15.0f}"
                )
    print("reading: shape, dtype and device of nine tensors, which is most of what the default checks are")
    print(result_files.write("call_overhead", {"calls_in_a_burst": _CALLS_IN_A_BURST, "cases": measured}))


def _in_a_process_of_its_own(release: str, level: str, rounds: int) -> dict[str, dict[str, float]]:
    from stub_wheels import build_wheel, variant

    with tempfile.TemporaryDirectory() as folder:
        with zipfile.ZipFile(build_wheel(variant(release), Path(folder) / "wheel")) as wheel:
            wheel.extractall(Path(folder) / "site")
        command = [sys.executable, "-m", "benchmarks.call_overhead", "--site", str(Path(folder) / "site")]
        environment = os.environ | {"AITER_COMPAT_CHECKS": level}
        done = subprocess.run(
            [*command, "--rounds", str(rounds)], check=True, capture_output=True, text=True, env=environment
        )
    times: dict[str, dict[str, float]] = json.loads(done.stdout)
    return times


def _measure(site: Path, rounds: int) -> dict[str, dict[str, float]]:
    """Times of each way to call, in this process."""
    sys.path.insert(0, str(site))
    import aiter.fused_moe as native
    import torch

    import aiter_compat as ac
    from aiter_compat.moe.run import run_request

    torch.set_num_threads(1)
    native.fused_moe = _returning_at_once(native.fused_moe)  # SGLang replaces it likewise
    given, weights, config = _layer(torch, ac)
    tokens, topk_weight, topk_ids = given["hidden_states"], given["topk_weight"], given["topk_ids"]
    w1, w2, w1_scale, w2_scale = given["w1"], given["w2"], given["w1_scale"], given["w2_scale"]
    bias1, bias2, dtype = given["bias1"], given["bias2"], torch.bfloat16
    swiglu, per_1x32 = ac.ActivationType.Swiglu, ac.QuantType.per_1x32
    tensors = list(given.values())

    # keywords written out, as a host does: making a dictionary of them would be part of what is timed
    def direct() -> object:
        return native.fused_moe(
            tokens,
            w1,
            w2,
            topk_weight,
            topk_ids,
            activation=swiglu,
            quant_type=per_1x32,
            w1_scale=w1_scale,
            w2_scale=w2_scale,
            dtype=dtype,
            hidden_pad=0,
            intermediate_pad=0,
            bias1=bias1,
            bias2=bias2,
            gate_mode="interleave",
        )

    def fused_moe() -> object:
        return ac.fused_moe(
            tokens,
            w1,
            w2,
            topk_weight,
            topk_ids,
            activation=swiglu,
            quant_type=per_1x32,
            w1_scale=w1_scale,
            w2_scale=w2_scale,
            dtype=dtype,
            hidden_pad=0,
            intermediate_pad=0,
            bias1=bias1,
            bias2=bias2,
            gate_mode="interleave",
            backend="aiter",
        )

    def fused_experts() -> object:
        return ac.fused_experts(tokens, weights, topk_weight, topk_ids, config=config, backend="aiter")

    def reading() -> None:
        for tensor in tensors:
            tensor.shape, tensor.dtype, tensor.device  # noqa: B018 - the reading is what is timed

    def emulated() -> object:
        return ac.fused_moe(**small, backend="torch")

    small, request = _small_layer(torch, ac)
    measured = {
        call.__name__: _compare(direct, call, reading, rounds, _CALLS_IN_A_BURST) for call in (fused_moe, fused_experts)
    }
    ready = functools.partial(run_request, "torch", request)
    return measured | {"emulated": _compare(ready, emulated, reading, rounds // 3, _CALLS_IN_A_BURST // 10)}


def _compare(
    direct: Callable[[], object],
    through: Callable[[], object],
    reading: Callable[[], object],
    rounds: int,
    burst: int,
) -> dict[str, float]:
    rows = []
    first = _seconds(through, 1)
    for call in (direct, through, reading):
        _seconds(call, burst)
    for _ in range(rounds):
        rows.append([_seconds(call, burst) * 1e6 for call in (direct, through, reading)])
    plain, wrapped, read = zip(*rows, strict=True)
    added = [ours - theirs for theirs, ours in zip(plain, wrapped, strict=True)]
    low, _, high = statistics.quantiles(added, n=4, method="inclusive")
    return {
        "direct_us": statistics.median(plain),
        "added_us": statistics.median(added),
        "added_lower_quartile_us": low,
        "added_upper_quartile_us": high,
        "fastest_direct_us": min(plain),
        "fastest_added_us": min(wrapped) - min(plain),
        "reading_us": statistics.median(read),
        "first_us": first * 1e6,
        "rounds": rounds,
    }


def _seconds(call: Callable[[], object], times: int) -> float:
    """Of one call, from a burst."""
    turns = itertools.repeat(None, times)
    start = time.thread_time()
    for _ in turns:
        call()
    return (time.thread_time() - start) / times


def _layer(torch: Any, ac: Any) -> tuple[dict[str, Any], Any, Any]:
    """gpt-oss in small, in AITER's layout, one token: nine tensors."""
    sizes = {"hidden_size": 256, "intermediate_size": 256, "num_experts": 4, "top_k": 2}
    config = ac.MoEConfig(**sizes, activation="swigluoai")
    stored = [ac.quantize(torch.randn(4, rows, 256), "mxfp4") for rows in (512, 256)]
    biases = {"bias1": torch.zeros(4, 512), "bias2": torch.zeros(4, 256)}
    codes, scales = zip(*((one.codes, one.scales) for one in stored), strict=True)
    weights = ac.prepare_weights(*codes, *scales, config=config, **biases, backend="aiter")
    names = ("w1", "w2", "w1_scale", "w2_scale", "bias1", "bias2")
    given = {
        "hidden_states": torch.randn(1, 256).bfloat16(),
        "topk_weight": torch.rand(1, 2),
        "topk_ids": torch.tensor([[0, 3]], dtype=torch.int32),
    }
    return given | {name: getattr(weights, name) for name in names}, weights, config


def _small_layer(torch: Any, ac: Any) -> tuple[dict[str, Any], Any]:
    """A call that takes the emulation as little time as possible, and the request that it comes to."""
    from aiter_compat.backends.emulation import ActivationSpec, EmulationRequest

    tensors = {
        "hidden_states": torch.randn(1, 32).bfloat16(),
        "w1": torch.randn(2, 64, 32).bfloat16(),
        "w2": torch.randn(2, 32, 32).bfloat16(),
        "topk_weight": torch.ones(1, 1),
        "topk_ids": torch.zeros(1, 1, dtype=torch.int32),
    }
    request = EmulationRequest(
        **tensors,
        activation=ActivationSpec("silu"),
        quant_type="no",
        weight_format="unquantised",
        qdq_first="none",
        qdq_second="none",
        profile=ac.numerics(),
        out_dtype=torch.bfloat16,
    )
    return tensors, request


def _returning_at_once(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of the same signature that gives its first argument back."""
    signature = inspect.signature(function)
    defaults = {name: one.default for name, one in signature.parameters.items()}
    listed = [
        name if one.default is one.empty else f"{name}=defaults[{name!r}]" for name, one in signature.parameters.items()
    ]
    namespace: dict[str, Any] = {"defaults": defaults}
    exec(f"def fused_moe({', '.join(listed)}):\n    return {listed[0]}\n", namespace)
    made: Callable[..., Any] = namespace["fused_moe"]
    return made


if __name__ == "__main__":
    main()
