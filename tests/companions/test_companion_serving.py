"""When AITER's own function serves a companion's call, and that it gets the call's meaning in every release."""

import inspect
import sys
import warnings

import pytest
import torch
from packaging.version import Version

import aiter_compat as ac
from aiter_compat import companions
from aiter_compat.companions import row_quantisers, serving
from aiter_compat.companions.names import COMPANIONS
from aiter_compat.companions.serving import _against, _places
from aiter_compat.releases.symbol_records import symbol_releases
from aiter_compat.symbols.finding import recorded_symbol

OLD_TOPK = """
calls = []
def topk_softmax(topk_weights, topk_indices, token_expert_indices, gating_output, need_renorm):
    calls.append((topk_weights, topk_indices, token_expert_indices, gating_output, need_renorm))
"""
NEW_TOPK = OLD_TOPK.replace("need_renorm)", "need_renorm, num_shared_experts=0, shared_expert_scoring_func='')", 1)
FILES = {
    "aiter/__init__.py": "from .ops.moe_op import *\nfrom .ops.shuffle import *\n",
    "aiter/_version.py": "__version__ = '0.1.11'\n",
    "aiter/fused_moe.py": "def fused_moe(hidden_states): ...\n",
    "aiter/jit/core.py": "",
    "aiter/ops/__init__.py": "",
    "aiter/ops/moe_op.py": OLD_TOPK,
    "aiter/ops/shuffle.py": "def shuffle_weight(x, layout=(16, 16), use_int4=False):\n    return 'aiter', layout\n",
}
BROKEN = {**FILES, "aiter/__init__.py": "raise RuntimeError('ROCm version file not found')\n"}


@pytest.fixture
def routing():
    return {
        "topk_weights": torch.zeros(2, 2),
        "topk_indices": torch.zeros(2, 2, dtype=torch.int32),
        "token_expert_indices": torch.zeros(2, 2, dtype=torch.int32),
        "gating_output": torch.randn(2, 4),
        "need_renorm": True,
    }


@pytest.fixture
def rocm(monkeypatch):
    """A torch that drives ROCm GPUs, and tensors of a CPU that count as theirs."""
    monkeypatch.setattr(torch.version, "hip", "7.2.0")
    monkeypatch.setattr(serving, "_is_there", lambda companion, device_type: True)


def served(routing, **changed):
    """Whether AITER's function was called; the emulation writes weights."""
    ac.topk_softmax(**routing, **changed)
    written = bool(routing["topk_weights"].any())
    module = sys.modules.get("aiter.ops.moe_op")
    assert written != bool(module is not None and module.calls)
    return not written


def test_without_rocm_aiter_is_not_even_imported(fake_site, routing):
    fake_site(FILES)
    assert not served(routing)
    assert "aiter" not in sys.modules


def test_on_rocm_aiter_serves_and_gets_the_tensors_themselves_by_position(fake_site, rocm, routing):
    fake_site(FILES)
    assert served(routing)
    (call,) = sys.modules["aiter.ops.moe_op"].calls
    assert all(sent is mine for sent, mine in zip(call, routing.values(), strict=True))


def test_the_function_is_read_from_its_module_at_each_call(fake_site, rocm, routing):
    fake_site(FILES)
    assert served(routing)
    replaced = []
    sys.modules["aiter.ops.moe_op"].topk_softmax = lambda *arguments: replaced.append(arguments)
    ac.topk_softmax(**routing)
    assert len(replaced) == 1


def test_backend_emulation_never_touches_aiter(fake_site, rocm, routing):
    fake_site(FILES)
    assert not served(routing, backend="emulation")
    assert "aiter" not in sys.modules


@pytest.fixture
def shared():
    return {
        "topk_weights": torch.zeros(2, 3),
        "topk_indices": torch.zeros(2, 2, dtype=torch.int32),
        "token_expert_indices": torch.zeros(2, 2, dtype=torch.int32),
        "gating_output": torch.randn(2, 5),
        "need_renorm": True,
        "num_shared_experts": 1,
        "shared_expert_scoring_func": "sigmoid",
    }


def test_an_argument_that_the_release_lacks_is_emulated_with_one_warning(fake_site, rocm, shared):
    fake_site(FILES)
    with pytest.warns(ac.AiterCompatWarning, match=r"topk_softmax is computed in torch.*has no num_shared") as got:
        outcomes = [served(shared) for _ in range(2)]
    assert outcomes == [False, False]
    assert len(got) == 1
    assert "test_companion_serving" in got[0].filename


def test_in_strict_mode_and_on_request_it_is_refused(fake_site, rocm, shared, monkeypatch):
    fake_site(FILES)
    with pytest.raises(ac.UnsupportedByAiter, match="num_shared_experts, shared_expert_scoring_func"):
        ac.topk_softmax(**shared, backend="aiter")
    monkeypatch.setenv("AITER_COMPAT_STRICT", "1")
    ac.refresh()
    with pytest.raises(ac.UnsupportedByAiter, match='backend="auto" or "emulation" computes it'):
        ac.topk_softmax(**shared)


