"""Results as JSON files with the machine and the date that they are from."""

from __future__ import annotations

import importlib.metadata
import json
import os
import platform
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent / "results"
_PACKAGES = ("torch", "numba", "numpy")


def machine() -> dict[str, Any]:
    """What a reader needs to judge a number; no name of the machine."""
    return {
        "date": datetime.now(timezone.utc).isoformat(timespec="seconds"),
        "processor": _processor(),
        "processors": os.cpu_count(),
        "load_average": os.getloadavg()[0] if hasattr(os, "getloadavg") else None,
        "python": platform.python_version(),
        "packages": {name: _version(name) for name in _PACKAGES},
    }


def write(name: str, measured: dict[str, Any]) -> Path:
    """Write `results/<name>.json`; returns its path."""
    FOLDER.mkdir(exist_ok=True)
    path = FOLDER / f"{name}.json"
    path.write_text(json.dumps({"machine": machine(), **measured}, indent=1) + "\n", encoding="utf-8")
    return path


def read(name: str) -> dict[str, Any]:
    """The content of `results/<name>.json`."""
    content: dict[str, Any] = json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))
    return content


def _processor() -> str:
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        fields = dict(line.split(":", 1) for line in cpuinfo.read_text(encoding="utf-8").splitlines() if ":" in line)
        named = {key.strip(): value.strip() for key, value in fields.items()}
        if "model name" in named:
            details = (f"{key} {named[key]}" for key in ("cpu family", "model") if key in named)
            return ", ".join((named["model name"], *details))
    return platform.processor() or platform.machine()


def _version(package: str) -> str | None:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None
