"""swiglu_limit is refused until v0.1.13.post1."""

import pytest


def test_a_host_that_meets_it(met):
    source = """\
    from aiter.fused_moe import fused_moe
    fused_moe(x, a, b, w, i, swiglu_limit=7.0)
    """
    assert met(source, ">=0.1.13") == [2]


@pytest.mark.parametrize(
    ("source", "releases"),
    [
        (
            """\
            from aiter.fused_moe import fused_moe
            fused_moe(x, a, b, w, i, swiglu_limit=7.0)
            """,
            ">=0.1.14",
        ),
        (
            """\
            from aiter.fused_moe import fused_moe
            fused_moe(x, a, b, w, i, dtype=d)
            """,
            ">=0.1.13",
        ),
        (
            """\
            import inspect
            from aiter.fused_moe import fused_moe
            more = {}
            if 'swiglu_limit' in inspect.signature(fused_moe).parameters:
                fused_moe(x, a, b, w, i, swiglu_limit=7.0)
            """,
            ">=0.1.13",
        ),
    ],
)
def test_hosts_that_do_not(met, source, releases):
    assert met(source, releases) == []
