"""Stub wheels are installable, named after their release, and the same bytes every time."""

import base64
import hashlib
import zipfile

import pytest

from aiter_compat.errors import RecordError
from stub_wheels import VARIANTS, build_wheel, variant
from stub_wheels.command_line import main


@pytest.mark.parametrize("name", VARIANTS)
def test_variants_carry_the_version_that_they_claim(tmp_path, name):
    kind = VARIANTS[name]
    wheel = build_wheel(variant(name), tmp_path)
    if kind.release is None:
        assert wheel.name == "stray_folder-0-py3-none-any.whl"
    else:
        assert wheel.name == f"amd_aiter-{kind.version or kind.release}-py3-none-any.whl"


def test_the_same_bytes_every_time(tmp_path, release):
    first = build_wheel(variant(release), tmp_path / "first").read_bytes()
    assert build_wheel(variant(release), tmp_path / "second").read_bytes() == first


def test_record_lists_every_file_with_its_digest(tmp_path, release):
    with zipfile.ZipFile(build_wheel(variant(release), tmp_path)) as wheel:
        info = f"amd_aiter-{release}.dist-info"
        rows = [line.split(",") for line in wheel.read(f"{info}/RECORD").decode().splitlines()]
        assert [path for path, _, _ in rows] == wheel.namelist()
        for path, digest, size in rows:
            if path.endswith("/RECORD"):
                continue
            content = wheel.read(path)
            encoded = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
            assert (digest, size) == (f"sha256={encoded}", str(len(content)))
        assert f"Name: amd-aiter\nVersion: {release}\n" in wheel.read(f"{info}/METADATA").decode()


def test_command_line_prints_where_the_wheel_is(tmp_path, capsys):
    assert main(["broken", str(tmp_path)]) == 0
    assert capsys.readouterr().out == f"{tmp_path / 'amd_aiter-0.1.15.post3-py3-none-any.whl'}\n"


def test_an_unrecorded_release_is_refused_with_the_known_ones(tmp_path):
    with pytest.raises(RecordError, match=r"0\.1\.15\.post3"):
        build_wheel(variant("0.0.1"), tmp_path)
