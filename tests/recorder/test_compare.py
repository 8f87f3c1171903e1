"""What changed between two releases, and the draft that a person edits."""

from __future__ import annotations

import pytest

from aiter_compat.migration_model import Migration
from aiter_compat.recorder import compare, draft
from aiter_compat.releases.symbol_records import SymbolRecord, symbol_record

OLDER = {
    "aiter": {"import *": ["aiter.ops.old_norm", "aiter.ops.other"]},
    "aiter.ops.old_norm": {"norm": "(x, weight, eps)", "both": "(q, k)"},
    "aiter.ops.other": {"gone": "()", "_private": "()", "value": "variable"},
    "aiter.ops.kernels.moe": {"GateMode": {"enum": "str", "members": {"A": "a"}}},
    "aiter.fused_moe": {
        "fused_moe": "(x, limit=0.0)",
        "sort": "(a, b)",
        "Kind": {"enum": "int", "members": {"X": 1, "Y": 2}},
    },
}
NEWER = {
    "aiter": {"import *": ["aiter.ops.new_norm", "aiter.ops.other", "aiter.ops.third"]},
    "aiter.ops.new_norm": {"norm": "(x, weight, eps, out=None)"},
    "aiter.ops.third": {"both": "(out, q, k, v)"},
    "aiter.ops.other": {"value": "variable"},
    "aiter.ops.common": {"GateMode": {"enum": "str", "members": {"A": "a"}}},
    "aiter.fused_moe": {
        "fused_moe": "(x, limit=None, gate='separated')",
        "sort": "(b, a)",
        "Kind": {"enum": "int", "members": {"X": 3, "Z": 4}},
    },
}


@pytest.fixture
def changes():
    return compare(SymbolRecord("0.1.13", "v0.1.13", OLDER), SymbolRecord("0.1.14", "v0.1.14", NEWER))


def test_moves_need_the_same_name_and_a_similar_signature(changes):
    assert changes.moved == {
        "aiter.ops.old_norm.norm": "aiter.ops.new_norm.norm",
        "aiter.ops.kernels.moe.GateMode": "aiter.ops.common.GateMode",
    }
    assert changes.added == ("aiter.ops.third.both",)
    assert changes.removed == ("aiter.ops.old_norm.both", "aiter.ops.other._private", "aiter.ops.other.gone")


def test_signatures_of_what_stayed_and_of_what_moved(changes):
    assert {change.after.path: change.problems for change in changes.signatures} == {
        "aiter.fused_moe.fused_moe": (),
        "aiter.fused_moe.sort": ("position 0 is b, was a",),
        "aiter.ops.new_norm.norm": (),
    }


def test_members_of_enums(changes):
    assert changes.members == {"aiter.fused_moe.Kind": {"X": (1, 3), "Y": (2, None), "Z": (None, 4)}}


def test_name_that_leads_to_something_else(changes):
    assert changes.redirected == {"both": ("aiter.ops.old_norm.both", "aiter.ops.third.both")}


def test_trap_of_fused_qk_rmsnorm_is_seen():
    changes = compare(symbol_record("0.1.13.post1"), symbol_record("0.1.14", exact=True))
    assert changes.redirected["fused_qk_rmsnorm"] == (
        "aiter.ops.fused_qk_norm_rope_cache_quant.fused_qk_rmsnorm",
        "aiter.ops.fused_qk_rmsnorm_group_quant.fused_qk_rmsnorm",
    )
    assert changes.moved["aiter.ops.flydsl.kernels.mixed_moe_gemm_2stage.GateMode"] == (
        "aiter.ops.flydsl.moe_common.GateMode"
    )


def test_nothing_changed():
    same = symbol_record("0.1.14.post1")
    changes = compare(same, same)
    assert (changes.moved, changes.redirected, changes.members) == ({}, {}, {})
    assert (changes.added, changes.removed, changes.signatures) == ((), (), ())
    assert "0 moved, 0 added, 0 removed, 0 with other parameters" in draft(changes)


def migrations(text: str) -> dict[str, Migration]:
    """The files that a draft consists of, executed."""
    found = {}
    for part in text.split("# --- ")[1:]:
        name, _, source = part.partition("\n")
        space: dict[str, object] = {}
        exec(source, space)
        migration = space["MIGRATION"]
        assert isinstance(migration, Migration)
        found[name.removesuffix(".py")] = migration
    return found


def test_draft_consists_of_migrations(changes):
    found = migrations(draft(changes))
    assert {name: (one.kind, one.symbol, one.detail) for name, one in found.items()} == {
        "norm_moved": ("moved symbol", "aiter.ops.old_norm.norm", "aiter.ops.new_norm.norm"),
        "gatemode_moved": ("moved symbol", "aiter.ops.kernels.moe.GateMode", "aiter.ops.common.GateMode"),
        "norm_out_added": ("new keyword", "aiter.ops.old_norm.norm", "out"),
        "fused_moe_gate_added": ("new keyword", "aiter.fused_moe.fused_moe", "gate"),
        "fused_moe_limit_default": ("changed default", "aiter.fused_moe.fused_moe", "limit"),
        "sort_signature_changed": ("positional order", "aiter.fused_moe.sort", ""),
        "kind_x_member": ("enum member", "aiter.fused_moe.Kind", "X"),
        "kind_y_member": ("enum member", "aiter.fused_moe.Kind", "Y"),
        "kind_z_member": ("enum member", "aiter.fused_moe.Kind", "Z"),
    }
    assert {one.since for one in found.values()} == {"0.1.14"}
    assert found["norm_moved"].source == "ROCm/aiter v0.1.14 aiter/ops/new_norm.py"


def test_draft_lists_what_is_no_migration(changes):
    text = draft(changes)
    assert "#   aiter.ops.third.both" in text
    assert "#   aiter.ops.other.gone" in text
    assert "#   aiter.both: aiter.ops.old_norm.both -> aiter.ops.third.both" in text
    assert "_private" not in text
    assert "Private names moved, added or removed: 1." in text


def test_draft_of_real_releases_is_python():
    assert migrations(draft(compare(symbol_record("0.1.13.post1"), symbol_record("0.1.14"))))
