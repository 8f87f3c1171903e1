"""The only place that imports AITER: one attempt per module, its error kept, its debris removed."""

from aiter_compat.native.loader import ImportOutcome, attempt, forget_attempts, import_symbol

__all__ = ["ImportOutcome", "attempt", "forget_attempts", "import_symbol"]
