"""A host that unpacks three things fails from v0.1.7.post3 on."""

import pytest


def test_a_host_that_meets_it(met):
    source = """\
    from aiter.ops.triton.fused_mxfp4_quant import fused_rms_mxfp4_quant
    q, out, res = fused_rms_mxfp4_quant(x, w, e)
    """
    assert met(source, ">=0.1.7") == [2]


@pytest.mark.parametrize(
    ("source", "releases"),
    [
        (
            """\
            from aiter.ops.triton.fused_mxfp4_quant import fused_rms_mxfp4_quant
            q, one, out, res = fused_rms_mxfp4_quant(x, w, e)
            """,
            ">=0.1.7.post3",
        ),
        (
            """\
            from aiter.ops.triton.quant import dynamic_mxfp4_quant
            dynamic_mxfp4_quant(x)
            """,
            ">=0.1.7",
        ),
    ],
)
def test_hosts_that_do_not(met, source, releases):
    assert met(source, releases) == []
