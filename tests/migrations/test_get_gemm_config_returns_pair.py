"""A host that reads a dictionary gets a pair from v0.1.9.post1 on."""

import pytest


def test_a_host_that_meets_it(met):
    source = """\
    from aiter.ops.triton.utils.gemm_config_utils import get_gemm_config
    get_gemm_config('GEMM', m)['BLOCK_SIZE_M']
    """
    assert met(source, ">=0.1.9") == [2]


@pytest.mark.parametrize(
    ("source", "releases"),
    [
        (
            """\
            from aiter.ops.triton.utils.gemm_config_utils import get_gemm_config
            config, tuned = get_gemm_config('GEMM', m)
            """,
            ">=0.1.10",
        ),
        (
            "from aiter.ops.triton.utils.gemm_config_utils import get_gemm_config\n",
            ">=0.1.9",
        ),
    ],
)
def test_hosts_that_do_not(met, source, releases):
    assert met(source, releases) == []
