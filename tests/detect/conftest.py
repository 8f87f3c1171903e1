"""Fake folders of `sys.path`, with what real installers leave in them."""

from __future__ import annotations

import base64
import hashlib
import json
import subprocess
import sys
import textwrap
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

import aiter_compat

TRAP = "raise AssertionError('aiter was executed')\n"
AMD_FILES = {
    "__init__.py": TRAP,
    "fused_moe.py": TRAP,
    "ops/__init__.py": TRAP,
    "ops/enum.py": TRAP,
    "jit/core.py": TRAP,
}
FOREIGN_FILES = {
    "__init__.py": f"__all__ = ['azip', 'join_aiters']\n{TRAP}",
    "azip.py": TRAP,
    "join_aiters.py": TRAP,
}


class FakeSite:
    """One folder of `sys.path`."""

    def __init__(self, root: Path) -> None:
        self.root = root
        root.mkdir(parents=True, exist_ok=True)

    def __str__(self) -> str:
        return str(self.root)

    def write(self, name: str, text: str = "") -> Path:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return path

    def package(self, files: Mapping[str, str] = AMD_FILES, version: str | None = None) -> Path:
        """The folder `aiter`; `version` adds the `_version.py` that setuptools_scm generates."""
        for name, text in files.items():
            self.write(f"aiter/{name}", text)
        if version is not None:
            self.write("aiter/_version.py", f"__version__ = '{version}'\n")
        return self.root / "aiter"

    def dist_info(
        self,
        version: str = "0.1.14",
        name: str = "amd-aiter",
        *,
        files: Mapping[str, str] | None = AMD_FILES,
        editable: Path | None = None,
        header: str = "",
        path_files: tuple[str, ...] = (),
        hashes: bool = True,
    ) -> Path:
        """A `.dist-info` folder whose RECORD lists `files` with their hashes; `files=None` leaves RECORD out."""
        folder = f"{name.replace('-', '_')}-{version}.dist-info"
        self.write(
            f"{folder}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n{header}\nVersion: 9\n"
        )
        if files is not None:
            lines = [f"aiter/{file}{_digest(text) if hashes else ',,'}" for file, text in files.items()]
            lines += [f"{file},," for file in (*path_files, f"{folder}/METADATA", f"{folder}/RECORD")]
            self.write(f"{folder}/RECORD", "\n".join(lines) + "\n")
        if editable is not None:
            direct = {"url": editable.as_uri(), "dir_info": {"editable": True}}
            self.write(f"{folder}/direct_url.json", json.dumps(direct))
        return self.root / folder

    def foreign(self) -> None:
        """PyPI's async-iterator package, installed as pip does."""
        self.package(FOREIGN_FILES)
        self.foreign_dist_info()

    def foreign_dist_info(self, **options: object) -> Path:
        header = "Home-page: https://github.com/richardkiss/aiter\nAuthor-email: him@richardkiss.com\n"
        return self.dist_info("0.13.20191203", "aiter", files=FOREIGN_FILES, header=header, **options)

    def zipped(self, archive: Path, inner: str = "") -> Path:
        """The whole folder as an archive."""
        with zipfile.ZipFile(archive, "w") as file:
            for path in sorted(self.root.rglob("*")):
                file.write(path, f"{inner}{path.relative_to(self.root).as_posix()}")
        return archive


def _digest(text: str) -> str:
    content = text.encode()
    digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
    return f",sha256={digest},{len(content)}"


@pytest.fixture
def make_site(tmp_path: Path) -> Callable[[str], FakeSite]:
    """Make a fake folder of `sys.path` by name."""
    return lambda name="site": FakeSite(tmp_path / name)


@pytest.fixture
def site(make_site: Callable[..., FakeSite]) -> FakeSite:
    return make_site("site")


@pytest.fixture
def in_fresh_python(tmp_path: Path) -> Callable[..., str]:
    """Run code in a new interpreter whose path ends with `path`; gives what it prints.

    The code finds `found`, the installation of that process.
    """
    package_root = Path(aiter_compat.__path__[0]).parent

    def run(code: str, *, path: tuple[object, ...] = (), before: str = "", cwd: Path | None = None) -> str:
        program = [
            "import os, site, sys",
            f"sys.path += {[str(entry) for entry in path]!r}",
            textwrap.dedent(before),
            f"sys.path.append({str(package_root)!r})",
            "from aiter_compat.detect import detect, installation",
            "found = installation()",
            textwrap.dedent(code),
        ]
        command = [sys.executable, "-c", "\n".join(program)]
        done = subprocess.run(
            command, cwd=cwd or tmp_path, env={"PATH": ""}, capture_output=True, text=True, check=False, timeout=60
        )
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    return run
