"""gate_mode by position is beta since v0.1.19."""

import pytest


def test_a_host_that_meets_it(met):
    source = """\
    from aiter.fused_moe import fused_moe
    fused_moe(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, w, x)
    """
    assert met(source, ">=0.1.18") == [2]


@pytest.mark.parametrize(
    ("source", "releases"),
    [
        (
            """\
            from aiter.fused_moe import fused_moe
            fused_moe(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, w, gate_mode=x)
            """,
            ">=0.1.18",
        ),
        (
            """\
            from aiter.fused_moe import fused_moe
            fused_moe(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, w, x)
            """,
            ">=0.1.19",
        ),
    ],
)
def test_hosts_that_do_not(met, source, releases):
    assert met(source, releases) == []
