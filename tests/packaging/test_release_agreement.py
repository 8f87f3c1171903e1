"""Records, changelog, tox factors and README's table say the same of AITER's releases; CONTRIBUTING's steps suffice."""

import os
import re
import shlex
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from aiter_compat.quirks import has_quirk
from aiter_compat.releases import newest_record
from stub_wheels import build_wheel, factor_name, variant
from stub_wheels.agreement import disagreements, recorded, support_table

FILES = ("CHANGELOG.md", "README.md", "tox.ini")
DATA = "aiter_compat/releases/data"
NEWEST = newest_record().release
NEXT = "0.1.99"
"""A release that nobody has recorded."""


@pytest.fixture
def copy(root, tmp_path) -> Path:
    """What the agreement is about, in a folder of its own."""
    for name in FILES:
        shutil.copy(root / name, tmp_path / name)
    shutil.copytree(root / DATA, tmp_path / DATA)
    return tmp_path


def edit(path: Path, old: str, new: str) -> None:
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")


def test_they_agree(root):
    assert disagreements(root) == []


@pytest.mark.parametrize(
    ("name", "old", "new", "told"),
    [
        ("tox.ini", f", {factor_name(NEWEST)}", "", f"no factor {factor_name(NEWEST)} for the newest record"),
        ("tox.ini", "0112post2, 0113,", "0112post2, 0998, 0113,", "factor 0998, which is no recorded release"),
        ("tox.ini", "aiter{denies, claims}:", "aiter{denies}:", "factor claims in only one of"),
        ("tox.ini", "0115post3, 0116, 0117,", "0115post3, 0116,", "v0.1.17 to v0.1.18 has no factor"),
        ("CHANGELOG.md", f"to v{NEWEST} (", "to v0.1.19 (", f"no line about the record of v{NEWEST}"),
        ("CHANGELOG.md", f"to v{NEWEST} (", "to v0.1.98 (", "names a record of v0.1.98, and there is none"),
        ("README.md", "| v0.1.19 and newer |", "| v0.1.19 |", f"has 0 rows for v{NEWEST}"),
        ("README.md", "| v0.1.17 to v0.1.18 |", "| v0.1.17 to v0.1.19 |", "has 2 rows for v0.1.19"),
    ],
)
def test_each_disagreement_is_told(copy, name, old, new, told):
    edit(copy / name, old, new)
    assert any(told in sentence for sentence in disagreements(copy)), disagreements(copy)


def test_a_record_that_is_gone_is_missed(copy):
    (copy / DATA / f"{NEWEST}.json").unlink()
    assert any(f"names a record of v{NEWEST}" in sentence for sentence in disagreements(copy))


def test_the_table_calls_old_what_the_quirk_calls_old(root):
    for release in recorded(root):
        [row] = [row for row in support_table(root) if release in row]
        assert row.text.startswith("too old") is has_quirk("release_too_old", release)


def test_the_extra_that_installs_aiter_asks_for_a_release_that_is_served(root):
    [line] = re.findall(r'^rocm = \["(.*)"\]', (root / "pyproject.toml").read_text(encoding="utf-8"), re.MULTILINE)
    allowed = Requirement(line).specifier
    for release in recorded(root):
        assert allowed.contains(release) is not has_quirk("release_too_old", release)


def steps(root: Path) -> dict[str, str]:
    """The code blocks of CONTRIBUTING's section, by language, with another release in the place of its example."""
    section = (root / "CONTRIBUTING.md").read_text(encoding="utf-8").partition("## Adding an AITER release")[2]
    blocks = dict(re.findall(r"```(\w+)\n(.*?)```", section, re.DOTALL))
    assert len(re.findall(r"^\d\. ", section, re.MULTILINE)) == len(blocks) == 3
    return {
        language: re.sub(r"^   ", "", text, flags=re.MULTILINE).replace("0.1.21", NEXT).replace("0121", "0199").strip()
        for language, text in blocks.items()
    }


def run(copy: Path, *command: str, site: Path | None = None) -> str:
    """A command with the copy's aiter_compat and nothing else of this project."""
    path = os.pathsep.join(str(folder) for folder in (site, copy) if folder is not None)
    done = subprocess.run(
        [sys.executable, *command],
        env=os.environ | {"PYTHONPATH": path, "PYTHONSAFEPATH": "1"},
        cwd=copy,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_three_steps_of_contributing_add_a_release(copy, root, tmp_path):
    """No code is changed: the stub, its factor and the adapter of the calls follow from the record."""
    ignored = shutil.ignore_patterns("__pycache__")
    for package in ("aiter_compat", "stub_wheels"):
        shutil.copytree(root / package, copy / package, ignore=ignored, dirs_exist_ok=True)
    source = tmp_path / "source"  # what AITER's next release looks like: as the newest, with one more keyword
    with zipfile.ZipFile(build_wheel(variant(NEWEST), tmp_path / "wheels")) as wheel:
        wheel.extractall(source)
    edit(source / "aiter" / "fused_moe.py", "shared_expert_id=-1", "shared_expert_id=-1, brand_new=None")

    step = steps(root)
    program, *arguments = shlex.split(step["console"].replace("path/to/aiter", str(source)))
    assert program == "aiter-compat"
    run(copy, "-m", "aiter_compat", *arguments)
    told = disagreements(copy)
    assert len(told) == 2, told

    edit(copy / "CHANGELOG.md", "### Added\n", f"### Added\n\n{step['markdown']}\n")
    [told] = disagreements(copy)
    assert "no factor 0199" in told
    edit(copy / "tox.ini", f", {factor_name(NEWEST)}}}", f", {factor_name(NEWEST)}, 0199}}")
    assert "0120post1, 0199" in step["ini"]
    assert disagreements(copy) == []

    stub = Path(run(copy, "-m", "stub_wheels", "py311-aiter0199", str(tmp_path / "stub")).strip())
    site = tmp_path / "site"
    with zipfile.ZipFile(stub) as wheel:
        wheel.extractall(site)
    call = (
        "import torch, aiter_compat as ac\n"
        f"assert ac.installation().version == {NEXT!r}\n"
        "w1, w2 = torch.ones(2, 64, 32).bfloat16(), torch.ones(2, 32, 32).bfloat16()\n"
        "ids = torch.tensor([[0, 1]], dtype=torch.int32)\n"
        "call = (torch.ones(1, 32).bfloat16() / 64, w1, w2, torch.ones(1, 2), ids)\n"
        "out = ac.fused_moe(*call, backend='aiter', brand_new=5)\n"
        "import aiter.stub_runtime.journal as journal\n"
        "assert journal.last_call['brand_new'] == 5\n"
        "expected = ac.fused_moe(*call, backend='emulation')\n"
        "print(bool(torch.allclose(out, expected, rtol=1e-2)))\n"
    )
    assert run(copy, "-c", call, site=site).strip() == "True"


def test_contributing_names_only_environments_that_tox_has(root):
    text = (root / "CONTRIBUTING.md").read_text(encoding="utf-8") + (root / "README.md").read_text(encoding="utf-8")
    config = (root / "tox.ini").read_text(encoding="utf-8")
    for name in re.findall(r"tox run -e ([\w-]+)", text):
        assert name in ("py311-aiternone",) or re.search(rf"^    {name}$", config, re.MULTILINE), name
    for label in re.findall(r"tox run -m ([\w-]+)", text):
        assert re.search(rf"^    {label} = ", config, re.MULTILINE), label
