"""The verdict on what is installed: one test for each way in which hosts were misled."""

from __future__ import annotations

import os
import sys
import zipfile

import pytest
from packaging.version import Version

from aiter_compat.detect import Installation, detect
from aiter_compat.errors import InvalidArgument

AMD = ("__init__.py", "fused_moe.py", "ops/__init__.py", "ops/enum.py", "jit/core.py")


def _one(found: Installation, text: str) -> str:
    """The single warning that contains `text`."""
    matching = [warning for warning in found.warnings if text in warning]
    assert len(matching) == 1, found.warnings
    return matching[0]


# --- present -----------------------------------------------------------------------------------------------------


def test_wheel_install_is_present_without_warnings(site):
    package = site.package(version="0.1.14")
    site.dist_info("0.1.14")
    found = detect([str(site)])
    assert found == Installation(
        "present", "0.1.14", "distribution metadata", str(package), "amd-aiter", editable=False, imported=False
    )
    assert found.release == Version("0.1.14")


def test_distribution_was_called_aiter_until_0_1_7(site):
    site.package()
    site.dist_info("0.1.7.post5", "aiter")
    found = detect([str(site)])
    assert (found.kind, found.version, found.distribution) == ("present", "0.1.7.post5", "aiter")


def test_version_is_read_from_the_header_of_the_metadata_only(site):
    site.package()
    site.dist_info("0.1.14")  # its description says "Version: 9"
    assert detect([str(site)]).version == "0.1.14"


def test_checkout_on_the_path_without_metadata_uses_its_version_file(site):
    site.package(version="0.1.15.post3")
    found = detect([str(site)])
    assert (found.kind, found.version, found.source) == ("present", "0.1.15.post3", "aiter/_version.py")
    assert found.distribution is None
    assert found.warnings == ()


@pytest.mark.parametrize(
    "text",
    [
        "# generated\n__version__ = version = '0.1.15'\n__version_tuple__ = (0, 1, 15)\n",
        '__version__: str\nversion: str\n\n__version__ = "0.1.15"\n',
        "__version__: str = '0.1.15'\n",
    ],
)
def test_version_file_of_every_setuptools_scm_template_is_read(site, text):
    site.package()
    site.write("aiter/_version.py", text)
    assert detect([str(site)]).version == "0.1.15"


def test_checkout_without_any_version_says_so(site):
    site.package()
    found = detect([str(site)])
    assert (found.kind, found.version, found.source, found.release) == ("present", None, None, None)
    _one(found, "nothing states the version")


def test_metadata_without_list_of_files_belongs_to_the_files_beside_it(site):
    site.package()
    site.dist_info("0.1.14", files=None)
    found = detect([str(site)])
    assert (found.version, found.distribution, found.warnings) == ("0.1.14", "amd-aiter", ())


def test_fork_under_another_name_is_recognised_by_its_list_of_files(site):
    site.package()
    site.dist_info("0.1.16", "amd-aiter-rocm72")
    found = detect([str(site)])
    assert (found.distribution, found.version, found.warnings) == ("amd-aiter-rocm72", "0.1.16", ())


def test_own_distribution_is_not_taken_for_a_second_aiter(site):
    site.package()
    site.dist_info("0.1.14")
    site.write("aiter_compat-9.0.dist-info/METADATA", "Name: aiter-compat\nVersion: 9.0\n")
    site.write("aiter_compat-9.0.dist-info/RECORD", "aiter_compat/__init__.py,,\n")
    assert detect([str(site)]).warnings == ()


# --- foreign -----------------------------------------------------------------------------------------------------


def test_pypi_package_of_the_same_name_is_foreign_although_its_version_is_higher(site):
    site.foreign()
    found = detect([str(site)])
    assert (found.kind, found.version, found.distribution) == ("foreign", "0.13.20191203", "aiter")
    assert found.release is None
    _one(found, "not AMD's AITER")


def test_foreign_package_without_metadata_is_told_by_its_files(site):
    site.package({"__init__.py": "", "azip.py": "", "join_aiters.py": ""})
    assert detect([str(site)]).kind == "foreign"


def test_single_file_called_aiter_is_foreign(site):
    module = site.write("aiter.py", "raise AssertionError\n")
    found = detect([str(site)])
    assert (found.kind, found.location) == ("foreign", str(module))


