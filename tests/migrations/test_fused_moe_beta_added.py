"""beta is refused until v0.1.18."""

import pytest


def test_a_host_that_meets_it(met):
    source = """\
    from aiter.fused_moe import fused_moe
    fused_moe(x, a, b, w, i, beta=4.0)
    """
    assert met(source, ">=0.1.18") == [2]


@pytest.mark.parametrize(
    ("source", "releases"),
    [
        (
            """\
            from aiter.fused_moe import fused_moe
            fused_moe(x, a, b, w, i, beta=4.0)
            """,
            ">=0.1.19",
        ),
        (
            """\
            from aiter.fused_moe import fused_moe
            fused_moe(x, a, b, w, i, dtype=d)
            """,
            ">=0.1.18",
        ),
        (
            """\
            import inspect
            from aiter.fused_moe import fused_moe
            more = {}
            if 'beta' in inspect.signature(fused_moe).parameters:
                fused_moe(x, a, b, w, i, beta=4.0)
            """,
            ">=0.1.18",
        ),
    ],
)
def test_hosts_that_do_not(met, source, releases):
    assert met(source, releases) == []
