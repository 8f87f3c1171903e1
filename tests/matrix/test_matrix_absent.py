"""Without AITER; and beside each stub that has no tox environment by default, in a folder and process of its own."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import aiter_compat as ac
from stub_wheels import build_wheel, factor, variant
from stub_wheels.factors import FOREIGN

HERE = Path(__file__).parent
FACTORS = (
    *("0112post2", "0120post1", "denies", "claims"),
    *("broken", "incompatible", "truncated", "keyerror", "exits", "namespace"),
)
"""Without an environment in the default list of tox: every kind of installation, and the newest release."""


def install(folder: Path, *what: str) -> None:
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", str(folder), *what]
    subprocess.run(command, check=True)


def run_factor(name: str, folder: Path) -> None:
    """This folder's tests for `name`, in a process that finds `folder` first."""
    environment = os.environ | {"TOX_AITER": name, "PYTHONPATH": str(folder), "PYTHONSAFEPATH": "1"}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(HERE)]
    run = subprocess.run(command, env=environment, cwd=HERE.parents[1], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stdout + run.stderr


def test_nothing_is_installed(plain_call):
    call, expected = plain_call
    assert ac.installation().kind == "absent"
    output = ac.fused_moe(**call).float()
    assert (output - expected).norm() / expected.norm() < 5e-3
    with pytest.raises(ac.AiterCompatError, match="not installed"):
        ac.fused_moe(**call, backend="aiter")


def test_aiter_compat_is_the_built_wheel():
    assert "site-packages" in ac.__file__


@pytest.mark.parametrize("name", FACTORS)
def test_stub_in_a_folder(tmp_path, name):
    wheel = build_wheel(variant(factor(name).stub), tmp_path / "wheel")
    install(tmp_path / "site", "--no-index", str(wheel))
    run_factor(name, tmp_path / "site")


def test_foreign_package_in_a_folder(tmp_path):
    install(tmp_path / "site", FOREIGN)
    run_factor("foreign", tmp_path / "site")
