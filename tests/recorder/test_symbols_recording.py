"""Recording every module of a source, and writing it as the difference from the release before."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from aiter_compat.errors import InvalidArgument, RecordError
from aiter_compat.probe.module_names import signature_text
from aiter_compat.recorder import record_symbols, symbols_text, write_symbols
from aiter_compat.releases.symbol_records import symbol_record_of

TRAP = "raise AssertionError('executed')\n"
FILES = {
    "aiter/__init__.py": TRAP + "from .ops.mha import *\nfrom .ops.enum import QuantType\n",
    "aiter/fused_moe.py": "def fused_moe(x): ...\n",
    "aiter/ops/mha.py": "@compile_ops('module_mha')\ndef attend(q, k=None): ...\n",
    "aiter/ops/enum.py": "def _QuantType(dummy): ...\nQuantType = type(_QuantType(0))\n",
    "aiter/mx.py": "def _MxDtype(dummy): ...\ndef __getattr__(name):\n    if name == 'MxDtype':\n        return 1\n",
    "csrc/include/aiter_enum.h": "enum class QuantType : int { No, per_Tensor };",
    "csrc/include/mx_quant_utils.h": "enum class MxDtype : int { FP4 = 0 };",
}


def write(root: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text, encoding="utf-8")
    return root


@pytest.fixture
def checkout(tmp_path) -> Path:
    return write(tmp_path / "checkout", FILES)


def test_every_module_and_what_it_binds(checkout):
    recorded = record_symbols(checkout, "0.1.14", commit="c" * 40)
    assert (recorded.release, recorded.tag, recorded.commit) == ("0.1.14", "v0.1.14", "c" * 40)
    assert set(recorded.content) == {"aiter", "aiter.fused_moe", "aiter.mx", "aiter.ops.enum", "aiter.ops.mha"}
    assert signature_text(recorded.find("aiter.attend").parameters) == "(q, k=None)"
    assert recorded.find("aiter.QuantType").members == {"No": 0, "per_Tensor": 1}
    assert recorded.find("aiter.mx.MxDtype").members == {"FP4": 0}
    assert "aiter" not in sys.modules


def test_headers_of_a_wheel_lie_in_its_second_package(checkout):
    (checkout / "csrc").rename(checkout / "aiter_meta")
    (checkout / "aiter_meta").rename(checkout / "moved")
    (checkout / "aiter_meta").mkdir()
    (checkout / "moved").rename(checkout / "aiter_meta" / "csrc")
    assert record_symbols(checkout, "0.1.14").find("aiter.QuantType").members == {"No": 0, "per_Tensor": 1}


def test_enum_without_header_has_no_members(checkout):
    (checkout / "csrc/include/aiter_enum.h").unlink()
    assert record_symbols(checkout, "0.1.14").find("aiter.QuantType").members is None


def test_module_that_cannot_be_parsed_is_named(checkout):
    write(checkout, {"aiter/ops/bad.py": "def broken(:\n"})
    with pytest.raises(RecordError, match=r"bad\.py cannot be recorded"):
        record_symbols(checkout, "0.1.14")


def test_release_must_be_stated(checkout):
    with pytest.raises(InvalidArgument, match="as_version"):
        record_symbols(checkout)


# --- writing -----------------------------------------------------------------------------------------------------


@pytest.fixture
def releases(checkout):
    """0.1.14, and what followed: a function with another parameter, a module gone, one new."""
    first = record_symbols(checkout, "0.1.14")
    (checkout / "aiter/mx.py").unlink()
    write(checkout, {"aiter/ops/mha.py": "def attend(q, v=None): ...\n", "aiter/new.py": ""})
    second = record_symbols(checkout, "0.1.15")
    write(checkout, {"aiter/new.py": "def more(): ...\n"})
    return first, second, record_symbols(checkout, "0.1.16")


def read(folder: Path, release: str):
    return json.loads((folder / f"{release}.json").read_text(encoding="utf-8"))


def test_only_differences_are_written(releases, tmp_path):
    for record in releases:
        write_symbols(record, tmp_path)
    assert read(tmp_path, "0.1.14")["base"] is None
    later = read(tmp_path, "0.1.15")
    assert later["base"] == "0.1.14"
    assert later["modules"] == {
        "aiter.mx": None,
        "aiter.new": {},
        "aiter.ops.mha": {"attend": "(q, v=None)"},
    }
    base = symbol_record_of(read(tmp_path, "0.1.14"), None)
    assert symbol_record_of(later, base).content == releases[1].content


def test_release_recorded_late_takes_its_place(releases, tmp_path):
    first, second, third = releases
    expected = tmp_path / "expected"
    for record in releases:
        write_symbols(record, expected)
    for record in (first, third, second):
        write_symbols(record, tmp_path / "late")
    for release in ("0.1.14", "0.1.15", "0.1.16"):
        assert read(tmp_path / "late", release) == read(expected, release)


def test_same_record_gives_the_same_bytes(releases, tmp_path):
    path = write_symbols(releases[0], tmp_path)
    content = path.read_bytes()
    assert write_symbols(releases[0], tmp_path).read_bytes() == content
    assert content.decode() == symbols_text(releases[0])
    assert content.endswith(b"}\n")
    assert b"\r" not in content


@pytest.mark.parametrize(
    ("text", "told"),
    [("{", "not JSON"), ('{"schema": 1, "base": "0.1.2", "modules": {}}', r"base 0\.1\.2 is not there")],
)
def test_unreadable_neighbour_is_told(releases, tmp_path, text, told):
    (tmp_path / "0.1.13.json").write_text(text)
    with pytest.raises(RecordError, match=told):
        write_symbols(releases[0], tmp_path)
