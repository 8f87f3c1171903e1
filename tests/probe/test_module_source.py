"""Names that a module binds at import, as a working import would leave them."""

from __future__ import annotations

import ast

import pytest

from aiter_compat.probe.module_names import ModuleNames, signature_text
from aiter_compat.probe.module_source import names_in


def read(text: str, module: str = "aiter.ops.x", *, is_package: bool = False) -> ModuleNames:
    return names_in(ast.parse(text).body, module, is_package=is_package)


def test_definitions_have_kind_and_signature():
    names = read(
        "@compile_ops('module_norm')\n"
        "def rms_norm(x: Tensor, eps: float = 1e-6, *, out=None) -> Tensor: ...\n"
        "class Plain: ...\n"
        "class Group:\n    def __init__(self, rank, device=None): ...\n"
        "logger = make()\n"
        "first, second = make()\n"
    )
    assert {name: symbol.kind for name, symbol in names.symbols.items()} == {
        "rms_norm": "function",
        "Plain": "class",
        "Group": "class",
        "logger": "variable",
        "first": "variable",
        "second": "variable",
    }
    assert signature_text(names.symbols["rms_norm"].parameters) == "(x, eps=1e-06, *, out=None)"
    assert names.symbols["Plain"].parameters is None
    assert signature_text(names.symbols["Group"].parameters) == "(rank, device=None)"
    assert names.symbols["rms_norm"].path == "aiter.ops.x.rms_norm"


@pytest.mark.parametrize(
    ("module", "is_package", "text", "imports"),
    [
        ("aiter.ops.x", False, "from .y import a, b as c", {"a": "aiter.ops.y.a", "c": "aiter.ops.y.b"}),
        ("aiter.ops.x", False, "from ..jit import core", {"core": "aiter.jit.core"}),
        ("aiter.ops", True, "from . import mla", {"mla": "aiter.ops.mla"}),
        ("aiter", True, "from .ops.norm import f", {"f": "aiter.ops.norm.f"}),
        ("aiter.ops.x", False, "from aiter.ops.y import a", {"a": "aiter.ops.y.a"}),
        ("aiter.ops.x", False, "import aiter.ops.y as z", {"z": "aiter.ops.y"}),
        ("aiter.ops.x", False, "import aiter.ops.y\nimport torch as t\nfrom torch import nn", {}),
        ("aiter", True, "from ..beyond import a", {}),
    ],
)
def test_imports_are_paths_and_other_packages_are_left_out(module, is_package, text, imports):
    assert read(text, module, is_package=is_package).imports == imports


def test_stars_keep_their_order():
    assert read("from .b import *\nfrom .a import *\n", "aiter", is_package=True).stars == ("aiter.b", "aiter.a")


def test_what_a_working_import_leaves_wins():
    names = read(
        "HAVE = None\n"
        "try:\n    from .y import f, g, HAVE\nexcept ImportError:\n    f = None\n    def g(x): ...\n"
        "if ON_ROCM:\n    def h(a): ...\nelse:\n    def h(b): ...\n"
        "def again(one): ...\ndef again(two): ...\n"
    )
    assert set(names.imports) == {"f", "g", "HAVE"}
    assert names.symbols["g"].kind == "function"  # what stands in
    assert [signature_text(names.symbols[name].parameters) for name in ("h", "again")] == ["(a)", "(two)"]


def test_what_no_import_executes_is_not_bound():
    names = read(
        "if TYPE_CHECKING:\n    from .y import T\nelse:\n    T = object\n"
        "if __name__ == '__main__':\n    def main(): ...\n"
        "gone = 1\ndel gone\n"
    )
    assert set(names.symbols) == {"T"}
    assert not names.imports


def test_second_name_of_a_function_has_its_signature():
    names = read("def topk_gating(x, k=1): ...\ntopk_softplus = topk_gating\nother = unknown\n")
    symbol = names.symbols["topk_softplus"]
    assert (symbol.path, symbol.kind) == ("aiter.ops.x.topk_softplus", "function")
    assert signature_text(symbol.parameters) == "(x, k=1)"
    assert names.symbols["other"].kind == "variable"


