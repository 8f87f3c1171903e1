"""A dotted path is followed to the definition, as Python's imports would, in files that are never executed."""

from __future__ import annotations

import sys
import zipfile

import pytest

from aiter_compat.detect.trees import open_tree
from aiter_compat.probe import package as package_module
from aiter_compat.probe.lookup import find
from aiter_compat.probe.package import Package

TRAP = "raise AssertionError('executed')\n"
COMPAT = """
_BACKWARD_COMPAT_MAP = {"gemm": "basic.gemm", "lost": "basic.lost"}
def __getattr__(name):
    if name in _BACKWARD_COMPAT_MAP:
        module = importlib.import_module(f"aiter.ops.triton.{_BACKWARD_COMPAT_MAP[name]}")
        return module
"""
FILES = {
    "__init__.py": TRAP
    + "if TRITON_ONLY:\n    pass\nelse:\n    from .ops.norm import *\n    from .ops.mha import *\n"
    + "    from .utility import dtypes as dtypes\n    from . import mla\n    from .ops.hidden import _private\n",
    "fused_moe.py": TRAP + "def fused_moe(x): ...\nfrom aiter import fused_moe as itself\n",
    "mla.py": "from aiter.ops.norm import norm\n",
    "ops/norm.py": "def norm(x): ...\ndef both(old): ...\ndef _hidden(): ...\n",
    "ops/mha.py": "__all__ = ['attend', 'both']\ndef attend(q): ...\ndef both(new): ...\ndef unlisted(): ...\n",
    "ops/hidden.py": "def _private(): ...\n",
    "ops/broken.py": "def broken(:\n",
    "ops/guarded.py": "try:\n    from .absent import Gate\nexcept ImportError:\n    class Gate: ...\n",
    "ops/loop_a.py": "from .loop_b import name\n",
    "ops/loop_b.py": "from .loop_a import name\n",
    "ops/triton/__init__.py": TRAP + COMPAT,
    "ops/triton/basic/gemm.py": "def gemm(a): ...\n",
    "utility/dtypes.py": "fp8 = 1\n",
}


@pytest.fixture
def package(write_aiter):
    with open_tree(write_aiter(FILES)) as tree:
        yield Package(tree)


@pytest.mark.parametrize(
    ("path", "defined", "kind"),
    [
        ("aiter", "aiter", "module"),
        ("aiter.ops", "aiter.ops", "module"),
        ("aiter.fused_moe", "aiter.fused_moe", "module"),
        ("aiter.fused_moe.fused_moe", "aiter.fused_moe.fused_moe", "function"),
        ("aiter.fused_moe.itself", "aiter.fused_moe", "module"),
        ("aiter.norm", "aiter.ops.norm.norm", "function"),
        ("aiter.mla.norm", "aiter.ops.norm.norm", "function"),
        ("aiter.attend", "aiter.ops.mha.attend", "function"),
        ("aiter.both", "aiter.ops.mha.both", "function"),  # the later of two
        ("aiter._private", "aiter.ops.hidden._private", "function"),
        ("aiter.dtypes", "aiter.utility.dtypes", "module"),
        ("aiter.dtypes.fp8", "aiter.utility.dtypes.fp8", "variable"),
        ("aiter.ops.guarded.Gate", "aiter.ops.guarded.Gate", "class"),
        ("aiter.ops.triton.gemm", "aiter.ops.triton.basic.gemm", "module"),
        ("aiter.ops.triton.gemm.gemm", "aiter.ops.triton.basic.gemm.gemm", "function"),
    ],
)
def test_path_leads_to_the_definition(package, path, defined, kind):
    symbol = find(package, path)
    assert (symbol.path, symbol.kind) == (defined, kind)
    assert "aiter" not in sys.modules


@pytest.mark.parametrize(
    "path",
    [
        "aiter.unlisted",
        "aiter._hidden",
        "aiter.nothing",
        "aiter.nothing.at_all",
        "aiter.norm.attribute",
        "aiter.ops.broken.broken",
        "aiter.ops.loop_a.name",
        "aiter.ops.triton.lost",
        "aiter.ops.triton.lost.function",
        "other.norm",
    ],
)
def test_path_that_leads_nowhere(package, path):
    assert find(package, path) is None


def test_same_in_an_archive(write_aiter, tmp_path):
    folder = open_tree(write_aiter(FILES))
    archive = tmp_path / "site.zip"
    with zipfile.ZipFile(archive, "w") as file:
        for module, name in Package(folder).modules().items():
            file.writestr(f"aiter/{name}", folder.read(name))
            assert module.startswith("aiter")
    with open_tree(f"{archive}/aiter") as tree:
        assert find(Package(tree), "aiter.attend").path == "aiter.ops.mha.attend"
        assert find(Package(tree), "aiter.ops.triton.gemm.gemm").path == "aiter.ops.triton.basic.gemm.gemm"


def test_files_that_do_not_speak_of_the_name_are_not_parsed(package, monkeypatch):
    monkeypatch.setattr(package_module, "_read", {})
    parsed = []
    original = package_module.parse_module
    monkeypatch.setattr(
        package_module,
        "parse_module",
        lambda content, module, **kw: (parsed.append(module), original(content, module, **kw))[1],
    )
    find(package, "aiter.attend")
    assert parsed == ["aiter", "aiter.ops.mha"]
    find(package, "aiter.attend")
    assert parsed == ["aiter", "aiter.ops.mha"]


def test_changed_file_is_read_again(write_aiter):
    location = write_aiter(FILES)
    with open_tree(location) as tree:
        assert find(Package(tree), "aiter.ops.norm.later") is None
    write_aiter({**FILES, "ops/norm.py": "def later(x): ...\n"})
    with open_tree(location) as tree:
        assert find(Package(tree), "aiter.ops.norm.later").kind == "function"


def test_every_module_is_listed(package):
    modules = package.modules()
    assert modules["aiter.ops.triton"] == "ops/triton/__init__.py"
    assert modules["aiter.ops.triton.basic.gemm"] == "ops/triton/basic/gemm.py"
    assert "aiter.ops.triton.basic" not in modules  # a folder without a file of its own
    assert package.has_module("aiter.ops.triton.basic")
    assert list(modules) == sorted(modules)
