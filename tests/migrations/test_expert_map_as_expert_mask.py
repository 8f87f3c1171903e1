"""A host's expert_map is no expert_mask."""

import pytest


def test_a_host_that_meets_it(met):
    source = """\
    from aiter.fused_moe import fused_moe
    fused_moe(x, a, b, w, i, self.expert_map, gate_mode=g)
    """
    assert met(source, "0.1.20") == [2]


@pytest.mark.parametrize(
    ("source", "releases"),
    [
        (
            """\
            from aiter.fused_moe import fused_moe
            fused_moe(x, a, b, w, i, expert_mask=self.expert_mask, gate_mode=g)
            """,
            "0.1.20",
        ),
        (
            """\
            from aiter.fused_moe import fused_moe
            fused_moe(x, a, b, w, i, gate_mode=g)
            """,
            "0.1.20",
        ),
    ],
)
def test_hosts_that_do_not(met, source, releases):
    assert met(source, releases) == []
