"""A policy above 1 is refused by the operator until v0.1.12.post2."""

import pytest


def test_a_host_that_meets_it(met):
    source = """\
    from aiter.fused_moe import fused_moe
    fused_moe(x, a, b, w, i, moe_sorting_dispatch_policy=2, gate_mode=g)
    """
    assert met(source, ">=0.1.12") == [2]


@pytest.mark.parametrize(
    ("source", "releases"),
    [
        (
            """\
            from aiter.fused_moe import fused_moe
            fused_moe(x, a, b, w, i, moe_sorting_dispatch_policy=2)
            """,
            ">=0.1.13",
        ),
        (
            """\
            from aiter.fused_moe import fused_moe
            fused_moe(x, a, b, w, i, moe_sorting_dispatch_policy=1)
            """,
            ">=0.1.12",
        ),
        (
            """\
            from aiter.fused_moe import fused_moe
            fused_moe(x, a, b, w, i, moe_sorting_dispatch_policy=policy)
            """,
            ">=0.1.12",
        ),
    ],
)
def test_hosts_that_do_not(met, source, releases):
    assert met(source, releases) == []
