"""A remembered surface is read anew as soon as anything that it was read from changes, comes or goes."""

from __future__ import annotations

import os
import shutil
import time
import zipfile
from pathlib import Path

import pytest

from aiter_compat.probe import probe, surface_of
from aiter_compat.probe.freshness import Freshness

FUSED_MOE = "aiter.fused_moe.fused_moe"
COMMON = "aiter.ops.flydsl.moe_common.GateMode"
ENUM = 'from enum import Enum\nclass GateMode(str, Enum):\n    SEPARATED = "separated"\n'


def rest(path: Path | str) -> None:
    """Let everything below a folder look as if it had been written an hour ago."""
    hour_ago = time.time() - 3600
    for folder, _, names in os.walk(path):
        for name in ("", *names):
            os.utime(os.path.join(folder, name), (hour_ago, hour_ago))


@pytest.fixture
def location(write_aiter) -> Path:
    location = Path(write_aiter({"fused_moe.py": "def fused_moe(a): ...\n"}))
    rest(location.parent)
    return location


@pytest.fixture
def reads(monkeypatch) -> list[str]:
    """Locations that were read, not remembered."""
    made: list[str] = []
    original = surface_of._read
    monkeypatch.setattr(surface_of, "_read", lambda location: made.append(location) or original(location))
    return made


def parameters(location: Path) -> list[str]:
    return [parameter.name for parameter in probe(str(location)).parameters(FUSED_MOE)]


def test_what_is_at_rest_is_read_once(location, reads):
    assert probe(str(location)) is probe(str(location))
    assert len(reads) == 1


def test_a_changed_file(location):
    assert parameters(location) == ["a"]
    (location / "fused_moe.py").write_text("def fused_moe(b): ...\n")
    assert parameters(location) == ["b"]


def test_a_file_put_in_the_place_of_another_with_the_same_size_and_time(location, tmp_path):
    assert parameters(location) == ["a"]
    before = (location / "fused_moe.py").stat()
    other = tmp_path / "fused_moe.py"
    other.write_text("def fused_moe(b): ...\n")
    os.utime(other, ns=(before.st_atime_ns, before.st_mtime_ns))
    other.replace(location / "fused_moe.py")
    surface_of._parts.clear()  # what single files told is remembered by size and time alone
    assert parameters(location) == ["b"]


@pytest.mark.parametrize("deeper", [False, True], ids=["in a folder that is there", "with its folder"])
def test_a_file_that_comes_and_goes(location, deeper):
    file = location / "ops" / "flydsl" / "moe_common.py"
    if not deeper:
        file.parent.mkdir(parents=True)
        rest(location)
    assert not probe(str(location)).has(COMMON)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(ENUM)
    assert probe(str(location)).has(COMMON)
    rest(location)
    assert probe(str(location)).has(COMMON)
    file.unlink()
    assert not probe(str(location)).has(COMMON)


def test_a_header_that_changes(location):
    header = location.parent / "csrc" / "include" / "aiter_enum.h"
    assert "Situv2" not in probe(str(location)).members("aiter.ops.enum.ActivationType")
    header.write_text(header.read_text().replace("Swiglu = 2,", "Swiglu = 2, Situv2 = 3,"))
    assert probe(str(location)).members("aiter.ops.enum.ActivationType")["Situv2"] == 3


def test_an_installation_that_goes(location):
    assert parameters(location) == ["a"]
    shutil.rmtree(location)
    assert not probe(str(location)).symbols


def test_an_archive_that_is_replaced(location, tmp_path, reads):
    archive = tmp_path / "site.zip"

    def pack() -> Path:
        with zipfile.ZipFile(archive, "w") as file:
            for path in location.parent.rglob("*.*"):
                file.write(path, path.relative_to(location.parent))
        rest(tmp_path)
        return archive / "aiter"

    inside = pack()
    assert parameters(inside) == parameters(inside) == ["a"]
    assert len(reads) == 1
    (location / "fused_moe.py").write_text("def fused_moe(a, b): ...\n")
    pack()
    assert parameters(inside) == ["a", "b"]


def test_what_was_written_just_now_is_not_relied_on(location, reads):
    """A second change within the same tick of the file system's clock would not show."""
    soon = time.time() + 3600
    os.utime(location / "fused_moe.py", (soon, soon))
    assert not Freshness.of([str(location / "fused_moe.py")]).settled
    parameters(location)
    parameters(location)
    assert len(reads) == 2


def test_the_folder_that_would_hold_a_missing_file_is_watched(tmp_path):
    state = Freshness.of([str(tmp_path / "aiter" / "ops" / "enum.py")])
    assert state.paths == (str(tmp_path),)
    (tmp_path / "aiter").mkdir()
    assert not state.holds()
