"""The surface of the installed AITER; what its files leave open about enums comes from a record, with a note."""

import dataclasses
import shutil
import sys

import pytest
from packaging.version import Version

import aiter_compat as ac
from aiter_compat.features.paths import ACTIVATION_TYPE, GATE_MODE, QUANT_TYPE, stated_members
from aiter_compat.releases import nearest_record, newest_record, recorded_releases

ACTIVATIONS = "aiter.ops.enum.ActivationType"


@pytest.fixture
def without_headers(stub_site, fake_site):
    """Installs the stub of a release without aiter_meta, under another version when asked."""

    def install(release: str, version: str | None = None):
        folder = fake_site({"aiter/__init__.py": ""}, folder=f"site-{release}-{version}")
        shutil.copytree(stub_site(release), folder, dirs_exist_ok=True)
        shutil.rmtree(folder / "aiter_meta")
        if version is not None:
            info = folder / f"amd_aiter-{release}.dist-info"
            metadata = (info / "METADATA").read_text().replace(f"Version: {release}", f"Version: {version}")
            shutil.rmtree(info)
            (folder / f"amd_aiter-{version}.dist-info").mkdir()
            (folder / f"amd_aiter-{version}.dist-info" / "METADATA").write_text(metadata)
            (folder / "aiter" / "_version.py").unlink()
        ac.refresh()
        assert ac.installation().version == (version or release)

    return install


def test_none_without_aiter(without_aiter):
    assert ac.surface() is None


@pytest.mark.parametrize("files", [{"aiter/azip.py": "", "aiter/__init__.py": ""}, {"aiter/readme.txt": ""}])
def test_none_for_what_is_not_aiter(fake_site, files):
    fake_site(files)
    assert ac.installation().kind in ("foreign", "namespace")
    assert ac.surface() is None


@pytest.mark.parametrize("release", ["0.1.13.post1", "0.1.15.post3", "0.1.20.post1"])
def test_it_is_what_the_record_of_the_release_says(aiter_stub, release):
    aiter_stub(release)
    recorded = nearest_record(Version(release)).surface
    for path in recorded.symbols:
        assert ac.surface().symbols[path] == recorded.symbols[path]
    assert ac.surface().notes == ()
    assert "aiter" not in sys.modules


@pytest.mark.parametrize("release", ["0.1.13.post1", "0.1.15.post3", "0.1.20.post1"])
def test_hidden_members_are_those_of_the_record_and_a_note_says_so(without_headers, release):
    without_headers(release)
    surface = ac.surface()
    recorded = nearest_record(Version(release)).surface
    for path in (ACTIVATIONS, "aiter.ops.enum.QuantType"):
        assert surface.members(path) == recorded.members(path)
    assert surface.notes[-1] == (
        "members of aiter.ops.enum.ActivationType and aiter.ops.enum.QuantType are not in its files; "
        f"taken from the record of v{release}"
    )


@pytest.mark.parametrize(
    ("version", "source"),
    [
        ("0.1.19.dev3", "0.1.18"),  # after 0.1.18, not yet 0.1.19
        ("0.1.19+rocm7.2", "0.1.19"),
        ("7.0", recorded_releases()[-1]),
        ("0.1.9", recorded_releases()[0]),  # older than every record: the oldest is nearest
        ("0.1.0", recorded_releases()[-1]),  # the fallback number of a build without git: unknown
    ],
)
def test_the_nearest_record_fills_them_in(without_headers, version, source):
    without_headers("0.1.20.post1", version)
    surface = ac.surface()
    assert surface.notes[-1].endswith(f"taken from the record of v{source}")
    assert surface.members(ACTIVATIONS) == nearest_record(Version(source)).surface.members(ACTIVATIONS)


def test_it_is_remembered_until_refresh(aiter_stub, monkeypatch):
    aiter_stub("0.1.14")
    first = ac.surface()
    other = dataclasses.replace(first, origin="elsewhere")
    monkeypatch.setattr("aiter_compat.features.installed.probe", lambda location: other)
    assert ac.surface() is first
    ac.refresh()
    assert ac.surface() is other


def test_stated_members_come_from_the_first_place_that_states_them():
    surface = newest_record().surface
    assert stated_members(surface, ACTIVATION_TYPE) == surface.members(ACTIVATIONS)
    assert stated_members(surface, GATE_MODE) == surface.members("aiter.ops.flydsl.moe_common.GateMode")
    assert len(stated_members(surface, GATE_MODE)) == 4  # not the two of the stand-in in aiter.fused_moe
    assert stated_members(surface, ("aiter.nothing", QUANT_TYPE[0])) == surface.members(QUANT_TYPE[0])
    assert stated_members(surface, ("aiter.nothing",)) is None
