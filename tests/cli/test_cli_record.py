"""`aiter-compat record`: both records of a source, and the differences between two releases."""

from __future__ import annotations

import json

import pytest

from aiter_compat.cli.main import main

FILES = {
    "aiter/__init__.py": "raise AssertionError('executed')\n",
    "aiter/fused_moe.py": "def fused_moe(hidden_states): ...\n",
    "aiter/ops/enum.py": "ActivationType = type(_ActivationType(0))\nQuantType = type(_QuantType(0))\n",
    "csrc/include/aiter_enum.h": "enum class ActivationType : int { No }; enum class QuantType : int { No };",
}


@pytest.fixture
def checkout(tmp_path):
    for name, text in FILES.items():
        path = tmp_path / "checkout" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return tmp_path / "checkout"


def test_both_records_are_written(checkout, tmp_path, capsys):
    assert main(["record", str(checkout), "--as", "0.1.30", "--output", str(tmp_path / "out")]) == 0
    small = json.loads((tmp_path / "out" / "0.1.30.json").read_text(encoding="utf-8"))
    whole = json.loads((tmp_path / "out" / "symbols" / "0.1.30.json").read_text(encoding="utf-8"))
    assert "aiter.fused_moe.fused_moe" in small["symbols"]
    assert whole["modules"]["aiter.fused_moe"] == {"fused_moe": "(hidden_states)"}
    printed = capsys.readouterr()
    assert printed.out == ""
    assert "recorded v0.1.30" in printed.err


def test_without_output_the_small_record_is_printed(checkout, capsys):
    assert main(["record", str(checkout), "--as", "0.1.30"]) == 0
    assert json.loads(capsys.readouterr().out)["release"] == "0.1.30"


def test_differences_are_printed(capsys):
    assert main(["record", "--diff", "0.1.13.post1", "0.1.14"]) == 0
    text = capsys.readouterr().out
    assert "from v0.1.13.post1 to v0.1.14," in text  # that very release, not its last post
    assert 'detail="aiter.ops.flydsl.moe_common.GateMode"' in text


@pytest.mark.parametrize("arguments", [[], ["somewhere", "--diff", "0.1.13", "0.1.14"]])
def test_source_or_differences(arguments, capsys):
    with pytest.raises(SystemExit) as stop:
        main(["record", *arguments])
    assert stop.value.code == 2
    assert "a source, or --diff" in capsys.readouterr().err


def test_unknown_release_is_one_line(capsys):
    assert main(["record", "--diff", "0.1.13", "9.9"]) == 2
    assert "AITER 9.9 are not recorded" in capsys.readouterr().err