def test_a_release_that_has_the_argument_gets_it(fake_site, rocm, shared):
    fake_site({**FILES, "aiter/ops/moe_op.py": NEW_TOPK})
    assert served(shared)


def test_a_broken_aiter_is_passed_over_with_its_own_words(fake_site, rocm, routing):
    fake_site(BROKEN)
    with pytest.warns(ac.AiterCompatWarning, match="ROCm version file not found"):
        assert not served(routing)
    with pytest.raises(ac.AiterImportError, match="ROCm version file not found"):
        ac.topk_softmax(**routing, backend="aiter")


def test_a_foreign_or_absent_aiter_is_emulated_silently_and_refused_on_request(fake_site, rocm, routing):
    fake_site({"aiter/__init__.py": "__version__ = '0.13.20191203'\n", "aiter/azip.py": "", "aiter/join_aiters.py": ""})
    assert ac.installation().kind == "foreign"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert not served(routing)
    with pytest.raises(ac.AiterImportError):
        ac.topk_softmax(**routing, backend="aiter")


def test_plain_torch_code_of_aiter_serves_tensors_of_every_device(fake_site, monkeypatch):
    monkeypatch.setattr(torch.version, "hip", "7.2.0")
    fake_site(FILES)
    assert ac.shuffle_weight(torch.zeros(16, 32)) == ("aiter", (16, 16))


def test_a_layout_that_the_release_lacks_is_made_without_a_warning(fake_site, monkeypatch):
    monkeypatch.setattr(torch.version, "hip", "7.2.0")
    fake_site(FILES)
    weight = torch.arange(2 * 32 * 64).remainder(251).to(torch.uint8).view(2, 32, 64)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        shuffled = ac.shuffle_weight(weight, is_guinterleave=True, gate_up=True)
        assert torch.equal(shuffled, ac.shuffle_weight_a16w4(weight, 16, True))


def test_refresh_forgets_what_was_resolved(fake_site, rocm, routing):
    fake_site(FILES)
    assert served(routing)
    fake_site(BROKEN, folder="broken_site")
    with pytest.warns(ac.AiterCompatWarning, match="ROCm version file not found"):
        assert not served(routing)


RECORDED = [release for release in symbol_releases() if Version(release) >= Version("0.1.13")]
OWN_SIGNATURES = {
    name: inspect.signature(getattr(companions, name, None) or getattr(row_quantisers, name))
    for name in COMPANIONS
    if name != "dynamic_mxfp4_quant_shuffled"
}
OWN_SIGNATURES["dynamic_mxfp4_quant_shuffled"] = OWN_SIGNATURES["dynamic_mxfp4_quant"]
SINCE = {
    "topk_gating": "0.1.14",
    "shuffle_scale": "0.1.14",
    "per_1x32_mx_quant_hip": "0.1.15",
    "moe_shuffle_scale": "0.1.17",
    "moe_shuffle_weight": "0.1.18",
    "shuffle_scale_moe": "0.1.18",
}
OURS_ALONE = {"backend", "numerics"}
NEWER_THAN_THE_RECORDS = {"topk_gating": {"num_shared_experts"}}


@pytest.mark.parametrize("name", COMPANIONS)
def test_every_recorded_release_takes_the_call_in_its_smallest_form(name):
    """What a call has to give, with every option at its default, each release takes; and our names are AITER's."""
    ours = [parameter for key, parameter in OWN_SIGNATURES[name].parameters.items() if key not in OURS_ALONE]
    required = tuple(parameter.name for parameter in ours if parameter.default is parameter.empty)
    for release in RECORDED:
        found = recorded_symbol(COMPANIONS[name].symbol, release)
        if Version(release) < Version(SINCE.get(name, "0")):
            assert found is None, release
            continue
        assert found is not None, release
        assert _against(found.parameters, required) is None, release
        positional, keywords = _places(found.parameters, required, tuple(parameter.name for parameter in ours))
        assert keywords == (), release
        assert positional[: len(required)] == required, release


@pytest.mark.parametrize("name", COMPANIONS)
def test_every_option_is_one_that_a_recorded_release_has(name):
    newest = recorded_symbol(COMPANIONS[name].symbol, RECORDED[-1])
    theirs = {parameter.name for parameter in newest.parameters}
    ours = set(OWN_SIGNATURES[name].parameters) - OURS_ALONE - NEWER_THAN_THE_RECORDS.get(name, set())
    if name == "dynamic_mxfp4_quant":
        ours -= {"shuffle"}  # of the other function of that name
    assert ours <= theirs


def test_an_argument_behind_an_unknown_one_is_sent_by_name(fake_site, rocm, shared):
    changed = NEW_TOPK.replace("need_renorm, num_shared", "need_renorm, stream=None, num_shared", 1)
    fake_site({**FILES, "aiter/ops/moe_op.py": changed + "    calls.append(num_shared_experts)\n"})
    ac.topk_softmax(**shared)
    assert sys.modules["aiter.ops.moe_op"].calls[1] == 1