def test_unknown_package_without_aiter_files_is_foreign_even_with_a_tempting_version(site):
    site.package({"__init__.py": ""}, version="0.1.15")
    site.dist_info("0.1.15", "aiter", files={"__init__.py": ""})
    assert detect([str(site)]).kind == "foreign"


def test_foreign_package_first_on_the_path_names_the_aiter_that_it_hides(make_site):
    first, second = make_site("first"), make_site("second")
    first.foreign()
    second.package()
    second.dist_info("0.1.14")
    found = detect([str(first), str(second)])
    assert found.kind == "foreign"
    _one(found, "hides amd-aiter 0.1.14")


def test_foreign_package_installed_over_aiter_is_foreign_since_its_init_decides(site):
    site.package()
    site.dist_info("0.1.14")
    site.foreign()  # pip overwrites __init__.py and leaves fused_moe.py
    found = detect([str(site)])
    assert found.kind == "foreign"
    _one(found, "mixed")


def test_aiter_installed_over_the_foreign_package_is_present(site):
    site.foreign()
    site.package()
    site.dist_info("0.1.14")
    found = detect([str(site)])
    assert (found.kind, found.version, found.distribution) == ("present", "0.1.14", "amd-aiter")
    _one(found, "also holds files of another package")
    _one(found, "several distributions")


@pytest.mark.parametrize("listed", [True, False])
def test_left_over_metadata_of_the_foreign_package_never_gives_the_version(site, listed):
    site.package()
    site.foreign_dist_info()
    if not listed:
        (site.root / "aiter-0.13.20191203.dist-info" / "RECORD").unlink()
    found = detect([str(site)])
    assert (found.kind, found.version, found.distribution) == ("present", None, None)
    _one(found, "does not own the files")


# --- namespace ---------------------------------------------------------------------------------------------------


def test_bare_folder_is_a_namespace(site):
    site.write("aiter/README.md")
    found = detect([str(site)])
    assert (found.kind, found.location, found.version) == ("namespace", str(site.root / "aiter"), None)
    _one(found, "empty namespace package")


def test_bare_folder_does_not_hide_a_package_later_on_the_path(make_site):
    bare, real = make_site("bare"), make_site("real")
    bare.write("aiter/README.md")
    package = real.package()
    real.dist_info("0.1.14")
    found = detect([str(bare), str(real)])
    assert (found.kind, found.location) == ("present", str(package))


def test_every_portion_of_a_namespace_is_named(make_site):
    one, two = make_site("one"), make_site("two")
    one.write("aiter/a.txt")
    two.write("aiter/b.txt")
    found = detect([str(one), str(two)])
    assert str(two.root / "aiter") in _one(found, "namespace package")


def test_clone_of_the_repository_in_the_current_directory_is_told(site, monkeypatch):
    site.write("aiter/setup.py")
    site.write("aiter/aiter/__init__.py")
    site.write("aiter/aiter/fused_moe.py")
    monkeypatch.chdir(site.root)
    found = detect([""])
    assert found.kind == "namespace"
    _one(found, "clone of the repository")


# --- absent ------------------------------------------------------------------------------------------------------


def test_nothing_is_absent_without_warnings(site):
    found = detect([str(site), str(site.root / "missing"), str(site.write("file.txt"))])
    assert found == Installation("absent")


def test_metadata_without_files_is_absent_and_told(site):
    site.dist_info("0.1.14")
    found = detect([str(site)])
    assert (found.kind, found.version, found.location) == ("absent", None, None)
    assert "amd-aiter 0.1.14" in _one(found, "no package aiter is on the path")


def test_removed_editable_checkout_is_absent_and_told(site, tmp_path):
    site.dist_info("0.1.14", files={}, editable=tmp_path / "gone")
    found = detect([str(site)])
    assert found.kind == "absent"
    assert str(tmp_path / "gone") in _one(found, "installed in place")


def test_what_an_interrupted_uninstallation_renamed_is_no_metadata(site):
    site.write("~md_aiter-0.1.14.dist-info/METADATA", "Name: amd-aiter\nVersion: 0.1.14\n")
    assert detect([str(site)]) == Installation("absent")


