"""QuantType comes from aiter_compat, from wherever it was taken."""


def test_transformed(rewritten):
    before = "import aiter\nx = aiter.QuantType.No\n"
    assert rewritten(before) == "import aiter_compat\nx = aiter_compat.QuantType.No\n"


def test_no_op(rewritten):
    source = "import aiter\nx = aiter.ActivationType.Silu\n"
    assert rewritten(source) == source
