"""Prove `aiter-compat migrate --to shim` on the sources of real hosts.

    pip download --no-deps vllm==0.33.0 sglang==0.5.23    # then unzip each into a folder of its own
    python -m verification.host_rewrites path/to/vllm_folder path/to/sglang_folder

For each tree, in a copy:

1. every changed file still compiles, and nothing but the edits changed: each changed line names AITER or aiter_compat;
2. `ruff check --select F` finds no undefined or unused name that it did not find before;
3. a second run changes nothing;
4. the MoE modules, imported with the rest of the host faked, call `aiter_compat.fused_moe` with the arguments with
   which they called AITER's before, on a stub of the newest recorded AITER;
5. and on a stub of v0.1.13.post1, where most of the host's own modules fail, they make the very same calls.

Needs this repository installed (`pip install -e '.[torch,migrate]'`) and ruff. Exit code 0 when all of it holds.
"""

from __future__ import annotations

import contextlib
import difflib
import io
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
NEWEST, OLDEST = "0.1.20.post1", "0.1.13.post1"
Calls = dict[str, dict[str, Any]]


def main(trees: list[Path]) -> int:
    """Run every step on every tree; the number of those that failed."""
    failures = 0
    for tree in trees:
        with tempfile.TemporaryDirectory() as folder:
            copy = Path(folder) / "after"
            shutil.copytree(tree, copy, ignore=_all_but_python)
            failures += _verify(tree, copy)
    print("all of it holds" if not failures else f"{failures} steps failed")
    return min(failures, 1)


def _verify(before: Path, after: Path) -> int:
    out = _migrate(after)
    changed = [line.partition(":")[0] for line in out.splitlines()]
    print(f"{before.name}: {len(changed)} files changed")
    again = _migrate(after)
    oldest = _calls(before, OLDEST)
    found_before, found_after = _calls(before, NEWEST), _calls(after, NEWEST)
    found_oldest = _calls(after, OLDEST)
    steps = {
        "compiles": [name for name in changed if not _compiles(after / name)],
        "changed lines name aiter": [line for name in changed for line in _strange_lines(before / name, after / name)],
        "no new finding of ruff F": _new_findings(before, after, changed),
        "a second run changes nothing": again.splitlines(),
        "the same calls": _different(found_before, found_after),
        f"the same calls on v{OLDEST}": _different(
            {case: found for case, found in found_before.items() if not _is_refused(found_oldest[case])}, found_oldest
        ),
    }
    for step, problems in steps.items():
        print(f"  {'FAILED' if problems else 'ok'}: {step}")
        for problem in problems:
            print(f"    {problem[:600]}")
    cases = sum(len(one["aiter"]) for one in found_before.values())
    alone = sum(not _is_refused(one) and one["error"] is not None for one in oldest.values())
    print(f"  {cases} calls compared; the host as it was fails in {alone} cases on v{OLDEST}")
    return sum(bool(problems) for problems in steps.values())


def _migrate(tree: Path) -> str:
    command = [sys.executable, "-m", "aiter_compat", "migrate", ".", "--to", "shim", "--write"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tree)
    if done.returncode not in (0, 1) or "Traceback" in done.stderr:
        sys.exit(done.stderr)
    return done.stdout


def _compiles(path: Path) -> bool:
    with contextlib.suppress(SyntaxError):
        compile(path.read_bytes(), str(path), "exec")
        return True
    return False


def _strange_lines(before: Path, after: Path) -> list[str]:
    """Changed lines that have nothing to do with an import of AITER, or with what came from it."""
    old, new = (path.read_bytes().decode("latin-1").splitlines(keepends=True) for path in (before, after))
    changed = [line for line in difflib.ndiff(old, new) if line.startswith(("+ ", "- "))]
    return [f"{after.name}: {line!r}" for line in changed if "aiter" not in line]


def _new_findings(before: Path, after: Path, files: list[str]) -> list[str]:
    return sorted((Counter(_ruff(after, files)) - Counter(_ruff(before, files))).elements())


def _ruff(tree: Path, files: list[str]) -> list[str]:
    command = [sys.executable, "-m", "ruff", "check", "--isolated", "--no-cache", "--select", "F"]
    command += ["--output-format", "json", *files]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tree)
    if done.returncode not in (0, 1):
        sys.exit(done.stderr)
    where = str(tree.resolve()) + os.sep
    return [f"{one['filename'].removeprefix(where)}: {one['code']} {one['message']}" for one in json.loads(done.stdout)]


def _calls(tree: Path, release: str) -> Calls:
    command = [sys.executable, "-m", "verification.host_calls", str(tree), release]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)
    if done.returncode:
        sys.exit(done.stderr)
    found: Calls = json.load(io.StringIO(done.stdout))
    return found


def _different(before: Calls, after: Calls) -> list[str]:
    """Cases in which the rewritten module does not pass to aiter_compat what the original passed to AITER."""
    problems = []
    for case, original in before.items():
        rewritten = after[case]
        if not original["aiter"] or original["error"]:
            problems.append(f"{case}: the original makes no call: {original['error']}")
        elif rewritten["error"] or rewritten["aiter"] or rewritten["aiter_compat"] != original["aiter"]:
            problems.append(f"{case}: {original['aiter']} became {rewritten}")
    return problems


def _is_refused(found: dict[str, Any]) -> bool:
    """Whether the host itself declines the case: SiTU, which the enum of an AITER before v0.1.19 does not have."""
    error = found["error"] or ""
    unnamed = any("???" in text for call in found["aiter"] + found["aiter_compat"] for text in call["positional"])
    return (
        unnamed
        or "AITER does not support activation: MoEActivation.SITU" in error
        or "has no attribute 'Situv2'" in error
    )


def _all_but_python(folder: str, names: list[str]) -> list[str]:
    return [name for name in names if not name.endswith(".py") and not os.path.isdir(os.path.join(folder, name))]


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    sys.exit(main([Path(argument).resolve() for argument in sys.argv[1:]]))
