"""add_residual is refused by moe_gemm_a8w4 since v0.1.16."""

import pytest


def test_a_host_that_meets_it(met):
    source = """\
    from aiter.ops.triton.moe.moe_op_gemm_a8w4 import moe_gemm_a8w4
    moe_gemm_a8w4(*a, add_residual=True)
    """
    assert met(source, ">=0.1.16") == [2]


@pytest.mark.parametrize(
    ("source", "releases"),
    [
        (
            """\
            from aiter.ops.triton.moe.moe_op_gemm_a8w4 import moe_gemm_a8w4
            moe_gemm_a8w4(*a, add_residual=True)
            """,
            ">=0.1.13,<0.1.16",
        ),
        (
            """\
            from aiter.ops.triton.moe.moe_op_gemm_a8w4 import moe_gemm_a8w4
            moe_gemm_a8w4(*a)
            """,
            ">=0.1.13",
        ),
    ],
)
def test_hosts_that_do_not(met, source, releases):
    assert met(source, releases) == []
