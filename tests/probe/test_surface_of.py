"""The surface of an installation: every way in which a symbol can be there, not there, or not readable."""

from __future__ import annotations

import os
import sys
import zipfile
from pathlib import Path

import pytest

from aiter_compat.probe import Parameter, probe, surface_of

FUSED_MOE = "aiter.fused_moe.fused_moe"
COMMON = "aiter.ops.flydsl.moe_common.GateMode"
MIXED = "aiter.ops.flydsl.kernels.mixed_moe_gemm_2stage.GateMode"
IN_FUSED_MOE = "aiter.fused_moe.GateMode"
ACTIVATION = "aiter.ops.enum.ActivationType"
QUANT = "aiter.ops.enum.QuantType"
GATE_MODE = """
from enum import Enum

class GateMode(str, Enum):
    \"\"\"How gate and up lie.\"\"\"

    SEPARATED = "separated"
    INTERLEAVE = "interleave"

    def helper(self): ...
"""


# --- signatures --------------------------------------------------------------------------------------------------


def test_signature_is_read_with_defaults_as_source_text(write_aiter):
    source = """
        def fused_moe(hidden_states, w1, /, topk_ids: 'Tensor', activation=ActivationType.Silu, *rest,
                      swiglu_limit: float = 0.0, gate_mode="separated", **extra): ...
    """
    surface = probe(write_aiter({"fused_moe.py": "if True:\n" + source}))
    assert surface.parameters(FUSED_MOE) == (
        Parameter("hidden_states", "positional_only"),
        Parameter("w1", "positional_only"),
        Parameter("topk_ids"),
        Parameter("activation", default="ActivationType.Silu"),
        Parameter("rest", "var_positional"),
        Parameter("swiglu_limit", "keyword_only", "0.0"),
        Parameter("gate_mode", "keyword_only", "'separated'"),
        Parameter("extra", "var_keyword"),
    )
    assert surface.parameter(FUSED_MOE, "gate_mode").default == "'separated'"
    assert surface.parameter(FUSED_MOE, "beta") is None


def test_decorated_and_asynchronous_functions_count(write_aiter):
    surface = probe(write_aiter({"fused_moe.py": "@guard(x=1)\ndef fused_moe(a): ...\nasync def torch_moe(b): ...\n"}))
    assert surface.has(FUSED_MOE)
    assert surface.has("aiter.fused_moe.torch_moe")


def test_last_of_several_definitions_counts(write_aiter):
    text = "@overload\ndef fused_moe(a): ...\n@overload\ndef fused_moe(b): ...\ndef fused_moe(c): ...\n"
    assert probe(write_aiter({"fused_moe.py": text})).parameters(FUSED_MOE) == (Parameter("c"),)


def test_first_alternative_wins_over_its_fallback_and_an_unconditional_definition_over_both(write_aiter):
    branches = "try:\n  def fused_moe(a): ...\nexcept ImportError:\n  def fused_moe(b): ...\n"
    surface = probe(write_aiter({"fused_moe.py": branches}))
    assert surface.parameters(FUSED_MOE) == (Parameter("a"),)
    surface = probe(write_aiter({"fused_moe.py": "def fused_moe(c): ...\n" + branches}, "other"))
    assert surface.parameters(FUSED_MOE) == (Parameter("c"),)


def test_import_is_not_a_definition(write_aiter):
    text = "from aiter.elsewhere import fused_moe\nfrom aiter.ops.flydsl.moe_common import GateMode\n"
    surface = probe(write_aiter({"fused_moe.py": text}))
    assert not surface.has(FUSED_MOE)
    assert not surface.has(IN_FUSED_MOE)


def test_private_names_are_left_out_but_for_the_markers(write_aiter):
    text = "def _get_padding_for_flydsl(x): ...\ndef _other(x): ...\nclass _C: ...\n"
    surface = probe(write_aiter({"fused_moe.py": text}))
    assert [path for path in surface.symbols if path.startswith("aiter.fused_moe.")] == [
        "aiter.fused_moe._get_padding_for_flydsl"
    ]


def test_module_may_be_a_package(write_aiter):
    surface = probe(write_aiter({"fused_moe/__init__.py": "def fused_moe(a): ...\n"}))
    assert surface.parameters(FUSED_MOE) == (Parameter("a"),)  # import prefers the package to fused_moe.py


