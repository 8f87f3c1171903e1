"""`ac.load`: the object, from the one module that defines it, unless its signature is not what the caller expects."""

from __future__ import annotations

import sys
import types

import pytest

import aiter_compat as ac

# A copy of AITER's trap: a finder that executes a module a second time under its old name.
FINDER = """
import importlib, importlib.util, sys
from types import SimpleNamespace
_BACKWARD_COMPAT_MAP = {"moe_routing": "moe.moe_routing"}
def __getattr__(name):
    if name in _BACKWARD_COMPAT_MAP:
        return importlib.import_module(f"aiter.ops.triton.{_BACKWARD_COMPAT_MAP[name]}")
    raise AttributeError(name)
def _find(fullname, path, target=None):
    name = fullname.rpartition(".")[2]
    if fullname.startswith("aiter.ops.triton.") and fullname.count(".") == 3 and name in _BACKWARD_COMPAT_MAP:
        sys.modules[fullname] = importlib.import_module(f"aiter.ops.triton.{_BACKWARD_COMPAT_MAP[name]}")
        return importlib.util.find_spec(f"aiter.ops.triton.{_BACKWARD_COMPAT_MAP[name]}")
sys.meta_path.insert(0, SimpleNamespace(find_spec=_find))
"""
COUNT = "import builtins\nbuiltins.executed = getattr(builtins, 'executed', 0) + 1\n"
QK_OLD = "def fused_qk_rmsnorm(q, q_weight, q_eps, k, k_weight, k_eps):\n    return 'old'\n"
QK_NEW = (
    "def fused_qk_rmsnorm(q_out_quantized=None, q_out_scale=None, q=None, q_weight=None, q_epsilon=1e-06, "
    "q_out_unquantized=None, k_out=None, q_res_out=None, k=None, k_weight=None, k_epsilon=None, q_residual=None, "
    "gemma_norm=False, quant_type=None, group_size=None, transpose_scale=False):\n    return 'new'\n"
)
FILES = {
    "aiter/__init__.py": "from .ops.fused_qk_rmsnorm_group_quant import *\nfrom .ops.mla import *\n",
    "aiter/fused_moe.py": "def fused_moe(hidden_states): return 'real'\n",
    "aiter/jit/core.py": "",
    "aiter/ops/__init__.py": "",
    "aiter/ops/mla.py": "def mla_thing(x): return x\nvalue = 7\n",
    "aiter/ops/fused_qk_rmsnorm_group_quant.py": QK_NEW,
    "aiter/ops/triton/__init__.py": FINDER,
    "aiter/ops/triton/moe/__init__.py": "",
    "aiter/ops/triton/moe/moe_routing.py": COUNT + "class Kernel: ...\ndef routing(x): ...\n",
    "aiter/ops/broken.py": "raise RuntimeError('no device')\ndef f(x): ...\n",
}
OLD_SITE = {
    **FILES,
    "aiter/__init__.py": "from .ops.fused_qk_norm_rope_cache_quant import *\n",
    "aiter/ops/fused_qk_norm_rope_cache_quant.py": QK_OLD,
}
del OLD_SITE["aiter/ops/fused_qk_rmsnorm_group_quant.py"]


@pytest.fixture
def site(fake_site, monkeypatch):
    monkeypatch.setattr(sys, "meta_path", list(sys.meta_path))
    return fake_site


@pytest.fixture
def executed(monkeypatch):
    import builtins

    monkeypatch.setattr(builtins, "executed", 0, raising=False)
    return lambda: builtins.executed


def test_object_and_module(site):
    site(FILES)
    assert ac.load("aiter.mla_thing")(3) == 3
    assert ac.load("aiter.ops.mla.value") == 7
    module = ac.load("aiter.ops.mla")
    assert isinstance(module, types.ModuleType)
    assert module is sys.modules["aiter.ops.mla"]


@pytest.mark.parametrize("first", ["aiter.ops.triton.moe_routing", "aiter.ops.triton.moe.moe_routing"])
def test_no_module_is_executed_under_two_names(site, executed, first):
    site(FILES)
    one = ac.load(f"{first}.Kernel")
    other = ac.load("aiter.ops.triton.moe_routing.Kernel")
    assert one is other is ac.load("aiter.ops.triton.moe.moe_routing.Kernel")
    assert ac.load("aiter.ops.triton.moe_routing").Kernel is one
    assert executed() == 1
    assert "aiter.ops.triton.moe_routing" not in sys.modules


