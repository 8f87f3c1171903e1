"""A shared expert is refused until v0.1.19."""

import pytest


def test_a_host_that_meets_it(met):
    source = """\
    from aiter.fused_moe import fused_moe
    fused_moe(x, a, b, w, i, shared_w1=s)
    """
    assert met(source, ">=0.1.19") == [2]


@pytest.mark.parametrize(
    ("source", "releases"),
    [
        (
            """\
            from aiter.fused_moe import fused_moe
            fused_moe(x, a, b, w, i, shared_w1=s)
            """,
            ">=0.1.19.post1",
        ),
        (
            """\
            from aiter.fused_moe import fused_moe
            fused_moe(x, a, b, w, i, dtype=d)
            """,
            ">=0.1.19",
        ),
        (
            """\
            import inspect
            from aiter.fused_moe import fused_moe
            more = {}
            if 'shared_w1' in inspect.signature(fused_moe).parameters:
                fused_moe(x, a, b, w, i, shared_w1=s)
            """,
            ">=0.1.19",
        ),
    ],
)
def test_hosts_that_do_not(met, source, releases):
    assert met(source, releases) == []