# --- GateMode ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("file", "path"),
    [
        ("ops/flydsl/moe_common.py", COMMON),
        ("ops/flydsl/kernels/mixed_moe_gemm_2stage.py", MIXED),
        ("fused_moe.py", IN_FUSED_MOE),
    ],
)
def test_gate_mode_is_found_in_every_place_it_has_lived(write_aiter, file, path):
    surface = probe(write_aiter({file: GATE_MODE}))
    assert surface.first([COMMON, MIXED, IN_FUSED_MOE]) == path
    assert surface.members(path) == {"SEPARATED": "separated", "INTERLEAVE": "interleave"}
    assert surface.symbols[path].enum_kind == "str"


def test_fallback_gate_mode_of_v0_1_17_is_found_inside_except(write_aiter):
    text = """
try:
    from aiter.ops.flydsl.moe_common import GateMode
except ImportError:
    class GateMode(Enum):
        SEPARATED = "separated"
        INTERLEAVE = "interleave"
"""
    surface = probe(write_aiter({"fused_moe.py": text, "ops/flydsl/moe_common.py": GATE_MODE}))
    assert surface.symbols[IN_FUSED_MOE].enum_kind == "plain"
    assert surface.first([COMMON, MIXED, IN_FUSED_MOE]) == COMMON


def test_gate_mode_is_cut_out_of_a_large_file(write_aiter):
    filler = 'X = """\ndef not_code(:\n"""\n' + "def kernel(a, b):\n    return a + b\n\n" * 2000
    surface = probe(write_aiter({"ops/flydsl/kernels/mixed_moe_gemm_2stage.py": filler + GATE_MODE + filler}))
    assert surface.members(MIXED) == {"SEPARATED": "separated", "INTERLEAVE": "interleave"}
    assert surface.notes == ()


@pytest.mark.parametrize(
    ("bases", "body", "kind", "members"),
    [
        ("IntEnum", "A = 1\n    B = -2\n    C = A", "int", {"A": 1, "B": -2, "C": 1}),
        ("int, Enum", "A = 1", "int", {"A": 1}),
        ("enum.Enum", "A = auto()\n    B = 7\n    C = enum.auto()", "plain", {"A": 1, "B": 7, "C": 8}),
        ("StrEnum", "A = auto()", "str", {"A": "a"}),
        ("Enum", "A: int = 1\n    _ignored = 3\n    note: str", "plain", {"A": 1}),
        ("Enum", "A = compute()", "plain", None),
        ("Enum", "A = (1, 2)", "plain", None),
        ("object", "A = 1\n    other = compute()\n    flag = True", "plain", {"A": 1}),
        ("metaclass=Meta", "pass", "plain", None),
    ],
)
def test_enum_classes_of_every_kind_are_read(write_aiter, bases, body, kind, members):
    surface = probe(write_aiter({"ops/enum.py": f"class ActivationType({bases}):\n    {body}\n"}))
    symbol = surface.symbols[ACTIVATION]
    assert (symbol.kind, symbol.enum_kind, symbol.members) == ("enum", kind, members)


# --- ActivationType, QuantType --------------------------------------------------------------------------------------


@pytest.mark.parametrize("header", ["../csrc/include/aiter_enum.h", "../aiter_meta/csrc/include/aiter_enum.h"])
def test_members_of_compiled_enums_come_from_the_header_of_a_checkout_or_a_wheel(write_aiter, tmp_path, header):
    text = "enum class ActivationType : int { No = -1, Silu = 0, Situv2 = 3 };"
    location = write_aiter({header: text})
    if "aiter_meta" in header:
        (tmp_path / "site/csrc/include/aiter_enum.h").unlink()
    surface = probe(location)
    assert surface.members(ACTIVATION) == {"No": -1, "Silu": 0, "Situv2": 3}
    assert surface.symbols[ACTIVATION].enum_kind == "pybind"
    assert surface.members(QUANT) is None  # this header does not state it
    assert surface.has(QUANT)


def test_own_sources_come_before_what_a_build_left(write_aiter):
    surface = probe(write_aiter({"../aiter_meta/csrc/include/aiter_enum.h": "enum class ActivationType { Old };"}))
    assert surface.members(ACTIVATION) == {"No": -1, "Silu": 0, "Gelu": 1, "Swiglu": 2}
    assert surface.members(QUANT) == {"No": 0, "per_Tensor": 1, "per_Token": 2, "per_1x32": 3}


