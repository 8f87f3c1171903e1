"""Rewrite one file in memory."""

from __future__ import annotations

import ast
import warnings

import libcst as cst
from libcst.metadata import MetadataWrapper

from aiter_compat.migrate.bindings import Bindings
from aiter_compat.migrate.concern import concerns
from aiter_compat.migrate.decide import decide
from aiter_compat.migrate.outcome import Note, Outcome, Rewritten, Unreadable, Untouched
from aiter_compat.migrate.plan import Plan
from aiter_compat.migrate.rewriter import Rewriter

_TOO_DEEP = "is nested too deeply to be read"


def rewrite(content: bytes, file: str, plan: Plan) -> Outcome:
    """What the plan makes of a file.

    Bytes outside the edits stay as they are: comments, indentation, line endings, a byte order mark, the encoding.

    Args:
        content: the file's bytes.
        file: its name in the report.
        plan: where symbols are to be taken from.
    """
    # Python's own parser goes first: it is fast, and it has a limit for nesting where LibCST's overflows the stack.
    try:
        if not concerns(_tree(content), plan):
            return Untouched(file)
    except (SyntaxError, ValueError) as error:
        return Unreadable(file, f"cannot be parsed ({_reason(error)})")
    except (RecursionError, MemoryError):
        return Unreadable(file, _TOO_DEEP)
    try:
        return _rewritten(content, file, plan)
    except RecursionError:
        return Unreadable(file, _TOO_DEEP)
    except (cst.ParserSyntaxError, SyntaxError, ValueError, LookupError) as error:
        return Unreadable(file, f"cannot be parsed by LibCST ({_reason(error)})")


def _tree(content: bytes) -> ast.Module:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about escapes in someone else's strings
        return ast.parse(content)


def _rewritten(content: bytes, file: str, plan: Plan) -> Outcome:
    module = cst.parse_module(content)
    if module.bytes != content:
        return Unreadable(file, "has line endings or form feeds that LibCST does not keep")
    decisions = decide(Bindings(MetadataWrapper(module, unsafe_skip_copy=True)), plan)
    after = module.visit(Rewriter(decisions)).bytes
    notes = tuple(sorted(set(decisions.notes), key=_place))
    if after == content:
        return Untouched(file, notes)
    return Rewritten(file, content, after, decisions.rules(), notes)


def _place(note: Note) -> tuple[int, str, str]:
    return note.line, note.rule, note.reason


def _reason(error: Exception) -> str:
    if isinstance(error, cst.ParserSyntaxError):
        return f"line {error.raw_line}"
    if isinstance(error, SyntaxError) and error.lineno:
        return f"line {error.lineno}"
    return str(error).partition("\n")[0]
