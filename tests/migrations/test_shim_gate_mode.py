"""GateMode comes from aiter_compat, from either of its places."""


def test_transformed(rewritten):
    before = "from aiter.ops.flydsl.moe_common import GateMode\ng = GateMode.SEPARATED.value\n"
    assert rewritten(before) == "from aiter_compat import GateMode\ng = GateMode.SEPARATED.value\n"


def test_no_op(rewritten):
    source = "from aiter.ops.flydsl.moe_common import apply_gate_up\n"
    assert rewritten(source) == source
