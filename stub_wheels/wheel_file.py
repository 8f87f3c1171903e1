"""Writes a wheel: a zip with METADATA, WHEEL and RECORD (PyPA binary distribution format); the same bytes each time."""

from __future__ import annotations

import base64
import hashlib
import zipfile
from collections.abc import Mapping
from pathlib import Path

_TIMESTAMP = (1980, 1, 1, 0, 0, 0)  # the earliest that a zip can hold
_MODE = 0o100644 << 16
_TAG = "py3-none-any"


def write_wheel(
    folder: Path, *, distribution: str, version: str, summary: str, top_level: str, files: Mapping[str, str]
) -> Path:
    """Write `files` as a wheel into `folder`, which is made when missing.

    Args:
        folder: where the wheel goes.
        distribution: name of the distribution, such as "amd-aiter".
        version: its PEP 440 version.
        summary: one line for METADATA.
        top_level: names of the top-level packages, one a line, for top_level.txt.
        files: path inside the wheel -> text.

    Returns:
        Path of the wheel.
    """
    escaped = distribution.replace("-", "_")
    info = f"{escaped}-{version}.dist-info"
    content = dict(sorted(files.items()))
    content[f"{info}/METADATA"] = (
        f"Metadata-Version: 2.1\nName: {distribution}\nVersion: {version}\nSummary: {summary}\n"
    )
    content[f"{info}/WHEEL"] = f"Wheel-Version: 1.0\nGenerator: stub_wheels\nRoot-Is-Purelib: true\nTag: {_TAG}\n"
    content[f"{info}/top_level.txt"] = top_level
    record = "".join(f"{path},{_digest(text)},{len(text.encode())}\n" for path, text in content.items())
    content[f"{info}/RECORD"] = f"{record}{info}/RECORD,,\n"

    folder.mkdir(parents=True, exist_ok=True)
    wheel = folder / f"{escaped}-{version}-{_TAG}.whl"
    with zipfile.ZipFile(wheel, "w") as archive:  # stored, not deflated: zlib versions compress differently
        for path, text in content.items():
            entry = zipfile.ZipInfo(path, _TIMESTAMP)
            entry.external_attr = _MODE
            archive.writestr(entry, text)
    return wheel


def _digest(text: str) -> str:
    digest = base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).rstrip(b"=")
    return f"sha256={digest.decode()}"
