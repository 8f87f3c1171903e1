"""Cut top-level definitions out of a large source text, without parsing the rest of it.

AITER's files reach 200 kB, nearly all of it bodies of functions; parsing one whole to learn of its signatures costs as
much as all other modules together.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable
from itertools import pairwise

_TOP_LEVEL = re.compile(r"^(?=[A-Za-z_@])", re.MULTILINE)
# Where a statement may begin: clauses belong to the one before, and so do closing brackets.
_STATEMENT = re.compile(r"^(?=[A-Za-z_@])(?!(?:else|elif|except|finally)\b)", re.MULTILINE)
_KIND = re.compile(r"(?:async[ \t]+)?(def|class|try|if|with)\b")
_BRACKET_OR_COLON = re.compile(r"[()\[\]{}:]")
_TEXT_OR_COMMENT = re.compile(
    r'"""[^"\\]*(?:(?:\\.|"(?!""))[^"\\]*)*"""'
    r"|'''[^'\\]*(?:(?:\\.|'(?!''))[^'\\]*)*'''"
    r'|"[^"\\\n]*(?:\\.[^"\\\n]*)*"'
    r"|'[^'\\\n]*(?:\\.[^'\\\n]*)*'"
    r"|#[^\n]*",
    re.DOTALL,
)


def definitions(source: str, names: Iterable[str]) -> list[ast.stmt] | None:
    """The top-level `def` and `class` statements of these names, in the order of `names`.

    Returns:
        None when one cannot be cut out cleanly, so that the text has to be parsed as a whole.
    """
    found: list[ast.stmt] = []
    for name in names:
        for start in re.finditer(rf"^(?:async def|def|class) {re.escape(name)}\b", source, re.MULTILINE):
            statement = _statement(source, start.start())
            if statement is None:
                return None
            found.append(statement)
    return found


def outline(source: str) -> list[ast.stmt] | None:
    """Every top-level function without its body and decorators, and every class and `try`, `if` and `with` block whole.

    Returns:
        None when the text cannot be cut cleanly, so that it has to be parsed as a whole.
    """
    visible = _TEXT_OR_COMMENT.sub(_blank, source)
    starts = [match.start() for match in _STATEMENT.finditer(visible)]
    parts: list[str] = []
    for start, end in pairwise([*starts, len(source)]):
        kind = _KIND.match(visible, start)
        if kind is None:
            continue
        if kind[1] == "def":
            colon = _end_of_header(visible, start, end)
            if colon is None:
                return None
            parts.append(f"{source[start:colon]}: ...\n")
        else:
            parts.append(source[start:end])
    try:
        return ast.parse("".join(parts)).body
    except SyntaxError:
        return None


def _blank(match: re.Match[str]) -> str:
    """As many spaces, on as many lines: what a text holds is no code, and must not look like any."""
    return "\n".join(" " * len(line) for line in match[0].split("\n"))


def _end_of_header(visible: str, start: int, end: int) -> int | None:
    """Place of the colon that ends the header of the function at `start`: the first one outside all brackets."""
    depth = 0
    for match in _BRACKET_OR_COLON.finditer(visible, start, end):
        if match[0] != ":":
            depth += 1 if match[0] in "([{" else -1
        elif depth == 0:
            return match.start()
    return None


def _statement(source: str, start: int) -> ast.stmt | None:
    """The statement at `start`: up to the next top-level line, or a later one where a string holds such a line."""
    ends = [match.start() for match in _TOP_LEVEL.finditer(source, start + 1)][:8]
    for end in [*ends, len(source)] if len(ends) < 8 else ends:
        try:
            return ast.parse(source[start:end]).body[0]
        except SyntaxError:
            continue
    return None
