"""f32_to_e8m0 is missing since v0.1.16, and aiter_compat.quantize is named in its place."""

import pytest


def test_a_host_that_meets_it(met):
    source = "from aiter.utility.fp4_utils import f32_to_e8m0\n"
    assert met(source, ">=0.1.15") == [1]


@pytest.mark.parametrize(
    ("source", "releases"),
    [
        (
            "from aiter.utility.fp4_utils import f32_to_e8m0\n",
            ">=0.1.13,<0.1.16",
        ),
        (
            "from aiter.utility.fp4_utils import f32_to_mxfp4\n",
            ">=0.1.13",
        ),
    ],
)
def test_hosts_that_do_not(met, source, releases):
    assert met(source, releases) == []
