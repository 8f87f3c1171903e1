"""Scan the source of one file."""

from __future__ import annotations

import ast
import warnings
from dataclasses import replace

from aiter_compat.hostscan.environment import Environment
from aiter_compat.hostscan.expressions import Expressions
from aiter_compat.hostscan.imports import Imports
from aiter_compat.hostscan.model import FileScan, Target
from aiter_compat.hostscan.recording import Recording
from aiter_compat.hostscan.statements import Statements
from aiter_compat.hostscan.tables import Tables
from aiter_compat.hostscan.values import Flag, Values, is_mixed, targets

_MOST_WALKS = 3
"""What functions return, receive and declare global is known from the second walk on, what guards it from the third."""


def scan_source(content: bytes, file: str, module: str, own: frozenset[str]) -> FileScan:
    """What a file does with AITER, as far as the file alone tells.

    Args:
        content: its bytes; an encoding declared in them is honoured.
        file: its name in the report.
        module: dotted name under which the host imports it.
        own: top-level names of the host's packages.

    Returns:
        The scan; with `error` when the source is no Python of this interpreter's version.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about escapes in someone else's strings
            tree = ast.parse(content)
        return _walked(tree, file, module, own)
    except (SyntaxError, ValueError) as error:
        line = f", line {error.lineno}" if isinstance(error, SyntaxError) and error.lineno else ""
        return FileScan(file, module, error=f"cannot be parsed ({getattr(error, 'msg', None) or error}{line})")
    except (RecursionError, MemoryError) as error:
        return FileScan(file, module, error=f"is nested too deeply to be read ({type(error).__name__})")


def _walked(tree: ast.Module, file: str, module: str, own: frozenset[str]) -> FileScan:
    imports = Imports(module, is_package=file.endswith("__init__.py"), own=own)
    before: Tables | None = None
    for _ in range(_MOST_WALKS):
        tables, environment, recording = Tables(before), Environment(None), Recording()
        Statements(Expressions(recording, tables, environment), imports).module(tree.body)
        if tables.same_as(before):
            break
        before = tables
    bound = {**environment.names, **tables.attributes()}
    bound.update({f"{name}()": values for name, values in tables.returning().items()})
    exports = {name: _offered(values) for name, values in bound.items()}
    flags = {name: value.true for name, values in bound.items() for value in values if isinstance(value, Flag)}
    return FileScan(
        file,
        module,
        uses=tuple(recording.uses),
        exports=tuple((name, found) for name, found in exports.items() if found),
        flags=tuple(flags.items()),
        probes=tuple(tables.probes().items()),
        stars=tuple(star.path for star in environment.stars),
    )


def _offered(values: Values) -> tuple[Target, ...]:
    mixed = is_mixed(values)
    return tuple(replace(target, mixed=mixed) for target in targets(values))
