"""A file is written whole and keeps its mode; `tests/migrate/test_writing.py` interrupts the writing."""

import stat

import pytest

from aiter_compat.file_replacement import mode_of, replace_whole


@pytest.mark.parametrize("mode", [0o640, 0o444])
def test_a_file_that_is_there_keeps_its_mode(tmp_path, mode):
    path = tmp_path / "baseline.json"
    path.write_text("old")
    path.chmod(mode)
    replace_whole(str(path), b"new", mode_of(str(path)))
    assert path.read_text() == "new"
    assert stat.S_IMODE(path.stat().st_mode) == mode


def test_a_new_file_gets_the_mode_of_any_new_file(tmp_path):
    ordinary, written = tmp_path / "ordinary", tmp_path / "written"
    ordinary.write_text("")
    replace_whole(str(written), b"new", mode_of(str(written)))
    assert written.stat().st_mode == ordinary.stat().st_mode
    assert sorted(path.name for path in tmp_path.iterdir()) == ["ordinary", "written"]


def test_a_missing_folder_is_an_error_and_leaves_nothing(tmp_path):
    with pytest.raises(FileNotFoundError):
        replace_whole(str(tmp_path / "missing" / "file"), b"new", None)
    assert list(tmp_path.iterdir()) == []
