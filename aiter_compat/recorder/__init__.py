"""Make release records from AITER's sources, without executing them."""

from aiter_compat.recorder.source import record_source
from aiter_compat.recorder.writing import record_text, write_record

__all__ = ["record_source", "record_text", "write_record"]
