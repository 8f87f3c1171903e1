"""0.0 and None change their meaning in v0.1.17."""

import pytest


def test_a_host_that_meets_it(met):
    source = """\
    from aiter.fused_moe import fused_moe
    fused_moe(x, a, b, w, i, swiglu_limit=0.0, gate_mode=g)
    """
    assert met(source, ">=0.1.14,<0.1.18") == [2]


@pytest.mark.parametrize(
    ("source", "releases"),
    [
        (
            """\
            from aiter.fused_moe import fused_moe
            fused_moe(x, a, b, w, i, swiglu_limit=0.0, gate_mode=g)
            """,
            ">=0.1.17",
        ),
        (
            """\
            from aiter.fused_moe import fused_moe
            fused_moe(x, a, b, w, i, swiglu_limit=7.0, gate_mode=g)
            """,
            ">=0.1.14,<0.1.18",
        ),
    ],
)
def test_hosts_that_do_not(met, source, releases):
    assert met(source, releases) == []
