"""Findings of a host on a range of releases: gaps with remedies, and the migrations that it meets."""

import pytest

from aiter_compat import migrations
from aiter_compat.checker.check import check
from aiter_compat.checker.specification import releases_of
from aiter_compat.errors import InvalidArgument
from aiter_compat.hostscan import scan

MOE = "from aiter.fused_moe import fused_moe\n"


@pytest.fixture
def findings(write_host):
    def find(source, specification, **more):
        found = scan(str(write_host(source)))
        return check(found, releases_of(specification), migrations.discover(), **more)

    return find


def codes(found):
    return [finding.code for finding in found]


class TestGaps:
    def test_one_finding_for_all_releases_of_a_use(self, findings):
        (found,) = findings("from aiter.ops.flydsl.moe_common import GateMode", ">=0.1.12,<0.1.15")
        assert found.code == "missing-module"
        assert found.releases == ("0.1.12", "0.1.12.post1", "0.1.12.post2", "0.1.13", "0.1.13.post1")
        assert "aiter_compat.GateMode" in found.remedy

    def test_the_finding_stands_at_the_keyword(self, findings):
        source = MOE + "fused_moe(\n    x, a, b, w, i,\n    gate_mode=1,\n)"
        found = [one for one in findings(source, "0.1.13") if one.code == "missing-keyword"]
        assert [(one.line, one.lines) for one in found] == [(4, frozenset({2, 4}))]
        assert "aiter_compat.fused_moe" in found[0].remedy

    def test_a_moved_symbol_is_found_elsewhere(self, findings):
        source = "def f():\n    from aiter.ops.triton.moe.moe_routing.routing import routing"
        (found,) = findings(source, "==0.1.9")
        assert "aiter.ops.triton.moe_routing.routing.routing" in found.remedy
        assert "aiter_compat.load(" in found.remedy

    def test_a_re_exported_enum_has_the_remedy_of_the_enum(self, findings):
        (found,) = findings("from aiter import ActivationType\nActivationType.Situv2", ">=0.1.18,<0.1.20")
        assert "aiter_compat.ActivationType" in found.remedy

    def test_guarded_ones_are_reported_on_request(self, findings):
        source = "try:\n    from aiter.ops.flydsl.moe_common import GateMode\nexcept ImportError:\n    pass"
        assert findings(source, "0.1.13") == []
        assert codes(findings(source, "0.1.13", guarded=True)) == ["missing-module"]

    def test_a_host_that_fits_has_none(self, findings):
        source = "from aiter.ops.flydsl.moe_common import GateMode\nfrom aiter import QuantType\nQuantType.per_1x32"
        assert findings(source, ">=0.1.14") == []


