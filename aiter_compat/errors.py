"""Every error that aiter_compat raises, derived from one base class.

A message names the argument, what was given, what is allowed and what to do, so that a host's log is enough to
act on. `InvalidArgument` builds that sentence from its four parts, which stay readable as attributes.
"""

from __future__ import annotations

from collections.abc import Iterable


class AiterCompatError(Exception):
    """Base class of every error raised by aiter_compat."""

    __module__ = "aiter_compat"


class InvalidArgument(AiterCompatError, ValueError):
    """An argument is wrong whatever AITER is installed.

    Attributes:
        argument: name of the argument.
        given: what the caller passed, as text.
        allowed: what would have been accepted, as text.
        remedy: what to do about it, as text ("" when `allowed` says it all).
    """

    __module__ = "aiter_compat"

    def __init__(self, argument: str, given: object, allowed: object, remedy: str = "") -> None:
        self.argument = argument
        self.given = _text(given)
        self.allowed = _text(allowed)
        self.remedy = remedy
        message = f"{argument}: got {self.given}; allowed: {self.allowed}."
        super().__init__(f"{message} {remedy}" if remedy else message)

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (self.argument, self.given, self.allowed, self.remedy)


class UnsupportedByAiter(AiterCompatError):
    """The installed AITER cannot express this call, and the caller asked for AITER and nothing else.

    Attributes:
        reasons: one sentence for each thing that stands in the way.
    """

    __module__ = "aiter_compat"

    def __init__(self, reasons: Iterable[str], remedy: str = "") -> None:
        self.reasons = tuple(reasons)
        self.remedy = remedy
        text = "AITER cannot serve this call: " + "; ".join(self.reasons) + "."
        super().__init__(f"{text} {remedy}" if remedy else text)

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (self.reasons, self.remedy)


class UnsupportedByEmulation(AiterCompatError):
    """The emulation backend cannot compute this call (an unknown keyword, a format that it does not have)."""

    __module__ = "aiter_compat"


class LayoutUnknown(AiterCompatError):
    """The memory layout of the weights decides the result, and nothing says what it is."""

    __module__ = "aiter_compat"


class AiterImportError(UnsupportedByAiter):
    """AITER is not installed, or importing it failed; then `__cause__` is AITER's own error."""

    __module__ = "aiter_compat"


class AiterCallError(AiterCompatError):
    """Context of an error that AITER raised while running a call: which release, which call, which decision.

    It is the `__cause__` of AITER's own error, which is what the caller catches.
    """

    __module__ = "aiter_compat"


class ContractChanged(AiterCompatError):
    """A symbol kept its name and changed its signature between releases."""

    __module__ = "aiter_compat"


class RecordError(AiterCompatError):
    """A release record is missing, malformed or of a schema that this version does not read."""

    __module__ = "aiter_compat"


class SettingsError(AiterCompatError, ValueError):
    """An `AITER_COMPAT_*` environment variable holds a value that is not allowed."""

    __module__ = "aiter_compat"


def _text(value: object) -> str:
    return value if isinstance(value, str) else repr(value)
