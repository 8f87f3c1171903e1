"""The installation of this process, examined once.

There is no lock, so that a fork taken while another thread is examining cannot leave one locked in the child: threads
that ask at the same time may examine twice, and all are given the same result.
"""

from __future__ import annotations

from aiter_compat.detect.examine import detect
from aiter_compat.detect.model import Installation

_results: dict[int, Installation] = {}
_generation = 0


def installation() -> Installation:
    """What is installed under the name `aiter` for this process; examined on the first call, then remembered.

    Never imports or executes anything. `forget_installation` makes the next call look again.
    """
    generation = _generation
    known = _results.get(generation)
    return known if known is not None else _results.setdefault(generation, detect())


def forget_installation() -> None:
    """Forget what was found; a result that a running examination is about to store is forgotten too."""
    global _generation  # noqa: PLW0603 - the one piece of state of this module
    _generation += 1
    _results.clear()
