"""Recording a source: which release it is, what is refused, and the same bytes every time."""

from __future__ import annotations

import os
import stat
import sys
import zipfile
from pathlib import Path

import pytest

from aiter_compat.errors import InvalidArgument, RecordError
from aiter_compat.recorder import record_source, record_text, write_record
from aiter_compat.releases import recorded_releases

TRAP = "raise AssertionError('executed')\n"
HEADER = "enum class ActivationType : int { No = -1, Silu = 0 }; enum class QuantType : int { No };"
ENUMS = "ActivationType = type(_ActivationType(0))\nQuantType = type(_QuantType(0))\n" + TRAP
COMMIT = "0123456789abcdef0123456789abcdef01234567"


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    root = tmp_path / "checkout"
    files = {
        "aiter/__init__.py": TRAP,
        "aiter/fused_moe.py": f"{TRAP}def fused_moe(hidden_states, gate_mode='separated'): ...\n",
        "aiter/ops/enum.py": ENUMS,
        "csrc/include/aiter_enum.h": HEADER,
        "setup.py": TRAP,
    }
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text, encoding="utf-8")
    return root


def _git(root: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text, encoding="utf-8")


# --- which release -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "release", "tag"),
    [("0.1.15.post3", "0.1.15.post3", "v0.1.15.post3"), ("v0.1.14+rocm7.2", "0.1.14", "v0.1.14")],
)
def test_named_release(checkout, given, release, tag):
    recorded = record_source(checkout, given, commit=COMMIT)
    assert (recorded.release, recorded.tag, recorded.commit, recorded.surface.origin) == (release, tag, COMMIT, tag)
    assert [p.name for p in recorded.surface.parameters("aiter.fused_moe.fused_moe")] == ["hidden_states", "gate_mode"]
    assert "aiter" not in sys.modules


def test_release_of_the_version_file(checkout):
    (checkout / "aiter/_version.py").write_text("__version__ = '0.1.14.post1+rocm7.2'\n")
    recorded = record_source(checkout)
    assert (recorded.release, recorded.commit) == ("0.1.14.post1", None)


def test_named_release_wins_over_the_version_file(checkout):
    (checkout / "aiter/_version.py").write_text("__version__ = '0.1.14'\n")
    assert record_source(checkout, "0.1.16").release == "0.1.16"


def test_fallback_number_of_a_build_without_history_is_no_release(checkout):
    (checkout / "aiter/_version.py").write_text("__version__ = '0.1.0'\n")
    with pytest.raises(InvalidArgument, match="as_version"):
        record_source(checkout)


def test_packed_annotated_tag_of_a_detached_head(checkout):
    packed = f"# pack-refs with: peeled fully-peeled sorted\n{'f' * 40} refs/tags/v0.1.14\n^{COMMIT}\n"
    _git(checkout, {".git/HEAD": f"{COMMIT}\n", ".git/packed-refs": packed})
    recorded = record_source(checkout)
    assert (recorded.release, recorded.tag, recorded.commit) == ("0.1.14", "v0.1.14", COMMIT)


def test_highest_of_several_tags_on_a_branch(checkout):
    _git(
        checkout,
        {
            ".git/HEAD": "ref: refs/heads/main\n",
            ".git/refs/heads/main": f"{COMMIT}\n",
            ".git/refs/tags/v0.1.13": f"{COMMIT}\n",
            ".git/refs/tags/v0.1.13-rc5": f"{COMMIT}\n",
            ".git/refs/tags/v0.1.17-longctx": f"{COMMIT}\n",
            ".git/refs/tags/v0.1.16": f"{'f' * 40}\n",
        },
    )
    assert record_source(checkout).tag == "v0.1.13"


def test_worktree_has_its_references_in_the_main_repository(checkout, tmp_path):
    main = tmp_path / "main.git"
    _git(checkout, {".git": f"gitdir: {main}/worktrees/checkout\n"})
    _git(
        main,
        {
            "worktrees/checkout/HEAD": f"{COMMIT}\n",
            "worktrees/checkout/commondir": "../..\n",
            "packed-refs": f"{COMMIT} refs/tags/v0.1.14\n",
        },
    )
    assert record_source(checkout).release == "0.1.14"


@pytest.mark.parametrize(
    "git",
    [{}, {".git/HEAD": f"{COMMIT}\n"}, {".git/HEAD": "ref: refs/heads/main\n"}, {".git": "rubbish\n"}],
)
def test_source_that_does_not_say_what_it_is_asks_for_the_release(checkout, git):
    _git(checkout, git)
    with pytest.raises(InvalidArgument) as caught:
        record_source(checkout)
    assert caught.value.argument == "as_version"


def test_commit_of_an_untagged_checkout_is_kept(checkout):
    _git(checkout, {".git/HEAD": f"{COMMIT}\n"})
    assert record_source(checkout, "0.1.14").commit == COMMIT