MET = {
    "fused-moe-without-gate-mode": (MOE + "fused_moe(x, a, b, w, i)", ">=0.1.13,<0.1.15"),
    "fused-moe-swiglu-limit-none": (
        MOE + "fused_moe(x, a, b, w, i, swiglu_limit=0.0, gate_mode=g)",
        ">=0.1.14,<0.1.18",
    ),
    "fused-moe-beta-before-gate-mode": (MOE + f"fused_moe({', '.join('abcdefghijklmnopqrstuvwx')})", ">=0.1.18"),
    "enum-built-from-number": ("from aiter import QuantType\nQuantType(3)", "0.1.20"),
    "fused-qk-rmsnorm-in-place": ("import aiter\naiter.fused_qk_rmsnorm(q, w, e, k, v, f)", ">=0.1.13,<0.1.15"),
    "qr-get-handle-takes-out-ptr": ("import aiter\naiter.qr_get_handle(p)", ">=0.1.19"),
    "internal-flydsl-kernels": ("from aiter.ops.flydsl.kernels import buffer_ops", "0.1.20"),
    "find-spec-of-submodule": ("from importlib.util import find_spec\nfind_spec('aiter.mla')", "0.1.20"),
    "version-of-distribution-aiter": ("from importlib.metadata import version\nversion('aiter')", "0.1.20"),
    "hasattr-on-truncated-namespace": ("import aiter\nhasattr(aiter, 'get_hip_quant')", ">=0.1.13"),
    "expert-map-as-expert-mask": (MOE + "fused_moe(x, a, b, w, i, self.expert_map, gate_mode=g)", "0.1.20"),
    "intermediate-pad-zero": (MOE + "fused_moe(x, a, b, w, i, intermediate_pad=0, gate_mode=g)", ">=0.1.16"),
}
NOT_MET = {
    "fused-moe-without-gate-mode": (MOE + "fused_moe(x, a, b, w, i, gate_mode=g)", ">=0.1.13,<0.1.15"),
    "fused-moe-swiglu-limit-none": (MOE + "fused_moe(x, a, b, w, i, swiglu_limit=0.0, gate_mode=g)", ">=0.1.17"),
    "fused-moe-beta-before-gate-mode": (MOE + f"fused_moe({', '.join('abcdefghijklmnopqrstuvw')})", ">=0.1.18"),
    "enum-built-from-number": ("from aiter import QuantType\nQuantType(number)", "0.1.20"),
    "fused-qk-rmsnorm-in-place": ("import aiter\naiter.fused_qk_rmsnorm(q, w, e, k, v, f)", "<0.1.14"),
    "qr-get-handle-takes-out-ptr": ("import aiter\naiter.qr_get_handle(p)", ">=0.1.5,<0.1.19"),
    "internal-flydsl-kernels": ("from aiter.ops.flydsl import moe_common", "0.1.20"),
    "find-spec-of-submodule": ("from importlib.util import find_spec\nfind_spec('aiter')", "0.1.20"),
    "version-of-distribution-aiter": ("from importlib.metadata import version\nversion('amd-aiter')", "0.1.20"),
    "hasattr-on-truncated-namespace": ("import aiter\nhasattr(aiter, 'get_hip_quant')", ">=0.1.15"),
    "expert-map-as-expert-mask": (
        MOE + "fused_moe(x, a, b, w, i, expert_mask=self.expert_mask, gate_mode=g)",
        "0.1.20",
    ),
    "intermediate-pad-zero": (MOE + "fused_moe(x, a, b, w, i, intermediate_pad=0, gate_mode=g)", ">=0.1.15"),
}


class TestMigrations:
    def test_these_rules_are_tried_both_ways(self):
        with_rule = {one.code for one in migrations.discover() if one.matches is not None}
        assert set(MET) == set(NOT_MET) <= with_rule  # the others in tests/migrations

    @pytest.mark.parametrize("code", MET)
    def test_met(self, findings, code):
        found = [one for one in findings(*MET[code]) if one.code == code]
        assert len(found) == 1
        assert found[0].releases
        assert found[0].remedy

    @pytest.mark.parametrize("code", NOT_MET)
    def test_not_met(self, findings, code):
        assert code not in codes(findings(*NOT_MET[code]))


class TestSpecification:
    @pytest.mark.parametrize(
        ("text", "first", "last"),
        [
            (">=0.1.13.post1,<0.1.17", "0.1.13.post1", "0.1.16.post6"),
            ("0.1.15.post3", "0.1.15.post3", "0.1.15.post3"),
            ("v0.1.14", "0.1.14", "0.1.14"),
            ("~=0.1.19.post1", "0.1.19.post1", "0.1.20.post1"),
        ],
    )
    def test_releases(self, text, first, last):
        found = releases_of(text)
        assert (found[0], found[-1]) == (first, last)

    @pytest.mark.parametrize("text", [">=9", "newest", ">>1", ""])
    def test_what_means_no_recorded_release(self, text):
        if text == "":
            assert releases_of(text)  # no limit: every recorded one
        else:
            with pytest.raises(InvalidArgument, match="aiter"):
                releases_of(text)
