"""The script that checks the matrix against AITER's source finds what is planted, and nothing in what is right."""

import shutil
import subprocess

import pytest

from verification.aiter_source import Checkout
from verification.host_gaps import Check
from verification.host_source import Host

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="no git here")

HEADER = "enum class Kind : int { One, Two };  // Three is newer\n"
OLD = {
    "aiter/__init__.py": "from .ops.moe import *\nfrom .ops import moe as moe_module\n",
    "aiter/ops/__init__.py": "",
    "aiter/ops/moe.py": "def fused(x, *, dtype=None): ...\nclass Mode:\n    A = 0\n",
    "aiter/ops/triton/__init__.py": 'import sys\nOLD = {"old_name": "sub.new_name"}\nsys.meta_path.append(None)\n',
    "aiter/ops/triton/sub/new_name.py": "def kernel(): ...\n",
    "aiter/ops/enum.py": "Kind = type(0)\n",
    "csrc/include/aiter_enum.h": HEADER,
}
NEW = {**OLD, "aiter/ops/moe.py": "def fused(x, *, dtype=None, gate=None): ...\nclass Mode:\n    A = 0\n    B = 1\n"}
TWO_CALLS = "from aiter import fused\ndef run(x):\n    fused(x.view(1), 2)\n"
HOST = {
    "host.py": "from aiter import fused\nfrom aiter.ops.moe import Mode\nfrom aiter.ops.enum import Kind\n"
    "from aiter.ops.triton.old_name import kernel\n"
    "def run(x):\n    return fused(x, gate=1)\nmode = Mode.B\nkind = Kind.Two\n",
    "two.py": TWO_CALLS,
    "other.py": "from host import fused  # aiter\ndef run(x):\n    return fused(x, gate=2)\n",
}
TRUE = [
    ("missing-keyword", "aiter.fused(gate)", "host.py", 6, "function"),
    ("missing-keyword", "aiter.fused(gate)", "other.py", 3, "function"),
    ("missing-enum-member", "aiter.ops.moe.Mode.B", "host.py", 7, "module"),
]
DOES_NOT_FIT = ("changed-meaning", "aiter.fused", "two.py", 3, "function")


@pytest.fixture(scope="module")
def checkout(tmp_path_factory):
    folder = tmp_path_factory.mktemp("aiter")
    git = ["git", "-C", str(folder), "-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false"]
    subprocess.run([*git, "init", "-q"], check=True)
    for tag, files in (("v0.1.1", OLD), ("v0.1.2", NEW)):
        for name, text in files.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(text)
        subprocess.run([*git, "add", "-A"], check=True)
        subprocess.run([*git, "commit", "-q", "-m", tag], check=True)
        subprocess.run([*git, "tag", tag], check=True)
    with Checkout(str(folder)) as opened:
        yield opened


@pytest.fixture
def wrong(checkout, tmp_path):
    for name, text in HOST.items():
        (tmp_path / name).write_text(text)

    def find(rows):
        findings = [
            dict(
                zip(("kind", "symbol", "file", "line", "scope"), row, strict=True),
                release=row_release,
                guarded=False,
                message="",
            )
            for row_release, row in rows
        ]
        check = Check(checkout, Host(tmp_path), {"releases": ["0.1.1", "0.1.2"], "findings": findings})
        return check.samples([1], size=60)[1]

    return find


def test_what_is_right_has_no_disagreement(wrong):
    assert wrong([("0.1.1", row) for row in (*TRUE, DOES_NOT_FIT)]) == []


@pytest.mark.parametrize("left_out", range(len(TRUE)))
def test_what_is_not_reported_is_found(wrong, left_out):
    rows = [("0.1.1", row) for row in TRUE[:left_out] + TRUE[left_out + 1 :]]
    assert any("was not reported" in one and TRUE[left_out][2] in one for one in wrong(rows))


@pytest.mark.parametrize(
    ("release", "row", "word"),
    [
        ("0.1.2", TRUE[0], "the release has it"),
        ("0.1.1", ("missing-enum-member", "aiter.ops.enum.Kind.Two", "host.py", 8, "module"), "the release has it"),
        ("0.1.1", ("missing-module", "aiter.ops.triton.old_name", "host.py", 4, "module"), "the release has it"),
        ("0.1.1", ("changed-meaning", "aiter.fused", "host.py", 6, "function"), "the release has it"),
        ("0.1.1", ("missing-keyword", "aiter.fused(gate)", "host.py", 6, "module"), "the scope is"),
        ("0.1.1", ("missing-keyword", "aiter.fused(gate)", "host.py", 8, "module"), "does not name it"),
        ("0.1.1", ("missing-keyword", "aiter.fused(gate)", "host.py", 99, "module"), "nothing begins"),
    ],
)
def test_what_is_wrongly_reported_is_found(wrong, release, row, word):
    assert any(word in one for one in wrong([*(("0.1.1", one) for one in TRUE), (release, row)]))