def test_release_that_is_no_version_is_refused(checkout):
    with pytest.raises(InvalidArgument, match="as_version: got newest"):
        record_source(checkout, "newest")


# --- forms of source ---------------------------------------------------------------------------------------------


def test_package_folder_itself_gives_the_same_record(checkout):
    whole = record_source(checkout, "0.1.14")
    assert record_text(record_source(checkout / "aiter", "0.1.14")) == record_text(whole)


def test_wheel_states_its_version_and_holds_its_header(checkout, tmp_path):
    wheel = tmp_path / "amd_aiter-0.1.14.post1+rocm7.2-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as file:
        for path in checkout.rglob("*.*"):
            name = path.relative_to(checkout).as_posix()
            file.write(path, f"aiter_meta/{name}" if name.startswith("csrc") else name)
        info = "amd_aiter-0.1.14.post1+rocm7.2.dist-info"
        file.writestr(f"{info}/METADATA", "Name: amd-aiter\nVersion: 0.1.14.post1+rocm7.2\n")
        file.writestr(f"{info}/RECORD", "aiter/__init__.py,,\naiter/fused_moe.py,,\n")
    recorded = record_source(wheel)
    assert recorded.release == "0.1.14.post1"
    assert recorded.surface.members("aiter.ops.enum.ActivationType") == {"No": -1, "Silu": 0}
    assert recorded.to_dict()["symbols"] == record_source(checkout, "0.1.14.post1").to_dict()["symbols"]


@pytest.mark.parametrize("name", ["", "missing", "checkout/csrc", "checkout/setup.py"])
def test_path_without_aiter_is_refused(checkout, name):
    with pytest.raises(InvalidArgument, match=r"path: .*checkout of ROCm/aiter"):
        record_source(checkout.parent / name if name else checkout.parent, "0.1.14")


@pytest.mark.parametrize(
    ("name", "text"), [("aiter/fused_moe.py", "def broken(:\n"), ("csrc/include/aiter_enum.h", None)]
)
def test_source_that_cannot_be_recorded_whole_is_refused(checkout, name, text):
    if text is None:
        (checkout / name).unlink()
    else:
        (checkout / name).write_text(text)
    with pytest.raises(RecordError, match="cannot be recorded"):
        record_source(checkout, "0.1.14")


# --- writing -----------------------------------------------------------------------------------------------------


def test_same_source_gives_the_same_bytes(checkout, tmp_path):
    first = write_record(record_source(checkout, "0.1.14"), tmp_path / "out")
    content = first.read_bytes()
    assert first.name == "0.1.14.json"
    assert content.endswith(b"}\n")
    assert b"\r" not in content
    assert write_record(record_source(checkout, "0.1.14"), tmp_path / "out") == first
    assert first.read_bytes() == content
    assert os.listdir(tmp_path / "out") == ["0.1.14.json"]


def test_permissions_of_a_replaced_file_are_kept(checkout, tmp_path):
    path = write_record(record_source(checkout, "0.1.14"), tmp_path)
    path.chmod(0o640)
    write_record(record_source(checkout, "0.1.14"), tmp_path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


def test_failed_write_leaves_the_old_file_and_nothing_else(checkout, tmp_path, monkeypatch):
    recorded = record_source(checkout, "0.1.14")
    path = write_record(recorded, tmp_path / "out")
    content = path.read_bytes()

    def fail(source, target):
        raise OSError("no space")

    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(OSError, match="no space"):
        write_record(recorded, tmp_path / "out")
    assert path.read_bytes() == content
    assert os.listdir(tmp_path / "out") == ["0.1.14.json"]


# --- the shipped records -----------------------------------------------------------------------------------------


@pytest.mark.skipif("AITER_SOURCE" not in os.environ, reason="AITER_SOURCE names no checkout of ROCm/aiter")
def test_shipped_record_is_what_the_real_source_gives():
    """The release is the folder's name (`v0.1.14`) or what the checkout states."""
    from importlib.resources import files

    source = Path(os.environ["AITER_SOURCE"]).resolve()
    if not (source / "aiter").is_dir():
        pytest.skip(f"{source} has no work tree")
    named = source.name.removeprefix("v")
    recorded = record_source(source, named if named in recorded_releases() else None)
    if recorded.release not in recorded_releases():
        pytest.skip(f"AITER {recorded.release} is not recorded")
    shipped = (files("aiter_compat.releases") / "data" / f"{recorded.release}.json").read_text(encoding="utf-8")
    plain = recorded.to_dict()
    assert plain["symbols"]
    # The commit is not known to a source without git metadata.
    fresh = [line for line in record_text(recorded).splitlines() if not line.startswith(' "commit"')]
    assert fresh == [line for line in shipped.splitlines() if not line.startswith(' "commit"')]
