"""fused_moe comes from aiter_compat, with the call as it was."""


def test_transformed(rewritten):
    before = "from aiter.fused_moe import fused_moe\nfused_moe(x, a, b, w, i, dtype=d)\n"
    assert rewritten(before) == "from aiter_compat import fused_moe\nfused_moe(x, a, b, w, i, dtype=d)\n"


def test_no_op(rewritten):
    source = "from aiter.fused_moe import fused_topk\nfused_topk(x, g, 2, True)\n"
    assert rewritten(source) == source
