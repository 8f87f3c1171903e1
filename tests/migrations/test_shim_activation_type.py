"""ActivationType comes from aiter_compat, from wherever it was taken."""


def test_transformed(rewritten):
    before = "from aiter import ActivationType\nx = ActivationType.Silu\n"
    assert rewritten(before) == "from aiter_compat import ActivationType\nx = ActivationType.Silu\n"


def test_no_op(rewritten):
    source = "from aiter import QuantType\nx = QuantType.No\n"
    assert rewritten(source) == source
