"""Modules below aiter.ops.flydsl.kernels are not for hosts."""

import pytest


def test_a_host_that_meets_it(met):
    source = "from aiter.ops.flydsl.kernels import buffer_ops\n"
    assert met(source, "0.1.20") == [1]


@pytest.mark.parametrize(
    ("source", "releases"),
    [
        (
            "from aiter.ops.flydsl import moe_common\n",
            "0.1.20",
        ),
        (
            "from aiter.ops.flydsl.moe_common import GateMode\n",
            "0.1.20",
        ),
    ],
)
def test_hosts_that_do_not(met, source, releases):
    assert met(source, releases) == []
