"""The name of a tox environment says which stub it has and what must happen beside it."""

import builtins

import pytest
from packaging.version import Version

from aiter_compat.releases import recorded_releases
from stub_wheels import VARIANTS, build_wheel, factor, factor_name, variant
from stub_wheels.command_line import main

STUBBED = [release for release in recorded_releases() if Version(release) >= Version("0.1.12")]


@pytest.mark.parametrize("release", STUBBED)
def test_every_recorded_release_from_0_1_12_on_has_a_stub_and_a_factor_name(tmp_path, release):
    found = factor(f"py311-aiter{factor_name(release)}")
    assert (found.stub, found.version, found.failure) == (release, release, None)
    assert found.expectation == ("too_old" if Version(release) < Version("0.1.13") else "served")
    assert build_wheel(variant(found.stub), tmp_path).name == f"amd_aiter-{release}-py3-none-any.whl"


def test_no_two_releases_share_a_name():
    assert len({factor_name(release) for release in recorded_releases()}) == len(recorded_releases())


@pytest.mark.parametrize("name", VARIANTS)
def test_every_variant_is_a_factor(name):
    found = factor(name)
    assert found.stub == name
    if found.failure is not None:
        assert issubclass(getattr(builtins, found.failure[0]), BaseException)


@pytest.mark.parametrize(("name", "expectation"), [("none", "absent"), ("foreign", "foreign")])
def test_factors_without_a_stub(name, expectation):
    assert (factor(name).stub, factor(name).expectation) == (None, expectation)


def test_what_is_no_factor_is_refused_with_the_known_ones():
    with pytest.raises(LookupError, match=r"'0999' is no factor.*keyerror.*0113"):
        factor("py311-aiter0999")


def test_the_command_line_takes_an_environments_name_and_installs(tmp_path, capsys, monkeypatch):
    ran = []

    class Done:
        returncode = 7

    monkeypatch.setattr("stub_wheels.command_line.subprocess.run", lambda command, check: ran.append(command) or Done)
    assert main(["py311-aiter0113", str(tmp_path), "--install"]) == 7
    wheel = tmp_path / "amd_aiter-0.1.13-py3-none-any.whl"
    assert capsys.readouterr().out == f"{wheel}\n"
    [command] = ran
    assert command[-1] == str(wheel)
    assert {"--no-index", "--no-deps"} <= set(command)
