"""The report: ready for JSON, complete for every kind of installation, and there even when a part of it fails."""

import json
import sys

import pytest

import aiter_compat as ac
from aiter_compat.doctor import SCHEMA, as_text, examine

PARTS = (
    *("machine", "packages", "aiter", "surface", "import", "capabilities"),
    *("quirks", "obsolete_workarounds", "serving", "settings"),
)
FOREIGN = {
    "aiter/__init__.py": "__version__ = '0.13.20191203'\n",
    "aiter/azip.py": "",
    "aiter/join_aiters.py": "",
    "aiter-0.13.20191203.dist-info/METADATA": "Metadata-Version: 2.1\nName: aiter\nVersion: 0.13.20191203\n",
    "aiter-0.13.20191203.dist-info/RECORD": "aiter/__init__.py,,\n",
}


def sound(report):
    """The report, after checking what holds for every report."""
    assert json.loads(json.dumps(report)) == report
    assert report["schema"] == SCHEMA == 1
    assert report["aiter_compat"] == ac.__version__
    assert set(report) == {"schema", "aiter_compat", "errors", *PARTS}
    assert report["errors"] == {}
    return report


@pytest.fixture
def with_torch(monkeypatch):
    """What serves a call depends on torch's being installed, which the tests of that are about."""
    from importlib import metadata

    real = metadata.version
    monkeypatch.setattr(metadata, "version", lambda name: "2.13.0" if name == "torch" else real(name))


def test_absent(without_aiter, with_torch):
    report = sound(examine(try_import=True))
    assert report["aiter"]["kind"] == "absent"
    assert report["surface"] is None
    assert report["quirks"] == report["obsolete_workarounds"] == []
    assert report["import"] == {"tried": False, "error": None}
    assert not any(row["available"] for row in report["capabilities"].values())
    assert report["serving"] == {
        "backend": "emulation",
        "reason": "AITER is not installed",
        "numerics": "aiter-0.1.15",
    }


def test_foreign(fake_site, with_torch):
    fake_site(FOREIGN)
    report = sound(examine(try_import=True))
    assert report["aiter"]["kind"] == "foreign"
    assert report["aiter"]["release"] is None
    assert report["import"]["tried"] is False
    assert report["serving"]["backend"] == "emulation"
    assert "not AITER" in report["serving"]["reason"]
    assert "aiter" not in sys.modules


def test_namespace(fake_site, with_torch):
    fake_site({"aiter/readme.txt": ""})
    report = sound(examine(try_import=True))
    assert report["aiter"]["kind"] == "namespace"
    assert "bare folder" in report["serving"]["reason"]


@pytest.mark.parametrize("release", ["0.1.13.post1", "0.1.15.post3", "0.1.20.post1"])
def test_present(aiter_stub, release):
    aiter_stub(release)
    report = sound(examine())
    assert report["aiter"]["version"] == release
    assert report["packages"]["amd-aiter"] == release
    assert report["import"] == {"tried": False, "error": None}
    assert {name for name, row in report["capabilities"].items() if row["available"]} == {
        name for name, capability in ac.capabilities().items() if capability
    }
    assert report["surface"]["GateMode"].endswith(".GateMode")
    assert report["surface"]["fused_moe"][:2] == ["hidden_states", "w1"]
    assert report["surface"]["QuantType"]["per_1x32"] == 3
    names = {quirk["name"] for quirk in report["quirks"]}
    assert ("swiglu_reads_interleaved" in names) is (release == "0.1.13.post1")
    assert all(quirk["effect"] and quirk["remedy"] and quirk["source"] for quirk in report["quirks"])
    assert "aiter" not in sys.modules


@pytest.mark.parametrize(
    ("release", "since"), [("0.1.15.post2", None), ("0.1.15.post3", "0.1.15.post3"), ("0.1.20.post1", "0.1.15.post3")]
)
def test_a_workaround_that_the_release_needs_no_more_is_listed_with_its_end(aiter_stub, release, since):
    aiter_stub(release)
    rows = {row["name"]: row for row in sound(examine())["obsolete_workarounds"]}
    if since is None:
        assert "intermediate_pad_zero" not in rows
        return
    row = rows["intermediate_pad_zero"]
    assert (row["obsolete_since"], row["quirk"], row["in_use"]) == (since, "pad_skipping_inaccurate", None)
    assert "intermediate_pad=0" in row["workaround"]
    assert "resolve_padding" in row["instead"]
    assert "ROCm/aiter#3401" in row["source"]


