"""Cut single top-level definitions out of a large source text, without parsing the rest of it.

AITER's kernel files reach 200 kB; parsing one whole to learn of one class costs as much as all other modules together.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable

_TOP_LEVEL = re.compile(r"^(?=[A-Za-z_@])", re.MULTILINE)


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


def _statement(source: str, start: int) -> ast.stmt | None:
    """The statement at `start`: up to the next top-level line, or a later one where a string holds such a line."""
    ends = [match.start() for match in _TOP_LEVEL.finditer(source, start + 1)][:8]
    for end in [*ends, len(source)] if len(ends) < 8 else ends:
        try:
            return ast.parse(source[start:end]).body[0]
        except SyntaxError:
            continue
    return None
