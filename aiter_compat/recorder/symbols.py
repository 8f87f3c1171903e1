"""Record every module and symbol of one AITER, from its files."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Mapping
from typing import Any

from aiter_compat.detect.trees import Tree, open_tree
from aiter_compat.errors import RecordError
from aiter_compat.probe.cpp_enums import enums_in
from aiter_compat.probe.model import Symbol
from aiter_compat.probe.module_names import ModuleNames
from aiter_compat.probe.package import Package, parse_module
from aiter_compat.recorder.git_head import read_head
from aiter_compat.recorder.source import source_root, stated_release
from aiter_compat.releases.symbol_records import SymbolRecord

# Headers that state the members of compiled enums, from the parent of the package; in a wheel under aiter_meta.
_HEADERS = ("csrc/include/aiter_enum.h", "csrc/include/mx_quant_utils.h")
_PREFIXES = ("", "aiter_meta/")


def record_symbols(
    path: str | os.PathLike[str], as_version: str | None = None, *, commit: str | None = None
) -> SymbolRecord:
    """Record every module and symbol of the AITER at `path`; nothing of it is executed and nothing is written.

    Args:
        path: as for `record_source`.
        as_version: as for `record_source`.
        commit: as for `record_source`.

    Raises:
        InvalidArgument: there is no AITER at `path`, `as_version` is no version, or it is needed and missing.
        RecordError: a module cannot be read or parsed.
    """
    root = source_root(os.path.abspath(os.fspath(path)))
    head = read_head(root)
    release, tag = stated_release(root, as_version, head)
    tree = open_tree(os.path.join(root, "aiter"))
    if tree is None:  # it was there a moment ago
        raise RecordError(f"{path} cannot be recorded: it is not a readable folder any more.")
    enums = _compiled_enums(root)
    with tree:
        modules = {name: _module(tree, name, file, enums) for name, file in Package(tree).modules().items()}
    content: dict[str, Mapping[str, Any]] = {name: names.to_plain() for name, names in modules.items()}
    return SymbolRecord(release, tag, content, commit or (None if head is None else head.commit))


def _module(tree: Tree, name: str, file: str, enums: Mapping[str, dict[str, int]]) -> ModuleNames:
    content = tree.read(file)
    if content is None:
        raise RecordError(f"{tree.path(file)} cannot be recorded: it cannot be read.")
    try:
        names = parse_module(content, name, is_package=file.endswith("__init__.py"))
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        reason = getattr(error, "msg", None) or str(error) or type(error).__name__
        line = getattr(error, "lineno", "?")
        raise RecordError(f"{tree.path(file)} cannot be recorded: {reason}, line {line}.") from error
    symbols = {known: _with_members(symbol, known, enums) for known, symbol in names.symbols.items()}
    return dataclasses.replace(names, symbols=symbols)


def _with_members(symbol: Symbol, name: str, enums: Mapping[str, dict[str, int]]) -> Symbol:
    if symbol.enum_kind != "pybind" or symbol.members is not None:
        return symbol
    return dataclasses.replace(symbol, members=enums.get(name))


def _compiled_enums(root: str) -> dict[str, dict[str, int]]:
    tree = open_tree(root)
    if tree is None:
        return {}
    found: dict[str, dict[str, int]] = {}
    with tree:
        for header in _HEADERS:
            # A checkout may hold a stale aiter_meta from an earlier build, so its own sources come first.
            texts = (tree.read_text(prefix + header) for prefix in _PREFIXES)
            found.update(enums_in(next((text for text in texts if text is not None), "")))
    return found
