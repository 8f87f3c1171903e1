"""Collect the report. A part that fails is reported as its error; the report itself always comes out."""

from __future__ import annotations

import contextlib
import platform
import sys
from collections.abc import Callable
from importlib import metadata
from typing import Any

from aiter_compat._version import __version__
from aiter_compat.detect import installation
from aiter_compat.features import active_surface, capabilities
from aiter_compat.features.paths import ACTIVATION_TYPE, FUSED_MOE, GATE_MODE, QUANT_TYPE, stated_members
from aiter_compat.probe import Surface
from aiter_compat.profiles import profile_for_release
from aiter_compat.quirks import obsolete_workarounds, quirks_of
from aiter_compat.settings import settings

SCHEMA = 1
_PACKAGES = ("torch", "triton", "flydsl", "transformers", "vllm", "sglang", "amd-quark", "amd-aiter", "aiter")


def examine(*, try_import: bool = False) -> dict[str, Any]:
    """The report, ready for JSON.

    Args:
        try_import: import AITER once and report its own error; otherwise nothing of AITER is executed.
    """
    report: dict[str, Any] = {"schema": SCHEMA, "aiter_compat": __version__, "errors": {}}
    parts: dict[str, Callable[[], Any]] = {  # in order: the later ones look at the earlier ones
        "machine": _machine,
        "packages": _packages,
        "aiter": lambda: installation().as_dict() | {"summary": str(installation())},
        "surface": _surface,
        "import": lambda: _import(try_import),
        "capabilities": _capabilities,
        "quirks": lambda: _quirks(_readable_surface(report)),
        "obsolete_workarounds": lambda: _obsolete_workarounds(_readable_surface(report)),
        "serving": lambda: _serving(report.get("packages") or {}, report.get("import") or {}),
        "settings": lambda: {"strict": settings().strict, "checks": settings().checks},
    }
    for name, collect in parts.items():
        try:
            report[name] = collect()
        except Exception as error:  # noqa: BLE001 - a doctor that crashes helps nobody; the error is in the report
            report[name] = _EMPTY.get(name)
            report["errors"][name] = f"{type(error).__name__}: {error}"
    return report


_EMPTY: dict[str, Any] = {"import": {"tried": False, "error": None}}


def _machine() -> dict[str, str]:
    return {
        "python": platform.python_version(),
        "implementation": sys.implementation.name,
        "platform": platform.platform(),
        "machine": platform.machine(),
    }


def _packages() -> dict[str, str]:
    found = {}
    for name in _PACKAGES:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return found


def _surface() -> dict[str, Any] | None:
    surface = active_surface()
    if surface is None:
        return None
    parameters = surface.parameters(FUSED_MOE)
    return {
        "fused_moe": None if parameters is None else [parameter.name for parameter in parameters],
        "GateMode": surface.first(GATE_MODE),
        "ActivationType": dict(stated_members(surface, ACTIVATION_TYPE) or {}),
        "QuantType": dict(stated_members(surface, QUANT_TYPE) or {}),
        "notes": list(surface.notes),
    }


def _import(wanted: bool) -> dict[str, Any]:
    if not wanted or installation().kind != "present":
        return {"tried": False, "error": None}
    from aiter_compat.native import attempt

    with contextlib.redirect_stdout(sys.stderr):  # AITER may print, and stdout is for the report
        return {"tried": True, "error": attempt().reason or None}


def _capabilities() -> dict[str, dict[str, Any]]:
    return {
        name: {"available": capability.available, "reason": capability.reason, "since": capability.since}
        for name, capability in capabilities().items()
    }


def _readable_surface(report: dict[str, Any]) -> Surface | None:
    """The installed surface; None where it could not be read, so that the version number has to do."""
    return None if "surface" in report["errors"] else active_surface()


def _quirks(surface: Surface | None) -> list[dict[str, Any]]:
    if installation().kind != "present":
        return []
    return [
        {
            "name": quirk.name,
            "outcome": quirk.outcome,
            "effect": quirk.effect,
            "remedy": quirk.remedy,
            "source": quirk.source,
            "expires": quirk.expires,
        }
        for quirk in quirks_of(installation().release, surface)
    ]


def _obsolete_workarounds(surface: Surface | None) -> list[dict[str, Any]]:
    if installation().kind != "present":
        return []
    return [
        {
            "name": found.workaround.name,
            "workaround": found.workaround.habit,
            "instead": found.workaround.instead,
            "quirk": found.quirk.name,
            "obsolete_since": found.quirk.expires,
            "source": found.quirk.source,
            "variable": found.workaround.variable,
            "in_use": found.in_use,
        }
        for found in obsolete_workarounds(installation().release, surface)
    ]


def _serving(packages: dict[str, str], outcome: dict[str, Any]) -> dict[str, str | None]:
    """What serves a call, as far as files tell; a call itself also looks at the device and tries the import."""
    found = installation()
    numerics = profile_for_release(found.release)
    if "torch" not in packages:
        reason = "torch is not installed (pip install 'aiter-compat[torch]')"
        return {"backend": None, "reason": reason, "numerics": numerics}
    if found.kind != "present":
        return {"backend": "emulation", "reason": str(found._replace(warnings=())), "numerics": numerics}
    if outcome.get("error"):
        return {"backend": "emulation", "reason": "the installed AITER does not import", "numerics": numerics}
    imports = "it imports" if outcome.get("tried") else "if it imports (--try-import tells)"
    reason = f"{imports}; emulation on the CPU and for what this release cannot express"
    return {"backend": "aiter on ROCm GPUs", "reason": reason, "numerics": numerics}