def test_without_a_header_the_enums_are_there_and_their_members_unknown(write_aiter, tmp_path):
    location = write_aiter({})
    (tmp_path / "site/csrc/include/aiter_enum.h").unlink()
    surface = probe(location)
    assert surface.has(ACTIVATION)
    assert surface.members(ACTIVATION) is None
    assert "aiter_enum.h" in surface.notes[0]


def test_header_is_found_through_a_folder_of_links(write_aiter, tmp_path):
    location = write_aiter({})
    links = tmp_path / "links" / "aiter"
    for name in ("__init__.py", "fused_moe.py", "ops/enum.py"):
        (links / name).parent.mkdir(parents=True, exist_ok=True)
        (links / name).symlink_to(os.path.join(location, name))
    assert probe(str(links)).members(QUANT)["per_1x32"] == 3


# --- what cannot be read -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("content", [b"def broken(:\n", b"x = 1\0", b"\xff\xfe\xff", b"(" * 5000])
def test_file_that_does_not_parse_costs_only_its_own_symbols_and_adds_a_note(write_aiter, content):
    location = write_aiter({"ops/shuffle.py": "def shuffle_weight(x): ...\n"})
    Path(location, "fused_moe.py").write_bytes(content)
    surface = probe(location)
    assert not [path for path in surface.symbols if path.startswith("aiter.fused_moe.")]
    assert surface.has("aiter.ops.shuffle.shuffle_weight")
    assert len(surface.notes) == 1
    assert "fused_moe.py: cannot be parsed" in surface.notes[0]


def test_missing_module_that_every_aiter_has_is_noted_and_an_optional_one_is_not(write_aiter):
    location = write_aiter({})
    os.remove(os.path.join(location, "fused_moe.py"))
    assert [note.partition(":")[0] for note in probe(location).notes] == ["aiter.fused_moe"]


def test_location_that_is_gone_gives_an_empty_surface_and_a_note(tmp_path):
    surface = probe(str(tmp_path / "gone"))
    assert dict(surface.symbols) == {}
    assert len(surface.notes) == 1


def test_odd_escapes_in_the_sources_warn_nobody(write_aiter, recwarn):
    surface = probe(write_aiter({"fused_moe.py": 'PATTERN = "\\d"\ndef fused_moe(a): ...\n'}))
    assert surface.has(FUSED_MOE)
    assert not recwarn.list


# --- zip, cache, side effects ------------------------------------------------------------------------------------


def test_zipped_package_is_read_header_included(write_aiter, tmp_path):
    location = Path(write_aiter({"fused_moe.py": "def fused_moe(a): ...\n", "ops/flydsl/moe_common.py": GATE_MODE}))
    archive = tmp_path / "site.zip"
    with zipfile.ZipFile(archive, "w") as file:
        for path in location.parent.rglob("*.*"):
            file.write(path, path.relative_to(location.parent))
    surface = probe(f"{archive}/aiter")
    assert surface.parameters(FUSED_MOE) == (Parameter("a"),)
    assert surface.has(COMMON)
    assert surface.members(QUANT)["per_1x32"] == 3


def test_unchanged_file_is_not_parsed_again_and_a_changed_one_is(write_aiter, monkeypatch):
    location = write_aiter({"fused_moe.py": "def fused_moe(a): ...\n"})
    parsed = []
    original = surface_of._parsed
    monkeypatch.setattr(surface_of, "_parsed", lambda *given: parsed.append(given[2]) or original(*given))
    first = probe(location)
    assert len(parsed) == 3  # __init__.py, fused_moe.py and ops/enum.py
    assert probe(location) == first
    assert len(parsed) == 3
    file = Path(location, "fused_moe.py")
    file.write_text("def fused_moe(b): ...\n", encoding="utf-8")
    os.utime(file, ns=(0, file.stat().st_mtime_ns + 1))
    assert probe(location).parameters(FUSED_MOE) == (Parameter("b"),)
    assert len(parsed) == 4


def test_probe_imports_nothing_of_the_package(write_aiter):
    trap = "raise AssertionError('executed')\n"
    probe(write_aiter({"__init__.py": trap, "fused_moe.py": trap + "def fused_moe(a): ...\n"}))
    assert "aiter" not in sys.modules
