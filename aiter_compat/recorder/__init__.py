"""Make release records from AITER's sources, without executing them, and compare records."""

from aiter_compat.recorder.compare import Changes, SignatureChange, compare
from aiter_compat.recorder.draft import draft
from aiter_compat.recorder.source import record_source
from aiter_compat.recorder.symbol_writing import symbols_text, write_symbols
from aiter_compat.recorder.symbols import record_symbols
from aiter_compat.recorder.writing import record_text, write_record

__all__ = [
    "Changes",
    "SignatureChange",
    "compare",
    "draft",
    "record_source",
    "record_symbols",
    "record_text",
    "symbols_text",
    "write_record",
    "write_symbols",
]
