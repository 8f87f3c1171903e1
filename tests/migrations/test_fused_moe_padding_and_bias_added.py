"""Biases are refused until v0.1.6.post1."""

import pytest


def test_a_host_that_meets_it(met):
    source = """\
    from aiter.fused_moe import fused_moe
    fused_moe(x, a, b, w, i, bias1=b)
    """
    assert met(source, ">=0.1.6") == [2]


@pytest.mark.parametrize(
    ("source", "releases"),
    [
        (
            """\
            from aiter.fused_moe import fused_moe
            fused_moe(x, a, b, w, i, bias1=b)
            """,
            ">=0.1.6.post2",
        ),
        (
            """\
            from aiter.fused_moe import fused_moe
            fused_moe(x, a, b, w, i, dtype=d)
            """,
            ">=0.1.6",
        ),
        (
            """\
            import inspect
            from aiter.fused_moe import fused_moe
            more = {}
            if 'bias1' in inspect.signature(fused_moe).parameters:
                fused_moe(x, a, b, w, i, bias1=b)
            """,
            ">=0.1.6",
        ),
    ],
)
def test_hosts_that_do_not(met, source, releases):
    assert met(source, releases) == []
