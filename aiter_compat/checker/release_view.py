"""What a host finds in one release of AITER: whether a module imports, where a path ends, what a function takes."""

from __future__ import annotations

from typing import Literal, NamedTuple

from packaging.version import Version

from aiter_compat.probe.lookup import find
from aiter_compat.probe.model import Symbol
from aiter_compat.releases.symbol_records import SymbolRecord, symbol_record

Lack = Literal["missing-module", "missing-symbol", "missing-enum-member"]

_GENERATED = ("aiter._version", "aiter.install_mode")  # written when AITER is built
_COMPILED = "aiter.jit.module_"  # built on the machine at first use
_OF_EVERY_ENUM = frozenset({"name", "value", "mro", "register"})
# The wrapper that AITER puts around its compiled operators takes it beside the operator's own parameters.
_TAKEN_BY_COMPILED_OPERATORS = frozenset({"custom_build_args"})

# Names under which AITER's modules import other packages. Records hold AITER's own names only, so whether a module of
# a release has one of these is not known.
_BORROWED = frozenset({"F", "dist", "fx", "gl", "gluon", "np", "os", "pd", "sys", "tl", "torch", "triton"})


class Ending(NamedTuple):
    """Where a dotted path ends in a release.

    Attributes:
        symbol: what it leads to; for a path into a class or variable, that class or variable.
        lack: what is missing; None when nothing is known to be.
        at: the part of the path that is missing.
        rest: what follows the symbol in the path.
    """

    symbol: Symbol | None
    lack: Lack | None = None
    at: str = ""
    rest: str = ""


class ReleaseView:
    """One recorded release, asked the way Python's import and attribute access would.

    Args:
        record: its symbols.
    """

    def __init__(self, record: SymbolRecord) -> None:
        self.release = record.release
        self.tag = record.tag
        self._record = record
        self._found: dict[str, Symbol | None] = {}
        self._endings: dict[str, Ending] = {}

    @classmethod
    def of(cls, release: str) -> ReleaseView:
        """The view of the recorded tag of that very number.

        Raises:
            RecordError: it is not recorded.
        """
        return cls(symbol_record(release, exact=True))

    def order(self) -> Version:
        """What sorts releases from old to new."""
        return Version(self.release)

    def imports(self, module: str) -> bool:
        """Whether `import module` works, as far as files tell."""
        if module.startswith((_COMPILED, *_GENERATED)) or self._record.has_module(module):
            return True
        parent, _, name = module.rpartition(".")
        if not parent or not self.imports(parent):
            return False
        real = self._real(parent)
        if real != parent:  # below an old name of a package
            return self.imports(f"{real}.{name}")
        names = self._record.names(parent)
        symbol = self.find(module)  # an old module name, for which AITER has a finder
        return names is not None and name in names.lazy and symbol is not None and symbol.kind == "module"

    def find(self, path: str) -> Symbol | None:
        """What `path` leads to."""
        if path not in self._found:
            self._found[path] = find(self._record, path)
        return self._found[path]

    def imported(self, module: str, path: str) -> Ending:
        """Where `from module import …` (`path` names what) or `import module` (`path` is the module) ends."""
        parts = module.split(".")
        for size in range(1, len(parts) + 1):
            prefix = ".".join(parts[:size])
            if not self.imports(prefix):
                return Ending(None, "missing-module", prefix)
        if path == module:
            return Ending(self.find(path))
        return self._known(path) or Ending(None, "missing-symbol", path)

    def reached(self, path: str) -> Ending:
        """Where the attribute access `path` ends: at its end, at a class or variable, or at what is missing."""
        if path not in self._endings:
            self._endings[path] = self._walk(path)
        return self._endings[path]

    def has(self, path: str) -> bool:
        """Whether nothing along the path is known to be missing."""
        return self.reached(path).lack is None

    def takes(self, path: str, keyword: str) -> bool | None:
        """Whether what `path` leads to can be called with the keyword; None when its parameters are not known."""
        ending = self.reached(path)
        if ending.symbol is None or ending.symbol.parameters is None or ending.rest:
            return None
        if keyword in _TAKEN_BY_COMPILED_OPERATORS:
            return None
        return any(
            parameter.kind == "var_keyword" or (parameter.name == keyword and parameter.kind != "positional_only")
            for parameter in ending.symbol.parameters
        )

    def _walk(self, path: str) -> Ending:
        parts = path.split(".")
        symbol: Symbol | None = None
        for size in range(1, len(parts) + 1):
            prefix, rest = ".".join(parts[:size]), ".".join(parts[size:])
            found = self._known(prefix)
            if found is None:
                return Ending(symbol, "missing-symbol", prefix, rest)
            symbol = found.symbol
            if symbol is None or symbol.kind == "enum":
                return Ending(symbol) if symbol is None else _member(symbol, prefix, parts[size:])
            if symbol.kind != "module":
                return Ending(symbol, rest=rest)
        return Ending(symbol)

    def _known(self, path: str) -> Ending | None:
        if path.startswith((_COMPILED, *_GENERATED)) or path.rpartition(".")[2] in ("__file__", "__path__", "__name__"):
            return Ending(None)
        symbol = self.find(path)
        if symbol is not None:
            return Ending(symbol)
        owner, _, name = path.rpartition(".")
        return Ending(None) if name in _BORROWED and self.find(owner) is not None else None

    def _real(self, module: str) -> str:
        symbol = self.find(module)
        return module if symbol is None or symbol.kind != "module" else symbol.path


def _member(symbol: Symbol, prefix: str, rest: list[str]) -> Ending:
    if not rest or symbol.members is None or rest[0] in symbol.members:
        return Ending(symbol, rest=".".join(rest))
    if rest[0] in _OF_EVERY_ENUM or rest[0].startswith("_"):
        return Ending(symbol, rest=".".join(rest))
    return Ending(symbol, "missing-enum-member", f"{prefix}.{rest[0]}")
