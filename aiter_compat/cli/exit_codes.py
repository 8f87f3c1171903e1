"""Exit codes of every command."""

from __future__ import annotations

from typing import Final

FINE: Final = 0
FINDINGS: Final = 1
USAGE: Final = 2
ENVIRONMENT: Final = 3
