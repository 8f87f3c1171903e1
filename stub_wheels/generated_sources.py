"""Source files of a stub that come from the release's record: signatures, enums and the C++ header of enum values."""

from __future__ import annotations

import ast
import builtins
from collections import defaultdict
from collections.abc import Iterable, Mapping

from aiter_compat.probe import Parameter, Surface, Symbol

ENUM_HEADER = "aiter_meta/csrc/include/aiter_enum.h"
ENUM_MODULE = "aiter/ops/enum.py"
COMPILED_ENUMS = "aiter/jit/module_aiter_core.py"

_FUSED_MOE = "aiter.fused_moe.fused_moe"
_COMMON_GATE_MODE = "aiter.ops.flydsl.moe_common.GateMode"
_GATE_MODES = (_COMMON_GATE_MODE, "aiter.ops.flydsl.kernels.mixed_moe_gemm_2stage.GateMode")
_FALLBACK_GATE_MODE = "aiter.fused_moe.GateMode"

_RUNTIME = "aiter.stub_runtime"
_UNRECORDED = f"from {_RUNTIME}.unrecorded import Unrecorded"
_BODIES = {
    _FUSED_MOE: "dense_moe.run(locals(), RULES, {gate_mode})",
    "aiter.ops.shuffle.shuffle_weight": "shuffle_api.shuffle_weight(**locals())",
    "aiter.ops.shuffle.shuffle_weight_a16w4": "shuffle_api.shuffle_weight_a16w4(**locals())",
    "aiter.ops.shuffle.shuffle_scale_a16w4": "shuffle_api.shuffle_scale_a16w4(**locals())",
    "aiter.ops.shuffle.shuffle_scale": "shuffle_api.shuffle_scale(**locals())",
    "aiter.utility.fp4_utils.e8m0_shuffle": "shuffle_api.e8m0_shuffle(**locals())",
    "aiter.ops.flydsl.utils.is_flydsl_available": "True",
}
"""What the functions that work evaluate; every other recorded function refuses to run."""

_NAMES = {
    "aiter": "import aiter",
    "ActivationType": "from aiter import ActivationType",
    "QuantType": "from aiter import QuantType",
    "dtypes": "from aiter.utility import dtypes",
    "torch": "import torch",
}
"""How a module of the stub comes by a name that a recorded default mentions; GateMode's path depends on the release."""


def generated_sources(surface: Surface) -> dict[str, str]:
    """Path inside the wheel -> text, for everything that differs between releases.

    Raises:
        LookupError: the record lacks what a stub cannot do without, or a default names something unknown.
    """
    for path in (_FUSED_MOE, "aiter.ops.enum.ActivationType", "aiter.ops.enum.QuantType"):
        if not surface.has(path):
            raise LookupError(f"{surface.origin}: the record has no {path}")
    compiled = [symbol for symbol in surface.symbols.values() if symbol.enum_kind == "pybind" and symbol.members]
    sources = {
        ENUM_HEADER: _header(compiled),
        COMPILED_ENUMS: _compiled_enums(compiled),
        ENUM_MODULE: _enum_module(compiled),
    }
    for module, symbols in _by_module(surface).items():
        sources[f"{module.replace('.', '/')}.py"] = _module(symbols, surface)
    if surface.has(_COMMON_GATE_MODE):
        sources["aiter/ops/flydsl/__init__.py"] = "from .moe_common import GateMode as GateMode\n"
    return sources


def _by_module(surface: Surface) -> Mapping[str, list[Symbol]]:
    """Every recorded symbol by its module, but for those whose definition is in a compiled module."""
    modules: defaultdict[str, list[Symbol]] = defaultdict(list)
    for path, symbol in surface.symbols.items():
        if symbol.enum_kind != "pybind" and path != _FALLBACK_GATE_MODE:
            modules[path.rpartition(".")[0]].append(symbol)
    return modules


def _module(symbols: Iterable[Symbol], surface: Surface) -> str:
    header = [f'"""Generated from the record of {surface.origin}."""', ""]
    imports: set[str] = set()
    blocks: list[str] = []
    for symbol in symbols:
        name = symbol.path.rpartition(".")[2]
        if symbol.kind == "enum":
            imports.add("from enum import Enum, IntEnum")
            blocks.append(_enum(name, symbol))
        elif symbol.kind == "function":
            imports |= _imports(symbol, surface)
            blocks.append(_function(name, symbol, surface))
        elif symbol.kind == "class":
            blocks.append(f"class {name}: ...\n")
        else:
            imports.add(_UNRECORDED)
            blocks.append(f"{name} = Unrecorded({name!r})\n")
    if any(symbol.path == _FUSED_MOE for symbol in symbols):
        imports.add(f"from {_RUNTIME}.release_rules import rules_of")
        gate_mode = surface.symbols.get(_FALLBACK_GATE_MODE)
        if gate_mode is not None:
            imports.add("from enum import Enum, IntEnum")
            blocks.insert(0, _guarded_gate_mode(surface, gate_mode))
        blocks.append("RULES = rules_of(fused_moe)\n")
    ordered = sorted(imports, key=lambda line: (" = " in line, line))
    return "\n".join([*header, *ordered, "\n", "\n\n".join(blocks)])


