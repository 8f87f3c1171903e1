"""Fixtures for every test: a process that has learnt nothing yet, and stubs of AITER on its path."""

import importlib
import importlib.util
import logging
import os
import sys
import zipfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
if str(ROOT) not in sys.path:
    sys.path.append(str(ROOT))  # for stub_wheels; last, so that an installed aiter_compat wins over the checkout

import aiter_compat as ac  # noqa: E402
from aiter_compat.detect import Installation  # noqa: E402

READ_ONCE = (
    "AITER_COMPAT_STRICT",
    "AITER_COMPAT_CHECKS",
    "AITER_BF16_FP8_BOUND",
    "AITER_BF16_FP8_MOE_BOUND",
    "AITER_SITUV2_A8W4",
    "AITER_SITUV2_A4W4",
    "AITER_FORCE_A8W4",
    "GPTOSS_SWIGLU_MXFP4_BF16_BOUND",
)
"""Environment variables that change what aiter_compat does."""


def _find_migrations() -> None:
    """Make `aiter_compat.migrations` importable where the checkout is used without an installation."""
    name = "aiter_compat.migrations"
    if importlib.util.find_spec(name) is not None:
        return
    folder = ROOT / "migrations"
    spec = importlib.util.spec_from_file_location(
        name, folder / "__init__.py", submodule_search_locations=[str(folder)]
    )
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)


_find_migrations()


@pytest.fixture(autouse=True)
def fresh_process(monkeypatch) -> Iterator[None]:
    """Nothing learnt before the test, nothing of the caller's environment, nothing learnt left after it."""
    for variable in READ_ONCE:
        monkeypatch.delenv(variable, raising=False)
    ac.refresh()
    yield
    ac.refresh()


@contextmanager
def importing_from(folder: Path) -> Iterator[Path]:
    """Import from `folder` first; afterwards `sys.path` and every module called aiter are what they were."""
    listed, path, modules = sys.path, list(sys.path), dict(sys.modules)
    _drop_aiter(folder)
    sys.path.insert(0, str(folder))
    importlib.invalidate_caches()
    ac.refresh()
    try:
        yield folder
    finally:
        listed[:] = sys.path[:] = path  # the test may have put another list in its place
        _drop_aiter(folder)
        sys.modules.update({name: module for name, module in modules.items() if name not in sys.modules})
        logging.getLogger("aiter").handlers.clear()  # a stub's handler holds the captured stderr of its test
        importlib.invalidate_caches()
        ac.refresh()


def _drop_aiter(folder: Path) -> None:
    inside = str(folder) + os.sep
    for name, module in list(sys.modules.items()):
        file = getattr(module, "__dict__", {}).get("__file__")
        if name.partition(".")[0] in ("aiter", "aiter_meta") or (isinstance(file, str) and file.startswith(inside)):
            del sys.modules[name]


@pytest.fixture(scope="session")
def stub_site(tmp_path_factory) -> Callable[[str], Path]:
    """Folder that holds the content of the stub wheel of this name (a release, "broken", "truncated", …)."""
    from stub_wheels import build_wheel, variant

    folders: dict[str, Path] = {}

    def unpack(name: str) -> Path:
        if name not in folders:
            folder = tmp_path_factory.mktemp("aiter_stub")
            with zipfile.ZipFile(build_wheel(variant(name), folder / "wheel")) as wheel:
                wheel.extractall(folder / "site")
            folders[name] = folder / "site"
        return folders[name]

    return unpack


@pytest.fixture
def enter_site() -> Iterator[Callable[[Path], Path]]:
    """Puts a folder first on sys.path for the rest of the test; no trace of its aiter stays."""
    with ExitStack() as entered:
        yield lambda folder: entered.enter_context(importing_from(folder))


@pytest.fixture
def aiter_stub(stub_site, enter_site) -> Callable[[str], Path]:
    """Installs the stub of this name for the rest of the test, and returns its folder.

    Names are those of `stub_wheels.variant`: any recorded release, "broken", "incompatible", "truncated". The newest
    call wins, so a test may change the release half-way.
    """
    return lambda name: enter_site(stub_site(name))


@pytest.fixture
def fake_site(tmp_path, enter_site) -> Callable[..., Path]:
    """Installs files (path inside the site folder -> text) for the rest of the test, and returns the folder."""

    def install(files: Mapping[str, str], *, folder: str = "fake_site") -> Path:
        site = tmp_path / folder
        for name, text in files.items():
            path = site / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        return enter_site(site)

    return install


@pytest.fixture
def without_aiter(monkeypatch) -> None:
    """A process without AITER, also where one is really installed."""
    if ac.installation().kind != "absent":
        monkeypatch.setattr("aiter_compat.detect.cache.detect", lambda: Installation("absent"))
        ac.refresh()