def test_metadata_folder_that_lost_its_metadata_still_has_a_name_and_a_version(site):
    site.package()
    site.write("amd_aiter-0.1.14.dist-info/INSTALLER", "pip\n")
    found = detect([str(site)])
    assert (found.distribution, found.version) == ("amd-aiter", "0.1.14")


# --- several distributions, and metadata that disagrees with the files ----------------------------------------------


def test_two_distributions_in_one_folder_are_told_and_the_owner_of_the_files_is_picked(site):
    site.package()
    site.dist_info("0.1.14")
    site.foreign_dist_info()
    found = detect([str(site)])
    assert (found.version, found.distribution) == ("0.1.14", "amd-aiter")
    assert "aiter 0.13.20191203" in _one(found, "several distributions")


@pytest.mark.parametrize("record", [True, False])
def test_two_distributions_in_two_folders_each_own_their_own_files(make_site, record):
    first, second = make_site("first"), make_site("second")
    for fake, version in ((first, "0.1.15"), (second, "0.1.13")):
        fake.package()
        fake.dist_info(version, **({} if record else {"files": None}))
    for path, version in (((first, second), "0.1.15"), ((second, first), "0.1.13")):
        found = detect([str(entry) for entry in path])
        assert found.version == version
        _one(found, "several distributions")


@pytest.mark.parametrize("installed", ["0.1.13.post1", "0.1.15"])
def test_of_two_listings_of_the_same_files_the_one_with_their_hashes_wins(site, installed):
    texts = {version: dict.fromkeys(AMD, f"# {version}\n") for version in ("0.1.13.post1", "0.1.15")}
    for version, files in texts.items():
        site.dist_info(version, files=files)
    site.package(texts[installed])
    assert detect([str(site)]).version == installed


def test_of_two_listings_without_hashes_the_version_file_decides(site):
    site.dist_info("0.1.13", hashes=False)
    site.dist_info("0.1.15", hashes=False)
    site.package(version="0.1.13")
    assert detect([str(site)]).version == "0.1.13"


def test_metadata_without_list_of_files_yields_to_the_version_file(site):
    site.package(version="0.1.16")
    site.dist_info("0.1.14", files=None)
    found = detect([str(site)])
    assert (found.version, found.source) == ("0.1.16", "aiter/_version.py")
    _one(found, "disagree")


def test_metadata_that_lists_the_files_wins_over_the_version_file_and_both_are_told(site):
    site.package(version="0.1.16")
    site.dist_info("0.1.14")
    found = detect([str(site)])
    assert (found.version, found.source) == ("0.1.14", "distribution metadata")
    assert "0.1.16" in _one(found, "disagree")


def test_local_part_alone_is_no_disagreement(site):
    site.package(version="0.1.14")
    site.dist_info("0.1.14+rocm7.2")
    assert not [warning for warning in detect([str(site)]).warnings if "disagree" in warning]


def test_checkout_first_on_the_path_does_not_get_the_version_of_the_installed_one(make_site):
    checkout, installed = make_site("checkout"), make_site("installed")
    checkout.package()
    installed.package()
    installed.dist_info("0.1.14")
    found = detect([str(checkout), str(installed)])
    assert (found.kind, found.version, found.distribution) == ("present", None, None)
    _one(found, "does not own the files")


def test_distribution_whose_modules_are_gone_is_present_and_called_truncated(site):
    site.package({"__init__.py": ""})
    site.dist_info("0.1.14")
    found = detect([str(site)])
    assert (found.kind, found.version) == ("present", "0.1.14")
    _one(found, "truncated")


# --- versions ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("version", "release", "told"),
    [
        ("0.1.0", None, "unknown, not old"),
        ("0.1.dev12+g987203b", None, "unknown, not old"),
        ("0.1.14.post1+rocm7.2.1", "0.1.14.post1", "+rocm7.2.1"),
        ("0.1.14+20260801", "0.1.14", "nightly"),
        ("0.1.15.dev5+g987203b.d20260801", "0.1.15.dev5", "development build"),
        ("0.1.14rc0", "0.1.14rc0", "release candidate"),
        ("0.1.14+20260801+rocm7.2", None, "not PEP 440"),
        ("v0.1.17-longctx", None, "not PEP 440"),
    ],
)
def test_unusual_versions_are_kept_as_written_and_told(site, version, release, told):
    site.package(version=version)
    found = detect([str(site)])
    assert found.version == version
    assert found.release == (None if release is None else Version(release))
    _one(found, told)


