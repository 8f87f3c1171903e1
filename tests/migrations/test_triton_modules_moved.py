"""A module that is imported under its old name is executed a second time."""

import pytest


def test_a_host_that_meets_it(met):
    source = "from aiter.ops.triton.gemm_afp4wfp4 import gemm_afp4wfp4\n"
    assert met(source, ">=0.1.13") == [1]


@pytest.mark.parametrize(
    ("source", "releases"),
    [
        (
            "from aiter.ops.triton.gemm.basic.gemm_afp4wfp4 import gemm_afp4wfp4\n",
            ">=0.1.13",
        ),
        (
            "from aiter.ops.triton.gemm_afp4wfp4 import gemm_afp4wfp4\n",
            "<0.1.10",
        ),
        (
            "from aiter.ops.triton.quant import dynamic_mxfp4_quant\n",
            ">=0.1.13",
        ),
    ],
)
def test_hosts_that_do_not(met, source, releases):
    assert met(source, releases) == []
