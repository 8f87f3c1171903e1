"""A call that leaves dtype to AITER gets fp16 or bf16, by the release."""

import pytest


def test_a_host_that_meets_it(met):
    source = """\
    from aiter import gemm_a8w8_bpreshuffle
    gemm_a8w8_bpreshuffle(x, w, s, t)
    """
    assert met(source, ">=0.1.6") == [2]


@pytest.mark.parametrize(
    ("source", "releases"),
    [
        (
            """\
            from aiter import gemm_a8w8_bpreshuffle
            gemm_a8w8_bpreshuffle(x, w, s, t)
            """,
            ">=0.1.6.post2",
        ),
        (
            """\
            from aiter import gemm_a8w8_bpreshuffle
            gemm_a8w8_bpreshuffle(x, w, s, t, dtype=d)
            """,
            ">=0.1.5",
        ),
        (
            """\
            from aiter import gemm_a8w8_bpreshuffle
            gemm_a8w8_bpreshuffle(x, w, s, t, None, d)
            """,
            ">=0.1.5",
        ),
    ],
)
def test_hosts_that_do_not(met, source, releases):
    assert met(source, releases) == []
