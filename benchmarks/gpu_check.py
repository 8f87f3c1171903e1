"""Hold the Triton path to the torch path and to fp64 in every kind of call; a table with one line a group.

    python -m benchmarks.gpu_check [--groups activations routing ...] [--jobs 8] [--verbose]

Each group is a process of its own: they compile their kernels side by side, and one that breaks the device's context
breaks no other. The exit code is 1 when a case fails. A call that the path, or the form asked for by --path,
refuses is counted, and with --strict it is a failure.
"""

from __future__ import annotations

import argparse
import functools
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed

import torch

from aiter_compat.backends.emulation import run
from benchmarks.gpu_cases import cases, compiled_calls, execution, public_calls
from benchmarks.gpu_cases.comparison import LIMIT, Outcome, Path, compare

_PUBLIC = {**public_calls.GROUPS, **compiled_calls.GROUPS}
GROUPS = (*cases.GROUPS, *execution.GROUPS, *_PUBLIC)
_NEED_GPU = (*execution.GROUPS, *_PUBLIC)
_HEADER = f"{'group':22}{'cases':>7}{'refused':>9}{'to fp64':>11}{'to torch':>11}{'seconds':>9}  result"


def main() -> int:
    """Run the groups. Returns the exit code."""
    options = _options()
    groups = [name for name in options.groups if options.device != "cpu" or name not in _NEED_GPU]
    if len(groups) == 1:
        if not options.quiet:
            print(_HEADER)
        return _one_group(groups[0], options)
    started = time.perf_counter()
    print(f"relative errors up to {LIMIT:.1e} pass\n{_HEADER}", flush=True)
    with ThreadPoolExecutor(options.jobs) as pool:
        waiting = [pool.submit(_in_a_process, name, options) for name in groups]
        codes = []
        for done in as_completed(waiting):
            code, text = done.result()
            codes.append(code)
            print(text, flush=True)
    failed = sum(code != 0 for code in codes)
    print(f"{len(groups) - failed} of {len(groups)} groups pass, {time.perf_counter() - started:.0f} s")
    return int(failed > 0)


def _in_a_process(name: str, options: argparse.Namespace) -> tuple[int, str]:
    command = [sys.executable, "-m", "benchmarks.gpu_check", "--groups", name, "--quiet"]
    command += ["--device", options.device, "--path", options.path, "--largest", str(options.largest)]
    command += [flag for flag in ("--verbose", "--strict") if getattr(options, flag[2:])]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=options.timeout, check=False)
    except subprocess.TimeoutExpired:
        return 1, f"{name:22} FAILED: not done after {options.timeout} s"
    text = done.stdout.rstrip()
    if done.returncode not in (0, 1) or not text:
        return 1, f"{text}\n{name:22} FAILED: exit code {done.returncode}\n{done.stderr[-1500:]}"
    return done.returncode, text


def _one_group(name: str, options: argparse.Namespace) -> int:
    started = time.perf_counter()
    outcomes = list(_outcomes(name, options))
    refused = [outcome for outcome in outcomes if outcome.refused is not None]
    failed = [outcome for outcome in outcomes if outcome.problem is not None]
    if options.strict:
        failed += refused
    errors = (_worst(outcome.to_fp64 for outcome in outcomes), _worst(outcome.to_torch for outcome in outcomes))
    print(
        f"{name:22}{len(outcomes):>7}{len(refused):>9}{errors[0]:>11}{errors[1]:>11}"
        f"{time.perf_counter() - started:>9.1f}  {'FAILED' if failed else 'passed'}"
    )
    for outcome in failed:
        print(f"    {outcome.label}: {outcome.problem or outcome.refused}")
    if options.verbose:
        for outcome in outcomes:
            print(
                f"    {outcome.label}: {outcome.to_fp64} to fp64, {outcome.to_torch} to torch, {outcome.refused or ''}"
            )
    return int(bool(failed))


def _outcomes(name: str, options: argparse.Namespace) -> Iterator[Outcome]:
    device, path = torch.device(options.device), _path(options.path)
    if name in execution.GROUPS:
        yield from execution.GROUPS[name](path, device)
        return
    if name in _PUBLIC:
        yield from _PUBLIC[name](device)
        return
    for case in cases.GROUPS[name](device):
        if case.request.hidden_states.numel() <= options.largest:
            yield compare(case, path)


def _path(name: str) -> Path:
    if name == "torch":
        return run
    from aiter_compat.backends.emulation.triton_path import run_triton

    if name == "triton":
        return run_triton
    return functools.partial(run_triton, form=name)


def _worst(errors: Iterator[float | None]) -> str:
    known = [error for error in errors if error is not None]
    return f"{max(known):.1e}" if known else "-"


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--groups", nargs="+", default=list(GROUPS), choices=GROUPS)
    parser.add_argument("--jobs", type=int, default=8, help="groups at the same time")
    parser.add_argument("--timeout", type=float, default=240.0, help="seconds for a group")
    parser.add_argument("--device", default="cuda")
    parser.add_argument(
        "--path",
        default="triton",
        choices=("triton", "slots", "exact", "wide", "plain", "torch"),
        help="one form of the Triton path alone; or torch: what the limit leaves room for",
    )
    parser.add_argument(
        "--largest", type=int, default=1 << 30, help="leave out cases with more values in hidden_states"
    )
    parser.add_argument("--verbose", action="store_true", help="a line for each case")
    parser.add_argument("--strict", action="store_true", help="a refused call is a failure")
    parser.add_argument("--quiet", action="store_true", help="no header")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
