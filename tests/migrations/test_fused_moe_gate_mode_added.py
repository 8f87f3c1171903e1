"""gate_mode is refused until v0.1.13.post1."""

import pytest


def test_a_host_that_meets_it(met):
    source = """\
    from aiter.fused_moe import fused_moe
    fused_moe(x, a, b, w, i, gate_mode=g)
    """
    assert met(source, ">=0.1.13.post1") == [2]


@pytest.mark.parametrize(
    ("source", "releases"),
    [
        (
            """\
            from aiter.fused_moe import fused_moe
            fused_moe(x, a, b, w, i, gate_mode=g)
            """,
            ">=0.1.14",
        ),
        (
            """\
            from aiter.fused_moe import fused_moe
            fused_moe(x, a, b, w, i, dtype=d)
            """,
            ">=0.1.13.post1",
        ),
        (
            """\
            import inspect
            from aiter.fused_moe import fused_moe
            more = {}
            if 'gate_mode' in inspect.signature(fused_moe).parameters:
                fused_moe(x, a, b, w, i, gate_mode=g)
            """,
            ">=0.1.13.post1",
        ),
    ],
)
def test_hosts_that_do_not(met, source, releases):
    assert met(source, releases) == []
