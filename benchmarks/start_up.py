"""What a process pays before it computes: import, detection, the static probe, and loading the compiled kernels.

    python -m benchmarks.start_up [--repeats 15]

Every number is from a fresh interpreter. The difference to bare Python is what counts for the import; detection and
probe are timed inside the process, once cold and once more.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks import result_files
from benchmarks.timing import Samples

_TIMED = """
import json, time
{prepare}
start = time.perf_counter(); {work}; first = time.perf_counter() - start
start = time.perf_counter(); {work}; again = time.perf_counter() - start
print(json.dumps([first, again]))
"""
_PROGRAMS = {
    "bare Python": "pass",
    "import aiter_compat": "import aiter_compat, sys; assert 'torch' not in sys.modules",
}
_PARTS = {
    "detection": ("from aiter_compat.detect import installation", "installation()"),
    "probe of the whole surface": (
        "from aiter_compat.detect import installation; from aiter_compat.features import active_surface; "
        "installation()",
        "active_surface()",
    ),
    "loading the compiled kernels": ("from aiter_compat.backends.emulation import warm_up", "warm_up()"),
}
_STUB = "0.1.15.post3"


def main() -> None:
    """Measure, print, store."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=15)
    repeats = parser.parse_args().repeats
    with tempfile.TemporaryDirectory() as folder:
        site = _stub_of_aiter(Path(folder))
        programs: dict[str, list[float]] = {name: [] for name in _PROGRAMS}
        parts: dict[str, list[tuple[float, float]]] = {name: [] for name in _PARTS}
        for _ in range(repeats):
            for name, code in _PROGRAMS.items():
                start = time.perf_counter()
                subprocess.run([sys.executable, "-c", code], check=True)
                programs[name].append(time.perf_counter() - start)
            for name, (prepare, work) in _PARTS.items():
                if len(parts[name]) < (repeats if "compiled" not in name else 3):
                    parts[name].append(_timed(prepare, work, site))
    measured: dict[str, Any] = {name: Samples(tuple(seconds)).as_dict() for name, seconds in programs.items()}
    for name, pairs in parts.items():
        measured[f"{name}, cold"] = Samples(tuple(first for first, _ in pairs)).as_dict()
        measured[f"{name}, again"] = Samples(tuple(again for _, again in pairs)).as_dict()
    print(f"{'':38}{'median ms':>11}{'quartiles':>20}")
    for name, times in measured.items():
        spread = f"{times['lower_quartile_ms']:.3f} - {times['upper_quartile_ms']:.3f}"
        print(f"{name:38}{times['median_ms']:>11.3f}{spread:>20}")
    added = measured["import aiter_compat"]["median_ms"] - measured["bare Python"]["median_ms"]
    print(f"import adds {added:.1f} ms to bare Python")
    print(result_files.write("start_up", {"times": measured, "import_adds_ms": added}))


def _timed(prepare: str, work: str, site: Path) -> tuple[float, float]:
    code = f"import sys; sys.path.insert(0, {str(site)!r})\n" + _TIMED.format(prepare=prepare, work=work)
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    first, again = json.loads(done.stdout)
    return first, again


def _stub_of_aiter(folder: Path) -> Path:
    """A site folder that holds a stub of AITER, with the files that detection and probe read."""
    import zipfile

    from stub_wheels import build_wheel, variant

    site = folder / "site"
    with zipfile.ZipFile(build_wheel(variant(_STUB), folder)) as wheel:
        wheel.extractall(site)
    return site


if __name__ == "__main__":
    main()
