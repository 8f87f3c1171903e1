"""The doctor: one report about this machine, as a dictionary and as text."""

from aiter_compat.doctor.report import SCHEMA, examine
from aiter_compat.doctor.text import as_text

__all__ = ["SCHEMA", "as_text", "examine"]
