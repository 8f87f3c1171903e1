"""GateMode is looked up where no path serves every release, and taken from the new one where that does."""

BEFORE = "from aiter.ops.flydsl.kernels.mixed_moe_gemm_2stage import GateMode\n"


def test_transformed(rewritten):
    assert rewritten(BEFORE, ">=0.1.14") == "from aiter.ops.flydsl.moe_common import GateMode\n"


def test_no_op(rewritten):
    assert rewritten(BEFORE, "0.1.13") == BEFORE


def test_a_host_that_meets_it(met):
    assert met("from aiter.ops.flydsl.moe_common import GateMode\n", ">=0.1.13.post1") == [1]
