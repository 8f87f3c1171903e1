"""Read the surface of an installed AITER, or of its sources, from files."""

from __future__ import annotations

import ast
import os
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace

from aiter_compat.detect.trees import Stamp, Tree, open_tree
from aiter_compat.probe.blocks import definitions, outline
from aiter_compat.probe.cpp_enums import enums_in
from aiter_compat.probe.freshness import Freshness
from aiter_compat.probe.model import Surface, Symbol
from aiter_compat.probe.python_source import symbols_in
from aiter_compat.probe.wanted import ENUM_MODULE, WANTED_MODULES, WantedModule

# Beyond this, a file is not parsed whole: definitions are cut out of it.
_LARGE_FILE_BYTES = 5_000
# Where the header lies from the parent of the package: in a checkout, in a wheel's second package. A checkout may hold
# a stale aiter_meta from an earlier build, so its own sources come first, as they do for AITER itself.
_HEADERS = ("csrc/include/aiter_enum.h", "aiter_meta/csrc/include/aiter_enum.h")


@dataclass(frozen=True)
class _Part:
    """What one file tells."""

    symbols: dict[str, Symbol] = field(default_factory=dict)
    enums: dict[str, dict[str, int]] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


# Per path: what the file told, and the stamp that it had then.
_parts: dict[str, tuple[Stamp, _Part]] = {}
# Per location: its surface, and the state that everything was in from which it was read.
_surfaces: dict[str, tuple[Freshness, Surface]] = {}


def probe(location: str) -> Surface:
    """The surface of the AITER package at `location`, by parsing files; nothing is imported or executed.

    The surface is remembered for as long as no file that it was read from changes, comes or goes; and what a file told
    for as long as its path, size and modification time stay the same.

    Args:
        location: folder of the package `aiter`, also inside a zip archive: `Installation.location`.

    Returns:
        Its surface. A file that is missing, unreadable or unparsable costs the symbols of that file and adds a note.
    """
    known = _surfaces.get(location)
    if known is not None and known[0].holds():
        return known[1]
    state = Freshness.of(_candidates(location))
    surface = _read(location)
    if state.settled:
        _surfaces[location] = state, surface
    return surface


def _candidates(location: str) -> Iterator[str]:
    """Every file that a surface may be read from, whether it exists or not."""
    for module in WANTED_MODULES:
        yield from (os.path.join(location, *name.split("/")) for name in module.files)
    for root in _roots(location):
        yield from (os.path.join(root, *name.split("/")) for name in _HEADERS)


def _read(location: str) -> Surface:
    tree = open_tree(location)
    if tree is None:
        return Surface(location, {}, (f"{location} is not a readable folder",))
    symbols: dict[str, Symbol] = {}
    notes: list[str] = []
    with tree:
        for module in WANTED_MODULES:
            part = _module(tree, module)
            symbols.update(part.symbols)
            notes += part.notes
    if any(_lacks_members(symbol) for symbol in symbols.values()):
        header = _header(location)
        notes += header.notes
        symbols = {path: _with_members(symbol, header.enums) for path, symbol in symbols.items()}
    return Surface(location, symbols, tuple(notes))


def _module(tree: Tree, module: WantedModule) -> _Part:
    name = next((name for name in module.files if tree.is_file(name)), None)
    if name is None:
        notes = (f"{module.name}: no source file in {tree.location}",) if module.expected else ()
        return _Part(notes=notes)
    return _remembered(tree, name, lambda content: _parsed(content, module, tree.path(name)))


def _remembered(tree: Tree, name: str, read: Callable[[bytes], _Part]) -> _Part:
    stamp, path = tree.stamp(name), tree.path(name)
    known = _parts.get(path)
    if known is not None and known[0] == stamp:
        return known[1]
    content = tree.read(name)
    if content is None:
        return _Part(notes=(f"{path}: cannot be read",))
    part = read(content)
    if stamp is not None:
        _parts[path] = stamp, part
    return part


def _parsed(content: bytes, module: WantedModule, path: str) -> _Part:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about escapes in someone else's strings
            statements = _statements(content, module)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        reason = getattr(error, "msg", None) or str(error) or type(error).__name__
        return _Part(notes=(f"{path}: cannot be parsed ({reason}, line {getattr(error, 'lineno', '?')})",))
    return _Part(symbols=symbols_in(statements, module.name, module.wants))


def _statements(content: bytes, module: WantedModule) -> list[ast.stmt]:
    if len(content) > _LARGE_FILE_BYTES:
        source = content.decode("utf-8", errors="replace").replace("\r\n", "\n")
        cut = outline(source) if module.names is None else definitions(source, module.names)
        if cut is not None:
            return cut
    return ast.parse(content).body


def _lacks_members(symbol: Symbol) -> bool:
    return symbol.enum_kind == "pybind" and symbol.members is None


def _with_members(symbol: Symbol, enums: dict[str, dict[str, int]]) -> Symbol:
    if not _lacks_members(symbol):
        return symbol
    return replace(symbol, members=enums.get(symbol.path.rpartition(".")[2]))


def _header(location: str) -> _Part:
    for root in _roots(location):
        tree = open_tree(root)
        if tree is None:
            continue
        with tree:
            name = next((name for name in _HEADERS if tree.is_file(name)), None)
            if name is not None:
                return _remembered(tree, name, _read_header)
    return _Part(notes=(f"{ENUM_MODULE}: no aiter_enum.h beside {location}, so the members are unknown",))


def _roots(location: str) -> list[str]:
    """Folders in which the header's own paths may start; a folder of links (strict editable mode) leads to a second."""
    parent = os.path.dirname(location)
    linked = os.path.dirname(
        os.path.dirname(os.path.dirname(os.path.realpath(os.path.join(location, "ops", "enum.py"))))
    )
    return [parent] if linked == os.path.realpath(parent) else [parent, linked]


def _read_header(content: bytes) -> _Part:
    return _Part(enums=enums_in(content.decode("utf-8", errors="replace")))