def _function(name: str, symbol: Symbol, surface: Surface) -> str:
    body = _BODIES.get(symbol.path, f"raise NotImplementedError('this stub has no {symbol.path}')")
    gate_mode = "GateMode" if surface.parameter(_FUSED_MOE, "gate_mode") else "None"
    statement = body if body.startswith("raise") else f"return {body.format(gate_mode=gate_mode)}"
    return f"def {name}({_signature(symbol.parameters or ())}):\n    {statement}\n"


def _signature(parameters: Iterable[Parameter]) -> str:
    parts: list[str] = []
    starred = False
    for parameter in parameters:
        if parameter.kind == "keyword_only" and not starred:
            parts.append("*")
            starred = True
        stars = {"var_positional": "*", "var_keyword": "**"}.get(parameter.kind, "")
        starred = starred or stars == "*"
        default = "" if parameter.default is None else f"={parameter.default}"
        parts.append(f"{stars}{parameter.name}{default}")
        if parameter.kind == "positional_only":
            parts = [*(part for part in parts if part != "/"), "/"]
    return ", ".join(parts)


def _imports(symbol: Symbol, surface: Surface) -> set[str]:
    imports = set()
    runtime_module, dot, _ = _BODIES.get(symbol.path, "").partition(".")
    if dot:
        imports.add(f"from {_RUNTIME} import {runtime_module}")
    names = {name for parameter in symbol.parameters or () for name in _names(parameter.default)}
    if symbol.path == _FUSED_MOE and surface.parameter(_FUSED_MOE, "gate_mode"):
        names.add("GateMode")
    for name in sorted(names - (set(dir(builtins)) - {"aiter"})):  # aiter is a builtin function too
        if name == "GateMode" and not surface.has(_FALLBACK_GATE_MODE):
            imports.add(f"from {_gate_mode_module(surface)} import GateMode")
        elif name in _NAMES:
            imports.add(_NAMES[name])
        elif symbol.path in _BODIES and name != "GateMode":
            raise LookupError(f"{symbol.path}: a default names {name}, which no module of the stub defines")
        elif name != "GateMode":
            imports |= {_UNRECORDED, f"{name} = Unrecorded({name!r})"}
    return imports


def _names(default: str | None) -> set[str]:
    if default is None:
        return set()
    return {node.id for node in ast.walk(ast.parse(default, mode="eval")) if isinstance(node, ast.Name)}


def _gate_mode_module(surface: Surface) -> str:
    path = surface.first(_GATE_MODES)
    if path is None:
        raise LookupError(f"{surface.origin}: fused_moe takes a gate_mode, but the record has no GateMode")
    return path.rpartition(".")[0]


def _guarded_gate_mode(surface: Surface, fallback: Symbol) -> str:
    indented = "".join(f"    {line}\n" if line else "\n" for line in _enum("GateMode", fallback).splitlines())
    return f"try:\n    from {_gate_mode_module(surface)} import GateMode\nexcept ImportError:\n{indented}"


def _enum(name: str, symbol: Symbol) -> str:
    bases = {"str": "str, Enum", "int": "IntEnum", "plain": "Enum"}.get(symbol.enum_kind or "")
    if bases is None or not symbol.members:
        raise LookupError(f"{symbol.path}: the record states neither members nor the kind of this enum")
    members = "".join(f"    {member} = {value!r}\n" for member, value in symbol.members.items())
    return f"class {name}({bases}):\n{members}"


def _header(enums: Iterable[Symbol]) -> str:
    blocks = [
        f"enum class {symbol.path.rpartition('.')[2]} : int\n{{\n"
        + "".join(f"    {name} = {value},\n" for name, value in (symbol.members or {}).items())
        + "};\n"
        for symbol in enums
    ]
    return "#pragma once\n" + "".join(blocks)


def _compiled_enums(enums: Iterable[Symbol]) -> str:
    lines = ['"""Stands for the compiled module: the values are not in any source that AITER ships."""', ""]
    lines.append(f"from {_RUNTIME}.pybind_enum import make_enum")
    lines.append("")
    for symbol in enums:
        name = symbol.path.rpartition(".")[2]
        lines.append(f'{name} = make_enum(__name__, "{name}", {dict(symbol.members or {})!r})')
    return "\n".join([*lines, ""])


def _enum_module(enums: Iterable[Symbol]) -> str:
    """The public enums: types of what the compiled module returns, so that this source names no value."""
    lines = ["from ..jit.core import compile_ops", ""]
    for symbol in enums:
        name = symbol.path.rpartition(".")[2]
        lines += ["", f'@compile_ops("module_aiter_core", "{name}")', f"def _{name}(dummy): ...", ""]
        lines += [f"{name} = type(_{name}(0))", ""]
    return "\n".join(lines)
