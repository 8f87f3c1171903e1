"""Hosts of a few lines."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from aiter_compat.hostscan import HostScan, scan


@pytest.fixture
def write_host(tmp_path: Path) -> Callable[[Mapping[str, str] | str], Path]:
    """Write files (name -> text), or one file host.py, and return their folder."""

    def write(files: Mapping[str, str] | str) -> Path:
        root = tmp_path / "host"
        for name, text in ({"host.py": files} if isinstance(files, str) else files).items():
            path = root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(textwrap.dedent(text), encoding="utf-8")
        return root

    return write


@pytest.fixture
def scan_host(write_host) -> Callable[[Mapping[str, str] | str], HostScan]:
    return lambda files: scan(str(write_host(files)))
