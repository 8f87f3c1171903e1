"""A call without gate_mode reads SwiGLU weights otherwise since v0.1.14."""

import pytest


def test_a_host_that_meets_it(met):
    source = """\
    from aiter.fused_moe import fused_moe
    fused_moe(x, a, b, w, i)
    """
    assert met(source, ">=0.1.13,<0.1.15") == [2]


@pytest.mark.parametrize(
    ("source", "releases"),
    [
        (
            """\
            from aiter.fused_moe import fused_moe
            fused_moe(x, a, b, w, i, gate_mode=g)
            """,
            ">=0.1.13,<0.1.15",
        ),
        (
            """\
            from aiter.fused_moe import fused_moe
            fused_moe(x, a, b, w, i)
            """,
            ">=0.1.14",
        ),
        (
            """\
            from aiter.fused_moe import fused_moe
            fused_moe(x, a, b, w, i, **more)
            """,
            ">=0.1.13,<0.1.15",
        ),
    ],
)
def test_hosts_that_do_not(met, source, releases):
    assert met(source, releases) == []
