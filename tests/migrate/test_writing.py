"""A file is replaced whole or not at all; its mode and a link to it stay."""

import os
import stat

import pytest

from aiter_compat.migrate.writing import replace_content


@pytest.fixture
def target(tmp_path):
    path = tmp_path / "target.py"
    path.write_bytes(b"old")
    return path


@pytest.mark.parametrize("mode", [0o644, 0o754, 0o600, 0o444])
def test_the_mode_stays(target, mode):
    target.chmod(mode)
    replace_content(str(target), b"new")
    assert target.read_bytes() == b"new"
    assert stat.S_IMODE(target.stat().st_mode) == mode


def test_a_link_stays_a_link(target, tmp_path):
    link = tmp_path / "link.py"
    link.symlink_to(target)
    replace_content(str(link), b"new")
    assert link.is_symlink()
    assert target.read_bytes() == b"new"


@pytest.mark.parametrize("step", ["fsync", "chmod", "replace"])
@pytest.mark.parametrize("error", [KeyboardInterrupt, OSError])
def test_an_interruption_leaves_the_old_file_and_nothing_else(target, monkeypatch, step, error):
    def interrupted(*_):
        raise error

    with monkeypatch.context() as patch:
        patch.setattr(os, step, interrupted)
        with pytest.raises(error):
            replace_content(str(target), b"new")
    assert target.read_bytes() == b"old"
    assert [path.name for path in target.parent.iterdir()] == ["target.py"]
