"""The Gluon MLA kernel is called by its new name, under the name that the host knows."""

BEFORE = "from aiter.ops.triton.gluon.mla_decode_gluon import mla_decode_gluon\n"


def test_transformed(rewritten):
    assert (
        rewritten(BEFORE, ">=0.1.18") == "from aiter.ops.triton.gluon.mla_gluon import mla_gluon as mla_decode_gluon\n"
    )


def test_no_op(rewritten):
    assert rewritten(BEFORE, ">=0.1.14,<0.1.18") == BEFORE


def test_a_host_that_meets_it(met):
    assert met("import aiter.ops.triton.gluon.mla_decode_gluon\n", ">=0.1.17") == [1]
