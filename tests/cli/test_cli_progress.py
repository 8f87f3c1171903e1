"""The progress bar is for a person at a terminal: logs and pipes get none of it."""

import io
import sys

import pytest

from aiter_compat.cli.progress import progress


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture
def without_rich(monkeypatch):
    for name in ("rich", "rich.console", "rich.progress"):
        monkeypatch.setitem(sys.modules, name, None)


def test_nothing_is_written_where_there_is_no_terminal(monkeypatch):
    stderr = io.StringIO()
    monkeypatch.setattr(sys, "stderr", stderr)
    with progress("reading") as tell:
        assert tell is None
    assert stderr.getvalue() == ""


def test_a_terminal_without_rich_gets_a_plain_bar(monkeypatch, without_rich):
    stderr = Terminal()
    monkeypatch.setattr(sys, "stderr", stderr)
    with progress("reading") as tell:
        for done in (0, 2, 4):
            tell(done, 4)
    last = stderr.getvalue().rstrip("\n").split("\r")[-1]
    assert last == f"reading [{'#' * 30}] 4/4"
    assert "[" + "#" * 15 + " " * 15 + "] 2/4" in stderr.getvalue()


def test_a_tree_without_files_does_not_divide_by_zero(monkeypatch, without_rich):
    stderr = Terminal()
    monkeypatch.setattr(sys, "stderr", stderr)
    with progress("reading") as tell:
        tell(0, 0)
    assert "0/0" in stderr.getvalue()


def test_a_terminal_with_rich_gets_its_bar(monkeypatch):
    pytest.importorskip("rich")
    stderr = Terminal()
    monkeypatch.setattr(sys, "stderr", stderr)
    with progress("reading") as tell:
        tell(1, 2)
    assert "reading" in stderr.getvalue()
