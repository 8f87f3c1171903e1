"""The command line: data on stdout, talk on stderr, exit codes that scripts can use."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import aiter_compat as ac
from aiter_compat.cli.main import main

SOURCE = str(Path(ac.__file__).parents[1])


def test_version(capsys):
    with pytest.raises(SystemExit) as stop:
        main(["--version"])
    assert stop.value.code == 0
    assert capsys.readouterr().out == f"aiter-compat {ac.__version__}\n"


def test_help_names_every_command(capsys):
    with pytest.raises(SystemExit) as stop:
        main(["--help"])
    assert stop.value.code == 0
    printed = capsys.readouterr().out
    for command in ("doctor", "rules", "record", "demo"):
        assert command in printed


@pytest.mark.parametrize("argv", [[], ["docter"], ["doctor", "--yaml"], ["record"], ["demo", "--model", "gpt-2"]])
def test_wrong_usage_is_2_on_stderr(capsys, argv):
    with pytest.raises(SystemExit) as stop:
        main(argv)
    assert stop.value.code == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert "usage: aiter-compat" in printed.err


def test_a_reader_that_stops_reading_is_no_error():
    """`aiter-compat doctor | head -1` ends quietly."""
    command = [sys.executable, "-m", "aiter_compat", "doctor"]
    read, write = os.pipe()
    os.close(read)
    with os.fdopen(write, "w") as closed:
        done = subprocess.run(
            command,
            stdout=closed,
            stderr=subprocess.PIPE,
            text=True,
            env=os.environ | {"PYTHONPATH": SOURCE},
            check=False,
        )
    assert (done.returncode, done.stderr) == (0, "")


class TestDoctor:
    def test_text(self, without_aiter, capsys):
        assert main(["doctor"]) == 0
        printed = capsys.readouterr()
        assert printed.out.startswith(f"aiter_compat {ac.__version__}\n")
        assert "AITER is not installed" in printed.out
        assert printed.err == ""

    def test_json(self, aiter_stub, capsys):
        aiter_stub("0.1.14")
        assert main(["doctor", "--json"]) == 0
        report = json.loads(capsys.readouterr().out)
        assert (report["schema"], report["aiter"]["version"]) == (1, "0.1.14")
        assert "aiter" not in sys.modules

    @pytest.mark.parametrize("form", [[], ["--json"]])
    @pytest.mark.parametrize(("name", "code"), [("0.1.15.post3", 0), ("broken", 3), ("truncated", 3)])
    def test_try_import_is_3_when_aiter_does_not_import(self, aiter_stub, capsys, name, code, form):
        aiter_stub(name)
        assert main(["doctor", *form]) == 0
        capsys.readouterr()
        ac.refresh()
        assert main(["doctor", "--try-import", *form]) == code
        printed = capsys.readouterr().out
        if form:
            assert bool(json.loads(printed)["import"]["error"]) is bool(code)


class TestRules:
    def test_each_migration_is_listed_with_its_remedy(self, capsys):
        from aiter_compat import migrations

        assert main(["rules"]) == 0
        printed = capsys.readouterr().out
        for migration in migrations.discover():
            assert f"{migration.name}  ({migration.kind}, since v{migration.since})" in printed
            assert migration.remedy in printed


class TestRecord:
    def test_to_stdout(self, stub_site, capsys):
        assert main(["record", str(stub_site("0.1.15.post3"))]) == 0
        record = json.loads(capsys.readouterr().out)
        assert record["release"] == "0.1.15.post3"
        assert "aiter.fused_moe.fused_moe" in record["symbols"]

    def test_to_a_folder(self, stub_site, tmp_path, capsys):
        argv = ["record", str(stub_site("0.1.15.post3")), "--as", "0.1.99", "--output", str(tmp_path / "data")]
        assert main(argv) == 0
        printed = capsys.readouterr()
        assert printed.out == ""
        assert "recorded v0.1.99" in printed.err
        assert json.loads((tmp_path / "data" / "0.1.99.json").read_text())["release"] == "0.1.99"

    def test_our_own_errors_are_one_line_on_stderr(self, tmp_path, capsys):
        assert main(["record", str(tmp_path)]) == 2
        printed = capsys.readouterr()
        assert printed.out == ""
        assert printed.err.startswith("aiter-compat: path: got ")
        assert printed.err.count("\n") == 1

    def test_a_folder_that_cannot_be_written_is_said_so(self, stub_site, tmp_path, capsys):
        (tmp_path / "file").write_text("")
        assert main(["record", str(stub_site("0.1.15.post3")), "--output", str(tmp_path / "file" / "x")]) == 2
        assert "cannot be written" in capsys.readouterr().err


def test_an_error_of_someone_else_is_not_hidden(monkeypatch):
    def fail(**_):
        raise ZeroDivisionError("a bug")

    monkeypatch.setattr("aiter_compat.cli.doctor.examine", fail)
    with pytest.raises(ZeroDivisionError):
        main(["doctor"])


def test_python_m_aiter_compat():
    done = subprocess.run(
        [sys.executable, "-m", "aiter_compat", "doctor", "--json"],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": SOURCE},
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["aiter_compat"] == ac.__version__


def test_looking_around_imports_no_torch():
    code = (
        "import sys; from aiter_compat.cli.main import main; assert main(['doctor']) == 0; "
        "assert not {'torch', 'aiter', 'transformers', 'numpy'} & set(sys.modules)"
    )
    prelude = f"import sys; sys.path.insert(0, {SOURCE!r})\n"
    done = subprocess.run([sys.executable, "-c", prelude + code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_a_bare_checkout_says_that_it_has_to_be_installed(capsys, monkeypatch):
    """The folder of migrations becomes a package of ours by installing only."""
    monkeypatch.setitem(sys.modules, "aiter_compat.migrations", None)
    assert main(["rules"]) == 3
    printed = capsys.readouterr()
    assert printed.out == ""
    assert "pip install -e ." in printed.err
    assert "Traceback" not in printed.err