# --- forms of installation ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("inner", ["", "lib/python/"])
def test_zipped_install_is_read_inside_its_archive(site, tmp_path, inner):
    site.package(version="0.1.14")
    site.dist_info("0.1.14")
    archive = site.zipped(tmp_path / "site.zip", inner)
    entry = os.path.join(archive, inner.rstrip("/")) if inner else str(archive)
    found = detect([entry])
    assert (found.kind, found.version, found.distribution) == ("present", "0.1.14", "amd-aiter")
    assert found.location == os.path.join(entry, "aiter")
    assert found.warnings == ()


def test_archive_that_is_none_is_passed_over(site):
    broken = site.write("broken.zip", "not a zip")
    assert detect([str(broken), os.path.join(broken, "inner")]) == Installation("absent")


def test_archive_with_another_root_is_absent(site, tmp_path):
    site.package()
    archive = site.zipped(tmp_path / "site.zip", "deep/")
    assert detect([str(archive), os.path.join(archive, "dee")]).kind == "absent"


@pytest.mark.parametrize("zipped", [True, False])
def test_egg_is_read_with_its_own_metadata(make_site, tmp_path, zipped):
    egg = make_site("amd_aiter-0.1.14-py3.11.egg")
    egg.package()
    egg.write("EGG-INFO/PKG-INFO", "Name: amd-aiter\nVersion: 0.1.14\n")
    entry = egg.zipped(tmp_path / "eggs.amd_aiter-0.1.14-py3.11.egg") if zipped else egg.root
    found = detect([str(entry)])
    assert (found.version, found.distribution, found.editable) == ("0.1.14", "amd-aiter", False)


@pytest.mark.parametrize("as_file", [True, False])
def test_egg_info_beside_the_package_states_the_version(site, as_file):
    site.package()
    name = "amd_aiter-0.1.14-py3.11.egg-info"
    site.write(name if as_file else f"{name}/PKG-INFO", "Name: amd-aiter\nVersion: 0.1.14\n")
    if not as_file:
        site.write(f"{name}/installed-files.txt", "../aiter/fused_moe.py\n")
    found = detect([str(site)])
    assert (found.version, found.source, found.editable) == ("0.1.14", "distribution metadata", False)


def test_develop_install_with_an_egg_link_is_editable(make_site):
    site, checkout = make_site("site"), make_site("checkout")
    package = checkout.package()
    checkout.write("amd_aiter.egg-info/PKG-INFO", "Name: amd-aiter\nVersion: 0.1.14\n")
    checkout.write("amd_aiter.egg-info/SOURCES.txt", "setup.py\naiter/__init__.py\naiter/fused_moe.py\n")
    site.write("amd-aiter.egg-link", f"{checkout}\n.")
    site.write("easy-install.pth", f"{checkout}\n")
    found = detect([str(site)])
    assert (found.kind, found.location, found.version) == ("present", str(package), "0.1.14")
    assert found.editable
    assert found.warnings == ()


def test_editable_install_by_path_line_is_editable(make_site):
    site, checkout = make_site("site"), make_site("check out")
    package = checkout.package(version="0.1.15.dev5+g0")
    checkout.write("amd_aiter.egg-info/PKG-INFO", "Name: amd-aiter\nVersion: 0.1.15.dev5+g0\n")
    site.write("__editable__.amd_aiter-0.1.15.dev5.pth", f"# comment\n{checkout}\n")
    site.dist_info("0.1.15.dev5+g0", files={}, editable=checkout.root)
    found = detect([str(site)])
    assert (found.location, found.version, found.editable) == (str(package), "0.1.15.dev5+g0", True)
    assert not [warning for warning in found.warnings if "several" in warning]


def test_editable_install_without_a_recorded_url_is_told_by_its_path_file(make_site):
    site, checkout = make_site("site"), make_site("checkout")
    checkout.package()
    name = "__editable__.amd_aiter-0.1.14.pth"
    site.write(name, f"{checkout}\n")
    site.dist_info("0.1.14", files={}, path_files=(name,))
    found = detect([str(site)])
    assert (found.version, found.editable) == ("0.1.14", True)