def test_an_import_that_works(aiter_stub, with_torch):
    aiter_stub("0.1.15.post3")
    report = sound(examine(try_import=True))
    assert report["import"] == {"tried": True, "error": None}
    assert report["serving"]["backend"] == "aiter on ROCm GPUs"
    assert report["serving"]["numerics"] == "aiter-0.1.15"


@pytest.mark.parametrize(
    ("name", "error"),
    [
        ("broken", "RuntimeError: ROCm version file not found"),
        ("incompatible", "ValueError: too many values to unpack (expected 2)"),
        ("truncated", "ImportError: cannot import name 'ActivationType'"),
    ],
)
def test_an_import_that_fails_is_told_and_changes_what_serves(aiter_stub, with_torch, name, error):
    aiter_stub(name)
    assert examine()["serving"]["backend"] == "aiter on ROCm GPUs"  # files cannot tell
    report = sound(examine(try_import=True))
    assert report["import"]["tried"] is True
    assert error in report["import"]["error"]
    assert report["serving"]["backend"] == "emulation"
    assert report["serving"]["reason"] == "the installed AITER does not import"


def test_without_torch_nothing_serves(without_aiter, monkeypatch):
    from importlib import metadata

    def missing(name):
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "version", missing)
    report = sound(examine())
    assert report["packages"] == {}
    assert report["serving"]["backend"] is None
    assert "pip install 'aiter-compat[torch]'" in as_text(report)


def test_what_aiter_prints_while_it_is_imported_does_not_reach_stdout(fake_site, capsys):
    files = {"aiter/jit/core.py": "", "aiter/fused_moe.py": "def fused_moe(hidden_states): ...\n"}
    fake_site(files | {"aiter/__init__.py": "print('[aiter] building kernels')\n"})
    examine(try_import=True)
    printed = capsys.readouterr()
    assert printed.out == ""
    assert "building kernels" in printed.err


COLLECTORS = {
    "machine": "platform.platform",
    "packages": "aiter_compat.doctor.report.metadata.version",
    "surface": "aiter_compat.doctor.report.active_surface",
    "capabilities": "aiter_compat.doctor.report.capabilities",
    "quirks": "aiter_compat.doctor.report.quirks_of",
    "obsolete_workarounds": "aiter_compat.doctor.report.obsolete_workarounds",
    "serving": "aiter_compat.doctor.report.profile_for_release",
    "settings": "aiter_compat.doctor.report.settings",
    "import": "aiter_compat.native.attempt",
}


@pytest.mark.parametrize("part", COLLECTORS)
def test_a_part_that_raises_is_an_error_in_the_report_and_no_more(aiter_stub, monkeypatch, part):
    aiter_stub("0.1.15.post3")

    def fail(*args, **kwargs):
        raise OSError("the disk is gone")

    monkeypatch.setattr(COLLECTORS[part], fail)
    report = examine(try_import=True)
    assert list(report["errors"]) == [part]
    assert "OSError: the disk is gone" in report["errors"][part]
    json.dumps(report)
    text = as_text(report)
    assert f"! {part} could not be examined: " in text
    assert "aiter_compat" in text


def test_when_detection_raises_the_rest_is_still_there(monkeypatch):
    def fail():
        raise RecursionError("links")

    monkeypatch.setattr("aiter_compat.detect.cache.detect", fail)
    report = examine(try_import=True)
    assert "aiter" in report["errors"]
    assert report["import"] == {"tried": False, "error": None}
    assert report["machine"]["python"]
    assert "aiter could not be examined: RecursionError: links" in as_text(report)


def test_a_bad_setting_is_in_the_report(monkeypatch, without_aiter):
    monkeypatch.setenv("AITER_COMPAT_CHECKS", "loud")
    ac.refresh()
    report = examine()
    assert "AITER_COMPAT_CHECKS='loud'" in report["errors"]["settings"]
    assert "AITER_COMPAT_CHECKS='loud'" in as_text(report)
