"""`aiter-compat migrate`: a diff by default, files with --write, notes on stderr."""

import os
import shutil
import subprocess
import sys

import pytest

pytest.importorskip("libcst", reason="the extra migrate is not installed")

from aiter_compat.cli.main import main

BEFORE = "from aiter.fused_moe import fused_moe\nfrom aiter import QuantType\n"
AFTER = "from aiter_compat import fused_moe\nfrom aiter_compat import QuantType\n"


@pytest.fixture
def host(tmp_path):
    root = tmp_path / "tree"
    root.mkdir()
    (root / "host.py").write_text(BEFORE)
    return root


def test_the_diff_is_the_default_and_writes_nothing(host, capsys):
    assert main(["migrate", str(host), "--to", "shim"]) == 1
    printed = capsys.readouterr()
    assert "--- a/host.py\n+++ b/host.py\n" in printed.out
    assert "+from aiter_compat import fused_moe\n" in printed.out
    assert "1 file would change" in printed.err
    assert (host / "host.py").read_text() == BEFORE


FORMS = {
    "crlf.py": b"x = 1\r\nfrom aiter import QuantType, dtypes\r\ny = 2\r\n",
    "latin.py": b"# coding: latin-1\n# \xe9\nfrom aiter import QuantType  # \xe9\n",
    "mark.py": b"\xef\xbb\xbffrom aiter import QuantType\n",
    "no_end.py": b"x = 1\nfrom aiter import QuantType",
    "separators.py": "x = '\x1c\u2028'\nfrom aiter import QuantType\n".encode(),
}


@pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
def test_the_diff_is_a_patch_that_does_what_write_does(tmp_path, capfdbinary):
    for folder in ("patched", "written"):
        for name, content in FORMS.items():
            path = tmp_path / folder / name
            path.parent.mkdir(exist_ok=True)
            path.write_bytes(content)
    main(["migrate", str(tmp_path / "patched"), "--to", "shim"])
    patch = capfdbinary.readouterr().out
    main(["migrate", str(tmp_path / "written"), "--to", "shim", "--write"])
    command = ["git", "apply", "--whitespace=nowarn", "-"]
    subprocess.run(command, input=patch, cwd=tmp_path / "patched", check=True, env=os.environ | {"GIT_DIR": "none"})
    for name, content in FORMS.items():
        after = (tmp_path / "written" / name).read_bytes()
        assert after != content
        assert (tmp_path / "patched" / name).read_bytes() == after


def test_write_and_nothing_left_to_do(host, capsys):
    assert main(["migrate", str(host), "--to", "shim", "--write"]) == 1
    assert (host / "host.py").read_text() == AFTER
    assert capsys.readouterr().out == "host.py: shim-fused-moe, shim-quant-type\n"
    assert main(["migrate", str(host), "--to", "shim", "--write"]) == 0
    assert "0 files changed" in capsys.readouterr().err


@pytest.mark.parametrize("arguments", [["--only", "shim-quant-type"], ["--skip", "shim-fused-moe"]])
def test_rules_can_be_chosen(host, arguments):
    assert main(["migrate", str(host), "--to", "shim", "--write", *arguments]) == 1
    assert (host / "host.py").read_text() == BEFORE.replace("aiter import QuantType", "aiter_compat import QuantType")


def test_a_range_of_releases(host):
    (host / "host.py").write_text("from aiter.ops.triton.gemm_afp4wfp4 import gemm_afp4wfp4\n")
    assert main(["migrate", str(host), "--aiter", ">=0.1.13", "--write"]) == 1
    assert "gemm.basic.gemm_afp4wfp4" in (host / "host.py").read_text()


def test_what_is_left_is_said_with_the_reason(host, capsys):
    (host / "host.py").write_text("try:\n    from aiter import QuantType\nexcept ImportError:\n    QuantType = None\n")
    assert main(["migrate", str(host), "--to", "shim"]) == 0
    assert "host.py:2: shim-quant-type left: the host decides by whether this import works" in capsys.readouterr().err


def test_files_that_do_not_parse_are_named_and_left(host, capsys):
    (host / "broken.py").write_text("import aiter\nif:\n")
    assert main(["migrate", str(host), "--to", "shim", "--write"]) == 1
    assert "broken.py cannot be parsed" in capsys.readouterr().err
    assert (host / "broken.py").read_text() == "import aiter\nif:\n"


def test_links_are_not_followed(host, tmp_path, capsys):
    (tmp_path / "outside.py").write_text(BEFORE)
    (host / "link.py").symlink_to(tmp_path / "outside.py")
    (host / "inside.py").symlink_to(host / "host.py")
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "outside.py").write_text(BEFORE)
    (host / "folder").symlink_to(tmp_path / "folder")
    main(["migrate", str(host), "--to", "shim", "--write"])
    assert (tmp_path / "outside.py").read_text() == BEFORE
    assert (tmp_path / "folder" / "outside.py").read_text() == BEFORE
    assert (host / "inside.py").is_symlink()
    assert capsys.readouterr().out == "host.py: shim-fused-moe, shim-quant-type\n"


@pytest.mark.parametrize("arguments", [["--to", "shim", "--only", "nothing"], ["--aiter", ">=9"]])
def test_usage_errors(host, capsys, arguments):
    assert main(["migrate", str(host), *arguments]) == 2
    assert capsys.readouterr().err.startswith("aiter-compat: ")


def test_a_file_that_cannot_be_written_is_named_and_the_others_are_written(host, capsys, monkeypatch):
    (host / "other.py").write_text(BEFORE)
    replace = os.replace

    def refuse(source, target):
        if target.endswith("host.py"):
            raise PermissionError("read-only")
        replace(source, target)

    monkeypatch.setattr(os, "replace", refuse)
    assert main(["migrate", str(host), "--to", "shim", "--write"]) == 3
    printed = capsys.readouterr()
    assert "host.py cannot be written: read-only" in printed.err
    assert "1 file changed" in printed.err
    assert (host / "host.py").read_text() == BEFORE
    assert (host / "other.py").read_text() == AFTER


def test_without_libcst_the_extra_is_named(host, capsys, monkeypatch):
    for name in [name for name in sys.modules if name.startswith(("libcst", "aiter_compat.migrate."))]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "libcst", None)
    assert main(["migrate", str(host), "--to", "shim"]) == 3
    assert "pip install 'aiter-compat[migrate]'" in capsys.readouterr().err
