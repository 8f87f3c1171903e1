"""A host that builds kernels of moe_gemm_2stage is told before v0.1.20 breaks it."""

import pytest


def test_a_host_that_meets_it(met):
    source = "from aiter.ops.flydsl.kernels.moe_gemm_2stage import compile_moe_gemm1\n"
    assert met(source, ">=0.1.20") == [1]


@pytest.mark.parametrize(
    ("source", "releases"),
    [
        (
            "from aiter.ops.flydsl.kernels.moe_gemm_2stage import compile_moe_gemm1\n",
            ">=0.1.18,<0.1.20",
        ),
        (
            """\
            try:
                from aiter.ops.flydsl.kernels.moe_gemm_2stage import compile_moe_gemm1
            except ImportError:
                pass
            """,
            ">=0.1.20",
        ),
    ],
)
def test_hosts_that_do_not(met, source, releases):
    assert met(source, releases) == []
