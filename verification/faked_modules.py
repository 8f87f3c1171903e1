"""Import chosen modules of a host from its sources, with everything else of the host faked.

An inference engine's modules import hundreds of others, down to compiled extensions and GPU drivers. What is shown here
needs none of them to work: a faked module has every attribute, each of them a class that can be called, subclassed,
subscripted and used as a decorator, and is true.
"""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import importlib.util
import types
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import Any


class _Anything(type):
    """Class of the faked names."""

    def __getattr__(cls, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        made = _fake(f"{cls.__qualname__}.{name}")
        setattr(cls, name, made)
        return made

    def __call__(cls, *arguments: Any, **keywords: Any) -> Any:
        if "is_fake" not in vars(cls):  # a class of the host's own below a faked one
            return super().__call__(*arguments, **keywords)
        decorated = arguments[0] if len(arguments) == 1 and not keywords else None
        return decorated if isinstance(decorated, (types.FunctionType, classmethod, staticmethod, type)) else cls

    def __getitem__(cls, key: Any) -> Any:
        return cls

    def __or__(cls, other: Any) -> Any:
        return cls

    __ror__ = __or__

    def __iter__(cls) -> Iterator[Any]:
        return iter(())

    def __bool__(cls) -> bool:
        return True

    def __gt__(cls, other: Any) -> bool:
        """A faked version or capability is above any number."""
        return True

    __ge__ = __gt__

    def __lt__(cls, other: Any) -> bool:
        """See `__gt__`."""
        return False

    __le__ = __lt__

    def __repr__(cls) -> str:
        return f"<{cls.__qualname__}>"


def _fake(name: str) -> Any:
    def accept(self: object, *arguments: Any, **keywords: Any) -> None:
        del self, arguments, keywords

    return _Anything(name, (), {"is_fake": True, "__init__": accept})


class _FakedModule(types.ModuleType):
    """A module that has every name."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        made = _fake(f"{self.__name__}.{name}")
        setattr(self, name, made)
        return made


class FakedHost(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finder for the modules of a host.

    Args:
        root: folder that holds the host's package.
        package: its name.
        real: dotted names of the modules that are read from the sources.
    """

    def __init__(self, root: Path, package: str, real: Collection[str]) -> None:
        self._root = root
        self._package = package
        self._real = real

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: types.ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """A real file for the chosen modules, a fake for the host's others, nothing for anybody else's."""
        del path, target
        if fullname.partition(".")[0] != self._package:
            return None
        if fullname in self._real:
            return importlib.util.spec_from_file_location(fullname, self._root / f"{fullname.replace('.', '/')}.py")
        return importlib.machinery.ModuleSpec(fullname, self, is_package=True)

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> types.ModuleType:
        """See `importlib.abc.Loader`."""
        return _FakedModule(spec.name)

    def exec_module(self, module: types.ModuleType) -> None:
        """See `importlib.abc.Loader`: there is nothing to execute."""
