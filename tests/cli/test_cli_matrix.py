"""`aiter-compat matrix`: data on stdout, exit code 1 when a host does not survive a release."""

import json

import pytest

from aiter_compat.cli.main import main
from aiter_compat.releases.symbol_records import symbol_releases

SOURCE = "from aiter.ops.flydsl.moe_common import GateMode\n"


@pytest.fixture
def host(tmp_path):
    (tmp_path / "host.py").write_text(SOURCE)
    return str(tmp_path)


@pytest.mark.parametrize(("releases", "code"), [("0.1.13", 1), ("0.1.14", 0), ("0.1.14, 0.1.13.post1", 1)])
def test_exit_code(host, capsys, releases, code):
    assert main(["matrix", host, "--releases", releases]) == code
    printed = capsys.readouterr()
    assert printed.err == ""
    assert ("GateMode" in printed.out) is bool(code)


def test_what_the_host_survives_is_no_finding_to_fail_on(tmp_path, capsys):
    (tmp_path / "host.py").write_text(f"try:\n    {SOURCE}except ImportError:\n    pass\n")
    assert main(["matrix", str(tmp_path), "--releases", "0.1.13"]) == 0
    assert "GateMode" in capsys.readouterr().out


def test_json_on_every_recorded_release(host, capsys):
    assert main(["matrix", host, "--json", "--jobs", "1"]) == 1
    document = json.loads(capsys.readouterr().out)
    assert document["releases"] == list(symbol_releases())
    assert {row["file"] for row in document["findings"]} == {"host.py"}


def test_html_is_written_beside_the_text(host, tmp_path, capsys):
    assert main(["matrix", host, "--releases", "0.1.13", "--html", str(tmp_path / "page.html")]) == 1
    assert "GateMode" in (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "GateMode" in capsys.readouterr().out


def test_a_page_that_cannot_be_written(host, tmp_path, capsys):
    assert main(["matrix", host, "--releases", "0.1.13", "--html", str(tmp_path / "no" / "page.html")]) == 2
    assert "cannot be written" in capsys.readouterr().err


@pytest.mark.parametrize("releases", ["9.9", "soon", ", ", ""])
def test_unknown_releases_are_usage_errors(host, capsys, releases):
    assert main(["matrix", host, "--releases", releases]) == 2
    assert capsys.readouterr().err.startswith("aiter-compat: ")


def test_a_path_that_is_not_there(tmp_path, capsys):
    assert main(["matrix", str(tmp_path / "nothing")]) == 2
    assert "PATH" in capsys.readouterr().err


def test_files_that_do_not_parse_are_named_on_stderr(tmp_path, capsys):
    (tmp_path / "host.py").write_text("import aiter\nif:\n")
    assert main(["matrix", str(tmp_path), "--releases", "0.1.14", "--json"]) == 0
    printed = capsys.readouterr()
    assert "host.py cannot be parsed" in printed.err
    assert json.loads(printed.out)["findings"] == []
