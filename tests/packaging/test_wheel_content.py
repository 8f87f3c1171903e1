"""What a user gets: the package with its data and migrations, and nothing of the workshop."""

import tarfile
import zipfile

import pytest


@pytest.fixture
def names(wheel) -> set[str]:
    with zipfile.ZipFile(wheel) as archive:
        return set(archive.namelist())


def sources(root) -> dict[str, str]:
    """Path in the wheel -> path in the checkout, of every file that belongs to the package."""
    found = {}
    for folder, prefix in (("aiter_compat", "aiter_compat"), ("migrations", "aiter_compat/migrations")):
        for path in sorted((root / folder).rglob("*")):
            relative = path.relative_to(root / folder)
            hidden = any(part.startswith(".") or part == "__pycache__" for part in relative.parts)
            if path.is_file() and not hidden:
                found[f"{prefix}/{relative.as_posix()}"] = f"{folder}/{relative.as_posix()}"
    return found


def test_every_file_of_the_package_is_in_the_wheel(names, root):
    expected = set(sources(root))
    assert {name for name in names if not name.partition("/")[0].endswith(".dist-info")} == expected
    for name in ("py.typed", "__init__.pyi", "migrations/__init__.py", "releases/data/0.1.15.post3.json"):
        assert f"aiter_compat/{name}" in expected


def test_the_wheel_has_one_top_level_package(names):
    top = {name.partition("/")[0] for name in names}
    assert {name for name in top if not name.endswith(".dist-info")} == {"aiter_compat"}


def test_the_licence_comes_along(names):
    assert any(name.endswith(".dist-info/licenses/LICENSE") for name in names)


def test_the_source_distribution_has_what_the_wheel_has(distributions, root):
    [path] = distributions.glob("*.tar.gz")
    with tarfile.open(path) as archive:
        inside = {name.partition("/")[2] for name in archive.getnames()}
    assert set(sources(root).values()) <= inside
