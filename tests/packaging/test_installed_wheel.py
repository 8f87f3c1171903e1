"""The installed wheel works with the checkout out of reach."""

import json
import os
import subprocess
import sys


def run(installed, program: str) -> str:
    environment = {key: value for key, value in os.environ.items() if not key.startswith("AITER_COMPAT_")}
    environment |= {"PYTHONPATH": str(installed), "PYTHONSAFEPATH": "1"}
    command = [sys.executable, "-P", "-W", "error", "-c", program] if sys.version_info >= (3, 11) else []
    command = command or [sys.executable, "-W", "error", "-c", program]
    done = subprocess.run(command, env=environment, cwd=installed, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_importing_it_imports_no_host_and_no_torch(installed):
    program = (
        "import sys, aiter_compat\n"
        "assert not {'torch', 'aiter', 'transformers'} & set(sys.modules)\n"
        "print(aiter_compat.__file__)\n"
    )
    assert run(installed, program).startswith(str(installed))


def test_records_are_read_from_the_wheel(installed):
    program = (
        "import json\nfrom aiter_compat.releases import recorded_releases\nprint(json.dumps(recorded_releases()))\n"
    )
    assert {"0.1.13.post1", "0.1.14", "0.1.15.post3"} <= set(json.loads(run(installed, program)))


def test_migrations_are_found_as_resources(installed):
    program = (
        "from importlib.resources import files\n"
        "print(sorted(entry.name for entry in files('aiter_compat.migrations').iterdir()))\n"
        "import importlib.util\n"
        "assert importlib.util.find_spec('migrations') is None\n"
        "assert importlib.util.find_spec('stub_wheels') is None\n"
        "assert importlib.util.find_spec('conformance') is None\n"
    )
    assert "__init__.py" in run(installed, program)


def test_doctor_runs_as_a_module(installed):
    program = "import runpy, sys; sys.argv = ['aiter-compat', 'doctor', '--json']; runpy.run_module('aiter_compat')"
    out = run(installed, f"import contextlib\nwith contextlib.suppress(SystemExit):\n    {program}")
    assert json.loads(out)["schema"] >= 1


def test_a_call_computes(installed):
    program = (
        "import torch, aiter_compat as ac\n"
        "w1, w2 = torch.ones(2, 64, 32).bfloat16(), torch.ones(2, 32, 32).bfloat16()\n"
        "ids = torch.tensor([[0, 1]], dtype=torch.int32)\n"
        "out = ac.fused_moe(torch.zeros(1, 32).bfloat16(), w1, w2, torch.ones(1, 2), ids)\n"
        "assert out.shape == (1, 32) and not out.any()\n"
    )
    run(installed, program)
