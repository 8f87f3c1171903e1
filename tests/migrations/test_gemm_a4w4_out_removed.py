"""out is refused by gemm_a4w4 since v0.1.9."""

import pytest


def test_a_host_that_meets_it(met):
    source = """\
    from aiter import gemm_a4w4
    gemm_a4w4(a, b, s, t, out=o)
    """
    assert met(source, ">=0.1.9") == [2]


@pytest.mark.parametrize(
    ("source", "releases"),
    [
        (
            """\
            from aiter import gemm_a4w4
            gemm_a4w4(a, b, s, t, out=o)
            """,
            "<0.1.9",
        ),
        (
            """\
            from aiter import gemm_a4w4
            gemm_a4w4(a, b, s, t, dtype=d)
            """,
            ">=0.1.9",
        ),
    ],
)
def test_hosts_that_do_not(met, source, releases):
    assert met(source, releases) == []
