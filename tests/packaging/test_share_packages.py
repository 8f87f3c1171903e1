"""Environments of the matrix share a folder of packages: installed once, whole or not at all, imported from there."""

import importlib.util
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

ROOT = Path(__file__).resolve().parents[2]
REQUIREMENTS = ["torch==2.13.0", "pytest>=8.3"]


@pytest.fixture
def share(tmp_path, monkeypatch):
    """The script as a module, with a pip that only notes what it is asked for, and an environment's site-packages."""
    spec = importlib.util.spec_from_file_location("share_packages", ROOT / ".ci" / "share_packages.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    asked: list[list[str]] = []

    def pip(command, check):
        asked.append(command[command.index("--target") + 2 :])
        target = Path(command[command.index("--target") + 1])
        target.mkdir()
        (target / "shared_thing.py").write_text("HERE = __file__\n")
        return SimpleNamespace(returncode=9 if "missing" in command else 0)

    site = tmp_path / "site-packages"
    site.mkdir()
    monkeypatch.setattr(module, "subprocess", SimpleNamespace(run=pip))
    monkeypatch.setattr(module, "sysconfig", SimpleNamespace(get_path=lambda name: str(site)))
    return SimpleNamespace(main=module.main, name=module.folder_name, asked=asked, site=site, store=tmp_path / "store")


def test_the_first_environment_installs_and_the_others_link(share):
    for _ in range(3):
        assert share.main([str(share.store), *REQUIREMENTS]) == 0
    assert share.asked == [REQUIREMENTS]
    [folder] = share.store.iterdir()
    assert (share.site / "shared_packages.pth").read_text() == f"{folder.resolve()}\n"


def test_python_imports_from_it_after_its_own(share):
    share.main([str(share.store), *REQUIREMENTS])
    program = f"import site; site.addsitedir({str(share.site)!r}); import shared_thing; print(shared_thing.HERE)"
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert run.stdout.startswith(str(share.store.resolve()))


def test_other_requirements_are_another_folder(share):
    assert share.name(REQUIREMENTS) == share.name(REQUIREMENTS[::-1])
    assert share.name(REQUIREMENTS) != share.name(["torch==2.14.0", "pytest>=8.3"])
    assert share.name(REQUIREMENTS).startswith(f"py3{sys.version_info.minor}-")


def test_what_cannot_be_installed_leaves_nothing(share):
    assert share.main([str(share.store), "missing"]) == 9
    assert list(share.store.iterdir()) == list(share.site.iterdir()) == []


def test_an_environment_that_was_faster_wins(share, monkeypatch):
    real = Path.rename

    def late(self, target):
        if not Path(target).exists():
            Path(target).mkdir()
            (Path(target) / "theirs.py").touch()
        return real(self, target)

    monkeypatch.setattr(Path, "rename", late)
    assert share.main([str(share.store), *REQUIREMENTS]) == 0
    [folder] = share.store.iterdir()
    assert [path.name for path in folder.iterdir()] == ["theirs.py"]
