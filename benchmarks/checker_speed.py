"""How long `aiter-compat matrix` takes on a host's tree, and how much memory all its processes hold together.

    python -m benchmarks.checker_speed PATH/TO/unzipped/sglang [--jobs 2] [--repeats 3]

The tree is read for every recorded release, as the command does without `--releases`. Memory is the largest sum of the
resident sizes of the command and the processes that it starts, looked at every 50 ms; pages that they share count for
each of them. Linux only, since it reads /proc.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from benchmarks import result_files

_PROGRAM = """
import json, sys, time
from aiter_compat.checker.matrix import matrix
from aiter_compat.hostscan import scan
from aiter_compat.releases.symbol_records import symbol_releases

if __name__ == "__main__":
    start = time.perf_counter()
    found = scan(sys.argv[1], workers=int(sys.argv[2]))
    read = time.perf_counter()
    gaps = matrix(found, symbol_releases()).gaps
    done = time.perf_counter()
    print(json.dumps({"files": found.seen, "parsed": found.read, "releases": len(symbol_releases()), "gaps": len(gaps),
                      "reading_s": read - start, "comparing_s": done - read}))
"""
_LOOK_EVERY_S = 0.05


def main() -> None:
    """Measure, print, store."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("path", metavar="PATH", type=Path)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--repeats", type=int, default=3)
    arguments = parser.parse_args()
    runs = [_run(arguments.path, arguments.jobs) for _ in range(arguments.repeats)]
    measured: dict[str, Any] = {
        "tree": arguments.path.name,
        "jobs": arguments.jobs,
        **{name: runs[0][name] for name in ("files", "parsed", "releases", "gaps")},
        "seconds": [run["seconds"] for run in runs],
        "processor_seconds": [run["processor_seconds"] for run in runs],
        "memory_mib": max(run["memory_mib"] for run in runs),
        "runs": runs,
    }
    print(f"{measured['files']} files, {measured['parsed']} parsed, {measured['releases']} releases")
    print(f"median {statistics.median(measured['seconds']):.1f} s on {arguments.jobs} processes")
    print(f"processor time {statistics.median(measured['processor_seconds']):.1f} s, {measured['memory_mib']:.0f} MiB")
    print(result_files.write(f"checker_speed_{arguments.path.name}", measured))


def _run(path: Path, jobs: int) -> dict[str, Any]:
    start = time.perf_counter()
    before = _processor_seconds()
    with subprocess.Popen([sys.executable, "-c", _PROGRAM, str(path), str(jobs)], stdout=subprocess.PIPE) as process:
        most = 0
        while process.poll() is None:
            most = max(most, sum(map(_resident, _family(process.pid))))
            time.sleep(_LOOK_EVERY_S)
        output = process.stdout.read() if process.stdout is not None else b""
    if process.returncode:
        sys.exit(f"the program failed with exit code {process.returncode}")
    run: dict[str, Any] = json.loads(output)
    run["seconds"] = time.perf_counter() - start
    run["processor_seconds"] = _processor_seconds() - before
    run["memory_mib"] = most / 2**20
    return run


def _processor_seconds() -> float:
    import resource

    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _family(process: int) -> list[int]:
    """A process and everything that it started."""
    try:
        listed = Path(f"/proc/{process}/task/{process}/children").read_text(encoding="ascii").split()
    except OSError:  # it is gone
        return []
    return [process, *(one for child in listed for one in _family(int(child)))]


def _resident(process: int) -> int:
    """Resident bytes of a process; 0 when it is gone."""
    import os

    try:
        pages = Path(f"/proc/{process}/statm").read_text(encoding="ascii").split()[1]
    except (OSError, IndexError):
        return 0
    return int(pages) * os.sysconf("SC_PAGE_SIZE")


if __name__ == "__main__":
    main()