def test_editable_install_by_finder_is_read_without_running_the_finder(make_site):
    site, checkout = make_site("site"), make_site("checkout")
    package = checkout.package()
    finder = "__editable___amd_aiter_0_1_14_finder"
    site.write(
        f"{finder}.py",
        "raise AssertionError('the finder was executed')\n"
        f"MAPPING: dict[str, str] = {{'aiter': {str(package)!r}, 'aiter_meta': '/nowhere'}}\n"
        "NAMESPACES: dict[str, list[str]] = {}\n",
    )
    site.write("__editable__.amd_aiter-0.1.14.pth", f"import {finder}; {finder}.install()\n")
    site.dist_info("0.1.14", files={}, editable=checkout.root, path_files=(f"{finder}.py",))
    found = detect([str(site)])
    assert (found.kind, found.location, found.version, found.editable) == ("present", str(package), "0.1.14", True)
    assert found.warnings == ()


def test_bare_folder_hides_an_editable_install_by_finder(make_site):
    site, checkout, work = make_site("site"), make_site("checkout"), make_site("work")
    package = checkout.package()
    finder = "__editable___amd_aiter_0_1_14_finder"
    site.write(f"{finder}.py", f"MAPPING = {{'aiter': {str(package)!r}}}\n")
    site.dist_info("0.1.14", files={}, editable=checkout.root)
    work.write("aiter/README.md")
    found = detect([str(work), str(site)])
    assert found.kind == "namespace"
    assert str(package) in _one(found, "hides the editable install")


def test_editable_install_whose_finder_points_nowhere_is_absent_and_told(site):
    site.write("__editable___amd_aiter_0_1_14_finder.py", "MAPPING = {'aiter': '/nowhere/aiter'}\n")
    found = detect([str(site)])
    assert found.kind == "absent"
    assert "/nowhere/aiter" in _one(found, "maps aiter")


def test_strict_editable_install_through_links_is_editable(make_site):
    site, checkout = make_site("site"), make_site("checkout")
    package = checkout.package()
    links = checkout.root / "build" / "__editable__.amd_aiter-0.1.14"
    for name in AMD:
        link = links / "aiter" / name
        link.parent.mkdir(parents=True, exist_ok=True)
        link.symlink_to(package / name)
    site.write("__editable__.amd_aiter-0.1.14.pth", f"{links}\n")
    site.dist_info("0.1.14", files={}, editable=checkout.root)
    found = detect([str(site)])
    assert (found.location, found.editable, found.version) == (str(links / "aiter"), True, "0.1.14")


def test_extension_module_and_byte_code_packages_are_found(site):
    site.package({"__init__.pyc": "", "fused_moe.py": ""})
    assert detect([str(site)]).kind == "present"


# --- path entries ------------------------------------------------------------------------------------------------


def test_entries_that_import_ignores_are_ignored(site):
    site.package(version="0.1.14")
    found = detect([None, 3, b"bytes", "", "relative/missing", "nul\0byte", site.root, site.root])  # type: ignore[list-item]
    assert (found.kind, found.version) == ("present", "0.1.14")


def test_single_path_is_refused_rather_than_taken_letter_by_letter(site):
    with pytest.raises(InvalidArgument, match="sequence of folders"):
        detect(str(site))


def test_letter_case_of_the_folder_matters(site):
    site.write("AITER/__init__.py")
    assert detect([str(site)]).kind == "absent"


def test_nothing_is_imported_or_executed(site):
    site.package(version="0.1.14")  # every file raises when executed
    site.dist_info("0.1.14")
    before = set(sys.modules)
    assert detect([str(site)]).kind == "present"
    assert not {name for name in set(sys.modules) - before if name.partition(".")[0] == "aiter"}


def test_unreadable_archive_member_costs_only_itself(site, tmp_path):
    site.package(version="0.1.14")
    archive = site.zipped(tmp_path / "site.zip")
    with zipfile.ZipFile(archive) as file:
        offset = file.getinfo("aiter/_version.py").header_offset
    content = bytearray(archive.read_bytes())
    content[offset + 30 + len("aiter/_version.py")] ^= 0xFF  # first byte of the stored text: the checksum fails
    archive.write_bytes(bytes(content))
    found = detect([str(archive)])
    assert (found.kind, found.version) == ("present", None)
