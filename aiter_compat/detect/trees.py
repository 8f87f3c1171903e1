"""Folders and zip archives behind one small reading interface, so that nothing above has to know which it reads.

Names are relative and use `/`. Whatever cannot be read counts as not there, as it does for Python's own import.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import zipfile
    from types import TracebackType

Stamp = tuple[str, int, int]

_UNREADABLE = (OSError, ValueError)  # ValueError: a path with a null byte


class Tree:
    """A folder, or a folder inside a zip archive. Use it in a `with` statement.

    Attributes:
        location: its path; inside an archive `/x/site.zip/inner`.
    """

    def __init__(self, location: str) -> None:
        self.location = location

    def path(self, name: str) -> str:
        """The full path of `name`."""
        return os.path.join(self.location, *name.split("/")) if name else self.location

    def names(self, name: str = "") -> frozenset[str]:
        """Names of the files and folders in the folder `name`; empty when there is no such folder."""
        raise NotImplementedError

    def is_file(self, name: str) -> bool:
        """Whether `name` is a file."""
        raise NotImplementedError

    def is_folder(self, name: str) -> bool:
        """Whether `name` is a folder."""
        raise NotImplementedError

    def read(self, name: str) -> bytes | None:
        """Content of the file `name`, or None."""
        raise NotImplementedError

    def stamp(self, name: str) -> Stamp | None:
        """Path, size in bytes and modification time in nanoseconds: changes whenever the file does. None: no file."""
        raise NotImplementedError

    def read_text(self, name: str) -> str | None:
        """Content of the file `name` as UTF-8, undecodable bytes replaced, or None."""
        content = self.read(name)
        return None if content is None else content.decode("utf-8", errors="replace")

    def __enter__(self) -> Tree:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close what is open."""


class FolderTree(Tree):
    """A folder of the file system."""

    def names(self, name: str = "") -> frozenset[str]:
        """See `Tree`."""
        try:
            return frozenset(os.listdir(self.path(name)))
        except _UNREADABLE:
            return frozenset()

    def is_file(self, name: str) -> bool:
        """See `Tree`."""
        return os.path.isfile(self.path(name))

    def is_folder(self, name: str) -> bool:
        """See `Tree`."""
        return os.path.isdir(self.path(name))

    def read(self, name: str) -> bytes | None:
        """See `Tree`."""
        try:
            with open(self.path(name), "rb") as file:
                return file.read()
        except _UNREADABLE:
            return None

    def stamp(self, name: str) -> Stamp | None:
        """See `Tree`."""
        path = self.path(name)
        try:
            status = os.stat(path)
        except _UNREADABLE:
            return None
        return path, status.st_size, status.st_mtime_ns


class ZipTree(Tree):
    """A folder inside a zip archive, or the whole of it.

    Args:
        archive: path of the zip file.
        inner: folder inside it, with `/`; "" for the whole.
    """

    def __init__(self, archive: str, inner: str = "") -> None:
        super().__init__(os.path.join(archive, *inner.split("/")) if inner else archive)
        import zipfile  # half the time that detection may take, and hardly anyone installs into an archive
        import zlib

        self._archive = archive
        self._prefix = f"{inner}/" if inner else ""
        self._zip: zipfile.ZipFile = zipfile.ZipFile(archive)
        self._unreadable = (OSError, zipfile.BadZipFile, zlib.error, NotImplementedError, RuntimeError)
        self._files = frozenset(info.filename for info in self._zip.infolist() if not info.is_dir())
        self._folders = _folders_of(self._zip.namelist())

    def names(self, name: str = "") -> frozenset[str]:
        """See `Tree`."""
        start = self._full(name).rstrip("/")
        start = f"{start}/" if start else ""
        inside = (known[len(start) :] for known in self._files | self._folders if known.startswith(start))
        return frozenset(rest.partition("/")[0] for rest in inside if rest)

    def is_file(self, name: str) -> bool:
        """See `Tree`."""
        return self._full(name) in self._files

    def is_folder(self, name: str) -> bool:
        """See `Tree`."""
        return self._full(name).rstrip("/") in self._folders

    def read(self, name: str) -> bytes | None:
        """See `Tree`."""
        if not self.is_file(name):
            return None
        try:
            return self._zip.read(self._full(name))
        except self._unreadable:
            return None

    def stamp(self, name: str) -> Stamp | None:
        """See `Tree`."""
        if not self.is_file(name):
            return None
        try:
            status = os.stat(self._archive)
        except OSError:
            return None
        return self.path(name), status.st_size, status.st_mtime_ns

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._zip.close()

    def _full(self, name: str) -> str:
        return self._prefix + name


def open_tree(location: str) -> Tree | None:
    """The folder at `location`, which may lie inside a zip archive; None when there is none."""
    if os.path.isdir(location):
        return FolderTree(location)
    archive, inner = location, ""
    while not os.path.exists(archive):
        archive, _, name = archive.rstrip("/" + os.sep).rpartition(os.sep)
        if not archive or not name:
            return None
        inner = f"{name}/{inner}" if inner else name
    if not os.path.isfile(archive):
        return None
    import zipfile

    try:
        tree = ZipTree(archive, inner)
    except (OSError, zipfile.BadZipFile):
        return None
    if inner and not tree.is_folder(""):
        with tree:
            return None
    return tree


def resolved(path: str) -> str:
    """The path with its links resolved; unchanged when it cannot be a path."""
    try:
        return os.path.realpath(path)
    except _UNREADABLE:
        return path


def _folders_of(names: list[str]) -> frozenset[str]:
    folders: set[str] = set()
    for name in names:
        parent = name.rstrip("/") if name.endswith("/") else name.rpartition("/")[0]
        while parent and parent not in folders:
            folders.add(parent)
            parent = parent.rpartition("/")[0]
    return frozenset(folders)
