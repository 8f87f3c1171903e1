"""A host is told which of its workarounds the installed release no longer needs, and never one that it still needs."""

import pytest
from packaging.version import Version

from aiter_compat.quirks import QUIRKS, WORKAROUNDS, obsolete_workarounds
from aiter_compat.releases import nearest_record, recorded_releases

QUIRK = {quirk.name: quirk for quirk in QUIRKS}


def obsolete(release, surface=None) -> set[str]:
    version = None if release is None else Version(release)
    return {found.workaround.name for found in obsolete_workarounds(version, surface)}


@pytest.mark.parametrize("workaround", WORKAROUNDS, ids=lambda workaround: workaround.name)
def test_every_workaround_is_for_a_quirk_that_has_an_end(workaround):
    assert QUIRK[workaround.quirk].expires is not None
    assert workaround.habit
    assert workaround.instead


@pytest.mark.parametrize("release", recorded_releases())
def test_none_is_called_obsolete_where_its_quirk_holds(release):
    surface = nearest_record(Version(release)).surface
    names = obsolete(release, surface)
    for workaround in WORKAROUNDS:
        if workaround.name in names:
            assert not QUIRK[workaround.quirk].holds(Version(release), surface), workaround.name


@pytest.mark.parametrize(
    ("name", "obsolete_on", "needed_or_too_early_on"),
    [
        ("intermediate_pad_zero", ["0.1.15.post3", "0.1.16", "0.1.20.post1", None], ["0.1.15.post2", "0.1.14.post1"]),
        ("gate_mode_left_out", ["0.1.14", "0.1.20", None], ["0.1.13.post1"]),
        ("swiglu_limit_zero", ["0.1.17", None], ["0.1.16.post6", "0.1.13.post1"]),
        # the fix came on one branch before it came on the next
        ("zero_filled_tokens", ["0.1.15.post3", "0.1.16.post2", "0.1.20"], ["0.1.15.post2", "0.1.16", "0.1.16.post1"]),
        ("graph_break_at_interleave", ["0.1.20"], ["0.1.19", "0.1.19.post2", "0.1.18"]),
    ],
)
def test_releases(name, obsolete_on, needed_or_too_early_on):
    assert [release for release in obsolete_on if name not in obsolete(release)] == []
    assert [release for release in needed_or_too_early_on if name in obsolete(release)] == []


def test_a_build_that_has_the_fix_before_its_release_needs_the_workaround_no_more():
    fixed, unfixed = (nearest_record(Version(release)).surface for release in ("0.1.15.post3", "0.1.15.post2"))
    assert "intermediate_pad_zero" in obsolete("0.1.15.post3.dev1", fixed)
    assert "intermediate_pad_zero" not in obsolete("0.1.15.post3.dev1", unfixed)


def test_an_environment_variable_shows_that_one_is_in_use(monkeypatch):
    by_name = {found.workaround.name: found for found in obsolete_workarounds(Version("0.1.15"))}
    assert by_name["bf16_bound_raised"].in_use is False
    assert by_name["gate_mode_left_out"].in_use is None  # in the host's code, if anywhere
    monkeypatch.setenv("AITER_BF16_FP8_BOUND", "100000")
    first = obsolete_workarounds(Version("0.1.15"))[0]
    assert (first.workaround.name, first.in_use) == ("bf16_bound_raised", True)
