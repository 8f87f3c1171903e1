"""`aiter-compat check`: configuration, suppressions, baseline, exit codes."""

import json
from pathlib import Path

import pytest

import aiter_compat
from aiter_compat.cli.main import main

IMPORT = "from aiter.ops.flydsl.moe_common import GateMode"


@pytest.fixture
def project(tmp_path):
    def write(source, table=None):
        (tmp_path / "host.py").write_text(source + "\n")
        if table is not None:
            (tmp_path / "pyproject.toml").write_text("[tool.aiter-compat]\n" + table)
        return str(tmp_path)

    return write


def test_exit_codes(project, capsys):
    path = project(IMPORT)
    assert main(["check", path, "--aiter", ">=0.1.14"]) == 0
    assert capsys.readouterr().out == "0 findings.\n"
    assert main(["check", path, "--aiter", "0.1.13"]) == 1
    assert "host.py:1: missing-module" in capsys.readouterr().out
    for wrong in (["--aiter", ">=9"], ["--aiter", "soon"], []):
        assert main(["check", path, *wrong]) == 2
        assert capsys.readouterr().err.startswith("aiter-compat: ")


@pytest.mark.parametrize("form", ["json", "sarif"])
def test_machine_formats_are_one_document(project, capsys, form):
    assert main(["check", project(IMPORT), "--aiter", "0.1.13", "--format", form]) == 1
    json.loads(capsys.readouterr().out)


class TestSuppressions:
    @pytest.mark.parametrize(
        "source",
        [
            f"{IMPORT}  # aiter-compat: ignore",
            f"{IMPORT}  # noqa: E402  # aiter-compat: ignore[missing-symbol, missing-module]",
            f"# aiter-compat: ignore-file\n{IMPORT}",
            f"{IMPORT}\n# aiter-compat: ignore-file[missing-module]",
            "from aiter.ops.flydsl.moe_common import (  # aiter-compat: ignore\n    GateMode,\n)",
            "from aiter.ops.flydsl.moe_common import (\n    GateMode,  # aiter-compat: ignore\n)",
        ],
    )
    def test_suppressed(self, project, source):
        assert main(["check", project(source), "--aiter", "0.1.13"]) == 0

    @pytest.mark.parametrize(
        "source",
        [
            f"{IMPORT}  # aiter-compat: ignore[missing-symbol]",
            f"# aiter-compat: ignore\n{IMPORT}",
            f"{IMPORT}\n# aiter-compat: ignore-file[missing-symbol]",
        ],
    )
    def test_not_suppressed(self, project, source):
        assert main(["check", project(source), "--aiter", "0.1.13"]) == 1


class TestConfiguration:
    def test_the_range_of_the_project(self, project, capsys):
        assert main(["check", project(IMPORT, 'aiter = ">=0.1.13"')]) == 1
        assert main(["check", project(IMPORT, 'aiter = ">=0.1.13"'), "--aiter", "0.1.14"]) == 0

    @pytest.mark.parametrize("table", ['exclude = ["host.py"]', 'exclude = ["*.py"]', 'ignore = ["missing-module"]'])
    def test_left_out(self, project, table):
        assert main(["check", project(IMPORT, f'aiter = "0.1.13"\n{table}')]) == 0

    def test_guarded(self, project):
        source = f"try:\n    {IMPORT}\nexcept ImportError:\n    pass"
        assert main(["check", project(source, 'aiter = "0.1.13"')]) == 0
        assert main(["check", project(source, 'aiter = "0.1.13"\nguarded = true')]) == 1

    @pytest.mark.parametrize(
        ("table", "word"),
        [
            ("aiter = 1", "tool.aiter-compat.aiter"),
            ('exclude = "x"', "list of strings"),
            ("other = 1", "one of the keys"),
        ],
    )
    def test_wrong_settings_are_named(self, project, capsys, table, word):
        assert main(["check", project(IMPORT, table), "--aiter", "0.1.13"]) == 2
        assert word in capsys.readouterr().err

    def test_no_toml(self, project, capsys):
        assert main(["check", project(IMPORT, "aiter ="), "--aiter", "0.1.13"]) == 2
        assert "pyproject.toml" in capsys.readouterr().err

    def test_a_project_without_the_table(self, project, tmp_path):
        (tmp_path / "pyproject.toml").write_text("[project]\nname = 'aiter-compat-user'\n")
        assert main(["check", project(IMPORT), "--aiter", "0.1.13"]) == 1


class TestBaseline:
    def test_known_findings_are_left_out_wherever_they_move(self, project, tmp_path, capsys):
        path, known = project(IMPORT), str(tmp_path / "known.json")
        arguments = ["check", path, "--aiter", "0.1.13"]
        assert main([*arguments, "--write-baseline", known]) == 0
        assert main([*arguments, "--baseline", known]) == 0
        project(f"\n\n{IMPORT}")
        assert main([*arguments, "--baseline", known]) == 0
        project(f"{IMPORT}\n{IMPORT}")
        capsys.readouterr()
        assert main([*arguments, "--baseline", known]) == 1
        assert "1 finding." in capsys.readouterr().out

    def test_the_one_of_the_project(self, project, tmp_path):
        path = project(IMPORT, 'aiter = "0.1.13"\nbaseline = "known.json"')
        assert main(["check", path, "--write-baseline", str(tmp_path / "known.json")]) == 0
        assert main(["check", path]) == 0

    @pytest.mark.parametrize(
        "text", [None, "no json", "{}", '{"schema": 2, "findings": []}', '{"schema": 1, "findings": [{}]}']
    )
    def test_what_is_no_baseline(self, project, tmp_path, capsys, text):
        known = tmp_path / "known.json"
        if text is not None:
            known.write_text(text)
        assert main(["check", project(IMPORT), "--aiter", "0.1.13", "--baseline", str(known)]) == 2
        assert "baseline" in capsys.readouterr().err

    def test_a_baseline_that_cannot_be_written(self, project, tmp_path, capsys):
        target = str(tmp_path / "no" / "known.json")
        assert main(["check", project(IMPORT), "--aiter", "0.1.13", "--write-baseline", target]) == 2
        assert "cannot be written" in capsys.readouterr().err


def test_the_pre_commit_hook_calls_this_command():
    hooks = Path(aiter_compat.__file__).parents[1] / ".pre-commit-hooks.yaml"
    if not hooks.is_file():
        pytest.skip("only a checkout has the hooks")
    entry = next(line for line in hooks.read_text().splitlines() if line.strip().startswith("entry:"))
    assert entry.split(":")[1].split()[:2] == ["aiter-compat", "check"]