def test_trap_is_real(site, executed):
    """Without `load`, new path then old path makes two classes."""
    site(FILES)
    import importlib

    new = importlib.import_module("aiter.ops.triton.moe.moe_routing").Kernel
    old = importlib.import_module("aiter.ops.triton.moe_routing").Kernel
    assert new is not old
    assert executed() == 2


def test_function_that_a_host_replaced_is_given_as_it_is_now(site, monkeypatch):
    site(FILES)
    assert ac.load("aiter.fused_moe.fused_moe")(1) == "real"
    monkeypatch.setattr(sys.modules["aiter.fused_moe"], "fused_moe", lambda x: "patched")
    assert ac.load("aiter.fused_moe.fused_moe")(1) == "patched"


# --- contracts ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("files", "contract", "gives"),
    [(FILES, "0.1.14", "new"), (FILES, "0.1.20", "new"), (OLD_SITE, "0.1.13", "old"), (OLD_SITE, "0.1.12", "old")],
)
def test_named_contract_that_the_installed_signature_keeps(site, files, contract, gives):
    site(files)
    assert ac.locate("aiter.fused_qk_rmsnorm") is not None
    function = ac.load("aiter.fused_qk_rmsnorm", contract=contract)
    assert function(*[None] * 6) == gives


@pytest.mark.parametrize(("files", "contract"), [(FILES, "0.1.13"), (OLD_SITE, "0.1.14"), (OLD_SITE, "0.1.20")])
def test_other_contract_is_refused(site, files, contract):
    site(files)
    with pytest.raises(ac.ContractChanged, match=r"aiter\.fused_qk_rmsnorm is not what it is in v0\.1\."):
        ac.load("aiter.fused_qk_rmsnorm", contract=contract)
    assert "aiter" not in sys.modules  # told from the files


@pytest.mark.parametrize("files", [FILES, OLD_SITE])
def test_listed_symbol_needs_a_contract(site, files):
    site(files)
    with pytest.raises(ac.ContractChanged) as caught:
        ac.load("aiter.fused_qk_rmsnorm")
    for part in ("v0.1.14", "ROCm/aiter#2958", "contract=", "fused_qk_rmsnorm("):
        assert part in str(caught.value)


def test_contract_of_a_symbol_that_is_not_listed(site):
    site(FILES)
    assert ac.load("aiter.ops.triton.moe_routing", contract="0.1.14")  # a module has no signature
    with pytest.raises(ac.ContractChanged, match="is gone"):
        ac.load("aiter.fused_moe.fused_moe", contract="0.1.14")


@pytest.mark.parametrize(
    ("contract", "error"), [("0.1.9", ac.InvalidArgument), ("0.0.1", ac.RecordError), ("new", ac.RecordError)]
)
def test_contract_that_says_nothing_is_refused(site, contract, error):
    site(FILES)
    with pytest.raises(error, match=r"fused_qk_rmsnorm|recorded"):
        ac.load("aiter.fused_qk_rmsnorm", contract=contract)


# --- what cannot be loaded ---------------------------------------------------------------------------------------


def test_symbol_that_is_not_there(site):
    site(FILES)
    with pytest.raises(ac.AiterImportError, match=r"aiter\.topk_softplus is in none of its known places: AITER of"):
        ac.load("aiter.topk_softplus")


def test_no_aiter(without_aiter):
    with pytest.raises(ac.AiterImportError, match="AITER is not installed"):
        ac.load("aiter.fused_moe.fused_moe")


@pytest.mark.parametrize("symbol", ["aiter.ops.broken.f", "aiter.ops.broken"])
def test_error_of_aiters_import_is_the_cause(site, symbol):
    site(FILES)
    with pytest.raises(ac.AiterImportError, match="no device") as caught:
        ac.load(symbol)
    assert isinstance(caught.value.__cause__, RuntimeError)


@pytest.mark.parametrize("symbol", ["os.path", "", None])
def test_what_is_no_path_of_aiter_is_never_imported(symbol):
    with pytest.raises(ac.InvalidArgument, match="symbol"):
        ac.load(symbol)
