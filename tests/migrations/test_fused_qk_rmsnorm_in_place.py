"""fused_qk_rmsnorm is called on both sides of its change."""

import pytest


def test_a_host_that_meets_it(met):
    source = """\
    import aiter
    aiter.fused_qk_rmsnorm(q, w, e, k, v, f)
    """
    assert met(source, ">=0.1.13,<0.1.15") == [2]


@pytest.mark.parametrize(
    ("source", "releases"),
    [
        (
            """\
            import aiter
            aiter.fused_qk_rmsnorm(q, w, e, k, v, f)
            """,
            ">=0.1.12,<0.1.14",
        ),
        (
            """\
            import aiter
            has = hasattr(aiter, 'fused_qk_rmsnorm')
            """,
            ">=0.1.13",
        ),
    ],
)
def test_hosts_that_do_not(met, source, releases):
    assert met(source, releases) == []
