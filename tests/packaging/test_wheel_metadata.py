"""What an installer reads: one runtime dependency, the extras, the script, the Python range."""

import zipfile
from email.parser import HeaderParser

import pytest
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet

from aiter_compat._version import __version__


@pytest.fixture
def metadata(wheel):
    with zipfile.ZipFile(wheel) as archive:
        [name] = [name for name in archive.namelist() if name.endswith(".dist-info/METADATA")]
        return HeaderParser().parsestr(archive.read(name).decode())


def requirements(metadata, extra: str) -> dict[str, SpecifierSet]:
    """Requirements that hold with this extra ("" for none), by name."""
    parsed = [Requirement(text) for text in metadata.get_all("Requires-Dist")]
    wanted = [one for one in parsed if one.marker is None or (extra and one.marker.evaluate({"extra": extra}))]
    return {one.name: one.specifier for one in wanted if (one.marker is not None) == bool(extra)}


def test_packaging_is_the_only_runtime_dependency(metadata):
    assert set(requirements(metadata, "")) == {"packaging"}


def test_extras_bring_what_their_names_say(metadata):
    assert {"torch", "rocm", "cli", "migrate", "hosts"} <= set(metadata.get_all("Provides-Extra"))
    assert set(requirements(metadata, "torch")) == {"torch"}
    assert set(requirements(metadata, "migrate")) == {"libcst"}
    assert "transformers" in requirements(metadata, "hosts")


def test_the_rocm_extra_names_the_supported_range(metadata):
    supported = requirements(metadata, "rocm")["amd-aiter"]
    assert supported.contains("0.1.13.post1")
    assert supported.contains("0.1.15.post3")
    assert not supported.contains("0.1.7.post2.dev18", prereleases=True)  # what PyPI serves


def test_version_name_and_python(metadata):
    assert (metadata["Name"], metadata["Version"]) == ("aiter-compat", __version__)
    assert SpecifierSet(metadata["Requires-Python"]).contains("3.10")
    assert metadata["License-Expression"] == "Apache-2.0"
