"""`ac.locate`: where a symbol is, in the installed AITER and in recorded releases."""

from __future__ import annotations

import sys

import pytest

import aiter_compat as ac
from aiter_compat.symbols import finding

TRAP = "raise AssertionError('executed')\n"
# Paths of v0.1.10 and later, as small as the tests need.
FILES = {
    "aiter/__init__.py": TRAP + "from .ops.mha import *\n",
    "aiter/fused_moe.py": TRAP + "def fused_moe(x): ...\n",
    "aiter/jit/core.py": "",
    "aiter/ops/mha.py": "def flash_attn_varlen_func(q): ...\n",
    "aiter/ops/flydsl/moe_common.py": "class GateMode: ...\n",
    "aiter/ops/triton/__init__.py": TRAP,
    "aiter/ops/triton/moe/moe_routing/routing.py": "def routing(x): ...\n",
    "aiter/ops/quant.py": "def per_1x32_f4_quant_hip(x): ...\n",
}
OLD_ROUTING = "aiter.ops.triton.moe_routing.routing"
NEW_ROUTING = "aiter.ops.triton.moe.moe_routing.routing"
OLD_GATE_MODE = "aiter.ops.flydsl.kernels.mixed_moe_gemm_2stage.GateMode"
NEW_GATE_MODE = "aiter.ops.flydsl.moe_common.GateMode"


@pytest.mark.parametrize(
    ("symbol", "path"),
    [
        ("aiter.flash_attn_varlen_func", "aiter.ops.mha.flash_attn_varlen_func"),
        (OLD_ROUTING, NEW_ROUTING),
        (NEW_ROUTING, NEW_ROUTING),
        (f"{OLD_ROUTING}.routing", f"{NEW_ROUTING}.routing"),
        (OLD_GATE_MODE, NEW_GATE_MODE),
        ("aiter.fused_moe", "aiter.fused_moe"),
        ("aiter", "aiter"),
        ("aiter.per_1x32_f4_quant_hip", "aiter.ops.quant.per_1x32_f4_quant_hip"),  # there, but not re-exported here
        ("aiter.fused_qk_rmsnorm", None),
        ("aiter.ops.nothing.at_all", None),
    ],
)
def test_installed(fake_site, symbol, path):
    fake_site(FILES)
    assert ac.locate(symbol) == path
    assert not [name for name in sys.modules if name.partition(".")[0] == "aiter"]


def test_old_installation_is_searched_for_newer_paths_too(fake_site):
    old = {name: text for name, text in FILES.items() if "moe_common" not in name and "routing" not in name}
    old["aiter/ops/triton/moe_routing/routing.py"] = "def routing(x): ...\n"
    old["aiter/ops/flydsl/kernels/mixed_moe_gemm_2stage.py"] = "class GateMode: ...\n"
    fake_site(old)
    assert ac.locate(NEW_ROUTING) == OLD_ROUTING
    assert ac.locate(NEW_GATE_MODE) == OLD_GATE_MODE


def test_newest_of_several_paths(fake_site):
    fake_site({**FILES, "aiter/ops/flydsl/kernels/mixed_moe_gemm_2stage.py": "class GateMode: ...\n"})
    assert ac.locate(OLD_GATE_MODE) == NEW_GATE_MODE


def test_without_aiter_nothing_is_installed(without_aiter):
    assert ac.locate(NEW_ROUTING) is None
    assert ac.locate(NEW_ROUTING, release="0.1.14") == NEW_ROUTING


def test_foreign_package_has_no_symbol_of_aiter(fake_site):
    fake_site({"aiter/__init__.py": "def fused_moe(): ...\n", "aiter/azip.py": ""})
    assert ac.installation().kind == "foreign"
    assert ac.locate("aiter.fused_moe") is None


def test_files_are_read_once_until_refresh(fake_site, monkeypatch):
    site = fake_site(FILES)
    searches = []
    original = finding.search_in
    monkeypatch.setattr(
        finding, "search_in", lambda symbol, modules: (searches.append(symbol), original(symbol, modules))[1]
    )
    for _ in range(3):
        ac.locate("aiter.fused_moe.fused_moe")
        ac.locate("aiter.ops.mha.later")
    assert searches == ["aiter.fused_moe.fused_moe", "aiter.ops.mha.later"]
    (site / "aiter/ops/mha.py").write_text("def later(): ...\n", encoding="utf-8")
    assert ac.locate("aiter.ops.mha.later") is None
    ac.refresh()
    assert ac.locate("aiter.ops.mha.later") == "aiter.ops.mha.later"


@pytest.mark.parametrize(
    ("symbol", "release", "path"),
    [
        (NEW_ROUTING, "0.1.9", OLD_ROUTING),
        (OLD_ROUTING, "0.1.10", NEW_ROUTING),
        (NEW_GATE_MODE, "0.1.13", OLD_GATE_MODE),
        (OLD_GATE_MODE, "0.1.14", NEW_GATE_MODE),
        (OLD_GATE_MODE, "0.1.19", NEW_GATE_MODE),  # v0.1.19 has a second class at the old place
        (NEW_GATE_MODE, "0.1.12", None),
        ("aiter.fused_qk_rmsnorm", "0.1.13", "aiter.ops.fused_qk_norm_rope_cache_quant.fused_qk_rmsnorm"),
        ("aiter.fused_qk_rmsnorm", "0.1.14", "aiter.ops.fused_qk_rmsnorm_group_quant.fused_qk_rmsnorm"),
        ("aiter.ops.triton.quant.dynamic_mxfp4_quant", "0.1.20", "aiter.ops.triton.quant.quant.dynamic_mxfp4_quant"),
        ("aiter.ops.triton.quant.quant.dynamic_mxfp4_quant", "0.1.9", "aiter.ops.triton.quant.dynamic_mxfp4_quant"),
        (
            "aiter.ops.flydsl.kernels.mqa_logits.pa_mqa_logits_fp4",
            "0.1.19",
            "aiter.ops.flydsl.kernels.pa_mqa_logits_fp4",
        ),
        (
            "aiter.ops.triton.gluon.mla_decode_gluon.mla_decode_gluon",
            "0.1.20",
            "aiter.ops.triton.gluon.mla_gluon.mla_gluon",
        ),
    ],
)
def test_recorded_releases(symbol, release, path):
    assert ac.locate(symbol, release=release) == path


@pytest.mark.parametrize(
    "symbol", ["", "nope.x", "torch.nn", "aiterate.x", "aiter.", "aiter..x", "aiter.a-b", "aiter.1", None, 3]
)
def test_what_is_no_path_of_aiter_is_refused(symbol):
    with pytest.raises(ac.InvalidArgument) as caught:
        ac.locate(symbol)
    assert caught.value.argument == "symbol"
    assert f"symbol: got {symbol!r}; allowed: a dotted path inside aiter" in str(caught.value)


def test_unknown_release_is_refused():
    with pytest.raises(ac.RecordError, match="not recorded"):
        ac.locate("aiter.fused_moe", release="0.0.1")
