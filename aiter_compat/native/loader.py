"""Import modules of an installed AITER, once each, and leave the process as it was when that fails.

A failed `import aiter` on a machine without ROCm raises RuntimeError, AttributeError, ValueError or ImportError
depending on the release, leaves `aiter.jit` and top-level modules of its build helpers in `sys.modules`, and puts one
more entry at the head of `sys.path` at every retry (observed on v0.1.13.post1 to v0.1.20.post1; ROCm/aiter#1498). So
the first error is kept for the life of the process and nothing is tried twice; `ac.refresh()` forgets it.
"""

from __future__ import annotations

import importlib
import os
import sys
import threading
import traceback
from dataclasses import dataclass
from types import ModuleType

from aiter_compat.detect import installation
from aiter_compat.errors import AiterImportError
from aiter_compat.native.debris import Snapshot

_lock = threading.RLock()
_outcomes: dict[str, ImportOutcome] = {}


def _renew_lock() -> None:
    """A fork copies the lock as it is, and the thread that held it does not exist in the child."""
    global _lock  # noqa: PLW0603
    _lock = threading.RLock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew_lock)


@dataclass(frozen=True)
class ImportOutcome:
    """What importing one AITER module gave.

    Attributes:
        name: dotted module name.
        module: the module, or None when the import failed.
        error: AITER's own error, or None when the import worked. An AITER that calls `sys.exit` counts as one that
            fails; a host must not end because of it.
    """

    name: str
    module: ModuleType | None
    error: Exception | SystemExit | None

    @property
    def reason(self) -> str:
        """One sentence for a person: what failed and with which error of AITER's ("" when it worked)."""
        if self.error is None:
            return ""
        text = " ".join(str(self.error).split()) or "no message"
        return f"importing {self.name} failed: {type(self.error).__name__}: {text}"


def attempt(name: str = "aiter.fused_moe") -> ImportOutcome:
    """Import `name` from the installed AITER, or return the kept outcome of the first attempt.

    A package that failed stands for all its submodules, so that asking for `aiter.ops.enum` after `import aiter` failed
    does not run AITER's import a second time.

    Raises:
        AiterImportError: no AITER is installed (nothing was tried).
    """
    with _lock:
        known = _outcomes.get(name)
        if known is not None:
            return known
        found = installation()
        if found.kind != "present" or found.location is None:
            raise AiterImportError([f"{name} cannot be imported: {found}"])
        parent, _, _ = name.rpartition(".")
        if parent:
            outer = attempt(parent)
            if outer.error is not None:
                return _keep(ImportOutcome(name, None, outer.error))
        return _keep(_import(name, found.location))


def import_symbol(path: str) -> object:
    """Import the object at the dotted `path` ("aiter.ops.enum.QuantType") from the installed AITER.

    Raises:
        AiterImportError: its module cannot be imported (AITER's error is the cause), or lacks the name.
    """
    module_name, _, attribute = path.rpartition(".")
    outcome = attempt(module_name)
    if outcome.module is None:
        raise AiterImportError([f"{path} is not available: {outcome.reason}"]) from outcome.error
    try:
        return getattr(outcome.module, attribute)
    except AttributeError as error:
        raise AiterImportError([f"{path} is not available: module {module_name} has no {attribute!r}"]) from error


def forget_attempts() -> None:
    """Forget kept outcomes, so that the next call tries again."""
    with _lock:
        _outcomes.clear()


def _keep(outcome: ImportOutcome) -> ImportOutcome:
    _outcomes[outcome.name] = outcome
    return outcome


def _import(name: str, location: str) -> ImportOutcome:
    before = Snapshot.take()
    try:
        return ImportOutcome(name, importlib.import_module(name), None)
    except (Exception, SystemExit) as error:  # AITER's import raises anything; it is kept and reported
        before.restore(os.path.dirname(location) or os.curdir, keep_package="aiter" in sys.modules)
        if isinstance(error, SystemExit) and not _raised_below(location, error):
            raise
        return ImportOutcome(name, None, error)


def _raised_below(folder: str, error: BaseException) -> bool:
    """Whether the error comes from a file of the folder, not from a host's signal handler that ran meanwhile."""
    *_, (frame, _) = traceback.walk_tb(error.__traceback__)
    return frame.f_code.co_filename.startswith(os.path.join(folder, ""))
