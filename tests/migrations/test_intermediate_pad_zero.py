"""Switching pad skipping off may be pointless since v0.1.16."""

import pytest


def test_a_host_that_meets_it(met):
    source = """\
    from aiter.fused_moe import fused_moe
    fused_moe(x, a, b, w, i, intermediate_pad=0, gate_mode=g)
    """
    assert met(source, ">=0.1.16") == [2]


@pytest.mark.parametrize(
    ("source", "releases"),
    [
        (
            """\
            from aiter.fused_moe import fused_moe
            fused_moe(x, a, b, w, i, intermediate_pad=0, gate_mode=g)
            """,
            ">=0.1.15",
        ),
        (
            """\
            from aiter.fused_moe import fused_moe
            fused_moe(x, a, b, w, i, intermediate_pad=pad, gate_mode=g)
            """,
            ">=0.1.16",
        ),
    ],
)
def test_hosts_that_do_not(met, source, releases):
    assert met(source, releases) == []
