"""Capabilities say what the installed files can do, with reasons a person can act on; numbers only explain."""

import dataclasses

import pytest
from packaging.version import Version

import aiter_compat as ac
from aiter_compat.detect import Installation
from aiter_compat.features.capability import capabilities_of, missing_for
from aiter_compat.features.table import BY_NAME, RULES
from aiter_compat.probe import Surface
from aiter_compat.releases import nearest_record, recorded_releases

FUSED_MOE = "aiter.fused_moe.fused_moe"
# First recorded release that has it, from facts about the tags; None: no recorded release has it.
FIRST = {
    "fused_moe": "0.1.9",
    "moe_mxfp4": "0.1.9",
    "num_local_tokens": "0.1.9",
    "swiglu": "0.1.9",
    "padding": "0.1.9",
    "bias": "0.1.9",
    "gate_mode_enum": "0.1.13",
    "gate_mode": "0.1.14",
    "swiglu_limit": "0.1.14",
    "pad_skipping_fix": "0.1.15.post3",
    "situv2": "0.1.19",
    "shared_expert": "0.1.19.post1",
    "gelu_tanh": None,
    "quant_dtype_a": None,
    "output_buffer": None,
}


def surface_of(release: str) -> Surface:
    return nearest_record(Version(release)).surface


def present(version: str | None) -> Installation:
    return Installation("present", version=version, source="distribution metadata", location="/site/aiter")


def test_the_table_of_expectations_covers_every_capability():
    assert set(FIRST) == set(BY_NAME)
    assert len(BY_NAME) == len(RULES)


@pytest.mark.parametrize("release", recorded_releases())
def test_capabilities_of_each_recorded_release(release):
    table = capabilities_of(present(release), surface_of(release))
    expected = {name for name, first in FIRST.items() if first is not None and Version(first) <= Version(release)}
    assert {name for name, capability in table.items() if capability} == expected


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_since_agrees_with_the_records(rule):
    """Where the records reach: the first that has it is `since`, unless the oldest of them has it already."""
    having = [release for release in recorded_releases() if missing_for(rule.name, surface_of(release)) is None]
    since = Version(rule.since)
    if not having:
        assert since > Version(recorded_releases()[-1])
    elif having[0] == recorded_releases()[0]:
        assert since <= Version(having[0])
    else:
        assert str(since) == having[0]


def test_a_reason_names_release_keyword_and_first_release():
    lacking = capabilities_of(present("0.1.13.post1"), surface_of("0.1.13.post1"))["gate_mode"]
    assert not lacking.available
    assert lacking.reason == (
        "in AITER 0.1.13.post1 aiter.fused_moe.fused_moe takes no gate_mode; releases from v0.1.14 on have it"
    )
    assert lacking.since == "0.1.14"
    having = capabilities_of(present("0.1.14"), surface_of("0.1.14"))["gate_mode"]
    assert having.reason == "AITER 0.1.14 has it"


def test_several_missing_keywords_are_all_named():
    reason = capabilities_of(present("0.1.18"), surface_of("0.1.18"))["shared_expert"].reason
    assert "takes no shared_w1 and no shared_w2 and no shared_w1_scale and no" in reason


def test_a_missing_member_is_named():
    reason = capabilities_of(present("0.1.18"), surface_of("0.1.18"))["situv2"].reason
    assert "aiter.ops.enum.ActivationType has no Situv2" in reason


@pytest.mark.parametrize("kind", ["absent", "foreign", "namespace"])
def test_without_aiter_every_reason_says_what_there_is(kind):
    found = Installation(kind, location=None if kind == "absent" else "/site/aiter")
    table = capabilities_of(found, None)
    assert set(table) == set(FIRST)
    assert not any(table.values())
    assert {capability.reason for capability in table.values()} == {str(found)}


class TestFilesWin:
    @pytest.mark.parametrize("version", ["0.1.13.dev7", "0.1.12.post2", "0.1.14rc0", None, "0.1.0", "fork-3"])
    def test_a_build_whose_number_denies_a_feature_that_its_files_have(self, version):
        table = capabilities_of(present(version), surface_of("0.1.15.post3"))
        assert table["gate_mode"].available
        assert table["pad_skipping_fix"].available

    @pytest.mark.parametrize("version", ["0.1.15.dev5+g987203b", "0.1.20.post1+rocm7.2", "9.9"])
    def test_a_build_whose_number_promises_a_feature_that_its_files_lack(self, version):
        capability = capabilities_of(present(version), surface_of("0.1.13.post1"))["gate_mode"]
        assert not capability.available
        assert version in capability.reason

    def test_for_an_installed_build(self, aiter_stub, stub_site, fake_site):
        from shutil import copytree

        newer = stub_site("0.1.15.post3")
        folder = fake_site({"aiter/__init__.py": ""})
        copytree(newer, folder, dirs_exist_ok=True)
        (folder / "amd_aiter-0.1.15.post3.dist-info").rename(folder / "amd_aiter-0.1.13.dev7.dist-info")
        metadata = folder / "amd_aiter-0.1.13.dev7.dist-info" / "METADATA"
        metadata.write_text(metadata.read_text().replace("Version: 0.1.15.post3", "Version: 0.1.13.dev7"))
        (folder / "aiter" / "_version.py").write_text("__version__ = '0.1.13.dev7'\n")
        ac.refresh()
        assert ac.installation().version == "0.1.13.dev7"
        assert ac.supports("gate_mode")
        assert "0.1.13.dev7" in ac.capabilities()["gate_mode"].reason


def test_supports_refuses_a_name_that_no_capability_has():
    with pytest.raises(ac.InvalidArgument, match=r"name: got gate_modes; allowed: bias, .*gate_mode,"):
        ac.supports("gate_modes")


def test_the_mapping_is_read_only_and_remembered(aiter_stub):
    aiter_stub("0.1.14")
    table = ac.capabilities()
    assert ac.capabilities() is table
    with pytest.raises(TypeError):
        table["gate_mode"] = None
    with pytest.raises(dataclasses.FrozenInstanceError):
        table["gate_mode"].available = False
    assert bool(table["gate_mode"]) is table["gate_mode"].available is ac.supports("gate_mode") is True


def test_an_aiter_whose_files_cannot_be_parsed_has_nothing_and_says_so(fake_site):
    fake_site({"aiter/__init__.py": "", "aiter/jit/core.py": "", "aiter/fused_moe.py": "def fused_moe(:\n"})
    assert ac.installation().kind == "present"
    assert not any(ac.capabilities().values())
    assert "there is no aiter.fused_moe.fused_moe" in ac.capabilities()["gate_mode"].reason
    assert any("cannot be parsed" in note for note in ac.surface().notes)