@pytest.mark.parametrize(
    ("text", "exports"),
    [
        ("x = 1", None),
        ("__all__ = ['a', 'b']", ("a", "b")),
        ("__all__ = ['a']\n__all__ += ['b']\n__all__.append('c')\n__all__.extend(('d', 'a'))", ("a", "b", "c", "d")),
        ("__all__ = []\ntry:\n    import y\n    __all__ += ['a']\nexcept ImportError:\n    pass", ("a",)),
        ("T = {'a': 'm', 'b': 'n'}\n__all__ = list(T)", ("a", "b")),
        ("__all__ = y.__all__", None),
        ("__all__ = ['a'] + other", None),
    ],
)
def test_exported_names(text, exports):
    assert read(text).exports == exports


# --- made on first access ----------------------------------------------------------------------------------------

OLD_NAMES = """
MAP = {"gemm": "gemm.basic.gemm", "quant_moe": "moe.quant_moe"}
def __getattr__(name):
    if name in MAP:
        return importlib.import_module(f"aiter.ops.triton.{MAP[name]}")
    raise AttributeError(name)
"""
HOLDERS = """
_LAZY = {"MegaMoE": "mega_moe_v2"}
def __getattr__(name):
    sub = _LAZY.get(name)
    if sub is None:
        raise AttributeError(name)
    return getattr(importlib.import_module(f"{__name__}.{sub}"), name)
"""
COMPILED = """
@compile_ops("core", "MxDtype")
def _MxDtype(dummy): ...
FACTORIES = {"MxDtype": (_MxDtype, 1)}
def __getattr__(name):
    pair = FACTORIES.get(name)
    if name in ("Other", "Third") or name == "Fourth":
        return object
"""


@pytest.mark.parametrize(
    ("text", "lazy"),
    [
        (
            OLD_NAMES,
            {"gemm": "aiter.ops.triton.gemm.basic.gemm", "quant_moe": "aiter.ops.triton.moe.quant_moe"},
        ),
        (HOLDERS, {"MegaMoE": "aiter.ops.triton.mega_moe_v2.MegaMoE"}),
        (COMPILED, {"MxDtype": None, "Other": None, "Third": None, "Fourth": None}),
        ("def __getattr__(): ...", {}),
    ],
)
def test_lazy_tables(text, lazy):
    names = read(text, "aiter.ops.triton", is_package=True)
    assert names.lazy == lazy
    assert "__getattr__" not in names.symbols
    assert not [name for name in lazy if names.star_gives(name)]


def test_compiled_enum_behind_a_lazy_name():
    names = read(COMPILED)
    assert (names.symbols["MxDtype"].kind, names.symbols["MxDtype"].enum_kind) == ("enum", "pybind")
    assert names.symbols["Other"].kind == "variable"


# --- the short form ----------------------------------------------------------------------------------------------

EVERYTHING = (
    COMPILED
    + """
from enum import Enum
from .y import a, b as c
from .z import *
import aiter.ops.w as w
__all__ = ["f", "Mode"]
def f(a, /, b, *args, c="x, y", d=(1, 2), **kw): ...
class Mode(str, Enum):
    ON = "on"
class Plain: ...
class Made:
    def __init__(self, rank): ...
value = 3
"""
)


def test_short_form_survives_the_trip():
    names = read(EVERYTHING)
    plain = names.to_plain()
    assert plain["f"] == "(a, /, b, *args, c='x, y', d=(1, 2), **kw)"
    assert plain["Mode"] == {"enum": "str", "members": {"ON": "on"}}
    assert (plain["Plain"], plain["Made"], plain["value"]) == ("class", "class(rank)", "variable")
    assert plain["from aiter.ops.y"] == "a, b as c"
    assert plain["import *"] == ["aiter.ops.z"]
    assert ModuleNames.from_plain("aiter.ops.x", plain) == names


def test_short_form_can_be_read_in_part():
    plain = read(EVERYTHING).to_plain()
    part = ModuleNames.from_plain("aiter.ops.x", plain, only="f")
    assert set(part.symbols) == {"f"}
    assert part.imports == read(EVERYTHING).imports


@pytest.mark.parametrize("plain", [{"f": "(a"}, {"f": 3}, {"f": {"enum": "str"}}, {"from aiter.x": 3}, {"f": "call"}])
def test_malformed_short_form_is_told(plain):
    from aiter_compat.errors import RecordError

    with pytest.raises(RecordError, match=r"aiter\.ops\.x: malformed"):
        ModuleNames.from_plain("aiter.ops.x", plain)
