"""Scan a host's tree: find its files, read those that use AITER, follow names between them."""

from __future__ import annotations

import ast
import multiprocessing
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from functools import partial

from aiter_compat.hostscan.imports import Imports
from aiter_compat.hostscan.link import Linker
from aiter_compat.hostscan.model import HOST, FileScan, HostScan
from aiter_compat.hostscan.source_file import scan_source
from aiter_compat.hostscan.tree import SourceFile, mentions_aiter, source_files

Progress = Callable[[int, int], None]
"""Called with the number of files dealt with and the number of all."""

_CHUNK = 16
_FEWEST_FOR_PROCESSES = 96  # starting a process costs as much as reading some forty files


def scan(root: str, *, exclude: tuple[str, ...] = (), workers: int = 1, progress: Progress | None = None) -> HostScan:
    """What the host at `root` does with AITER. Nothing is imported or executed.

    Args:
        root: folder of the host's sources, or one file.
        exclude: glob patterns of relative names to leave out.
        workers: processes to use for larger trees; 1 stays in this one.
        progress: told how far the scan is.

    Raises:
        InvalidArgument: `root` does not exist.
    """
    files = source_files(root, exclude)
    own = frozenset(file.module.partition(".")[0] for file in files)
    mentioned: list[SourceFile] = []
    others: list[SourceFile] = []
    for file in files:
        content = file.read()
        (mentioned if content is None or mentions_aiter(content) else others).append(file)
    tell = _counter(progress, len(mentioned))
    scans = {one.file: one for one in _scanned(mentioned, own, workers, tell)}
    through = _reached_through(others, Linker(scans.values()).offered(), own)
    scans.update({one.file: one for one in _scanned(through, own, 1, _ignore) if not one.error})
    linker = Linker(scans.values())
    linked = (linker.linked(scans[name]) for name in sorted(scans))
    kept = tuple(file for file in linked if file.uses or file.error)
    return HostScan(root, kept, seen=len(files), read=len(scans))


def _scanned(
    files: list[SourceFile], own: frozenset[str], workers: int, tell: Callable[[], None]
) -> Iterator[FileScan]:
    read = partial(_read, own=own)
    if workers < 2 or len(files) < _FEWEST_FOR_PROCESSES:
        for file in files:
            yield read(file)
            tell()
        return
    # A fresh process each, since a forked one may inherit locks of threads that are gone.
    with ProcessPoolExecutor(workers, multiprocessing.get_context("spawn")) as pool:
        for one in pool.map(read, files, chunksize=_CHUNK):
            yield one
            tell()


def _read(file: SourceFile, own: frozenset[str]) -> FileScan:
    content = file.read()
    if content is None:
        return FileScan(file.name, file.module, error="cannot be read")
    return scan_source(content, file.name, file.module, own)


def _reached_through(
    files: Iterable[SourceFile], offered: Mapping[str, frozenset[str]], own: frozenset[str]
) -> list[SourceFile]:
    """Files without the word that import one of AITER's names from a file that has it."""
    stems = "|".join(sorted({re.escape(module.rpartition(".")[2]) for module in offered}))
    statement = re.compile(rf"^[ \t]*from[ \t]+([.\w]*?(?:{stems}))[ \t]+import[ \t]+(\([^)]*\)|[^\n]*)".encode(), re.M)
    return [file for file in files if offered and _takes(file, offered, own, statement)]


def _takes(
    file: SourceFile, offered: Mapping[str, frozenset[str]], own: frozenset[str], statement: re.Pattern[bytes]
) -> bool:
    imports = Imports(file.module, is_package=file.name.endswith("__init__.py"), own=own)
    for module, names in statement.findall(file.read() or b""):
        text = module.decode()
        dots = len(text) - len(text.lstrip("."))
        path = imports.source(ast.ImportFrom(text[dots:] or None, [], dots)) or ""
        available = offered.get(path.removeprefix(HOST))
        if available and (
            b"*" in names or not available.isdisjoint(re.findall(r"\w+", names.decode(errors="replace")))
        ):
            return True
    return False


def _counter(progress: Progress | None, total: int) -> Callable[[], None]:
    done = 0

    def tell() -> None:
        nonlocal done
        done += 1
        if progress is not None:
            progress(done, total)

    return tell


def _ignore() -> None:
    """Files read in passing are not part of the progress."""
