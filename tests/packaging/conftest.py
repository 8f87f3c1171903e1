"""The project built as a user's installer builds it: a source distribution, and from that a wheel."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SOURCES = (
    "aiter_compat",
    "conformance",
    "migrations",
    "stub_wheels",
    "tests",
    "pyproject.toml",
    "README.md",
    "LICENSE",
    "CHANGELOG.md",
)


@pytest.fixture(scope="session")
def root() -> Path:
    return ROOT


@pytest.fixture(scope="session")
def distributions(tmp_path_factory) -> Path:
    """Folder with one sdist and the wheel made from it, built in a copy so that the checkout stays clean."""
    copy = tmp_path_factory.mktemp("project")
    ignored = shutil.ignore_patterns("__pycache__", "*.pyc", ".*", "golden")
    for name in SOURCES:
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, copy / name, ignore=ignored)
        else:
            shutil.copy(source, copy / name)
    built = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(built), str(copy)]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stdout + run.stderr
    return built


@pytest.fixture(scope="session")
def wheel(distributions) -> Path:
    [path] = distributions.glob("*.whl")
    return path


@pytest.fixture(scope="session")
def installed(wheel, tmp_path_factory) -> Path:
    """Folder with the wheel's content, as `pip install --target` leaves it."""
    folder = tmp_path_factory.mktemp("site")
    command = [
        sys.executable,
        "-m",
        "pip",
        "install",
        "-q",
        "--no-index",
        "--no-deps",
        "--target",
        str(folder),
        str(wheel),
    ]
    subprocess.run(command, check=True)
    return folder
