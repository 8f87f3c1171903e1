"""`migrate --aiter`: moved symbols come from the newest path that all releases have, or are looked up."""

import pytest

from aiter_compat.symbols.contracts import ContractChange

OLD, NEW = "aiter.ops.triton.moe_routing.routing", "aiter.ops.triton.moe.moe_routing.routing"


def test_the_newest_path(transformed):
    transformed(
        "from aiter.ops.triton.gemm_afp4wfp4 import gemm_afp4wfp4  # fast\n",
        "from aiter.ops.triton.gemm.basic.gemm_afp4wfp4 import gemm_afp4wfp4  # fast\n",
        ">=0.1.13",
    )


def test_a_look_up_where_no_path_serves_all(transformed):
    transformed(
        f"def f():\n    from {OLD} import routing\n    return routing\n",
        f'def f():\n    import aiter_compat\n    routing = aiter_compat.load("{OLD}.routing")\n    return routing\n',
        ">=0.1.9,<0.1.11",
    )


@pytest.mark.parametrize(
    ("source", "target"),
    [
        (f"from {NEW} import routing\n", ">=0.1.10.post1"),
        (f"from {OLD} import routing\n", "0.1.9"),
        ("from aiter import dtypes\n", ">=0.1.13"),
        ("from aiter.ops.triton.quant import dynamic_mxfp4_quant\n", ">=0.1.10"),  # the package goes on giving it
        ("from aiter.nowhere import thing\n", ">=0.1.13"),
        ("from aiter.ops.flydsl.moe_common import GateMode\n", ">=0.1.12"),  # v0.1.12 has it nowhere
    ],
)
def test_nothing_to_do(left, source, target):
    assert left(source, target) == []


def test_an_older_path_is_taken_only_where_no_release_has_the_newer(transformed):
    """v0.1.14 on has GateMode at its old place as well, but that is a kernel's module and needs flydsl."""
    new, old = "aiter.ops.flydsl.moe_common", "aiter.ops.flydsl.kernels.mixed_moe_gemm_2stage"
    source = f"from {new} import GateMode\n"
    transformed(source, f'import aiter_compat\nGateMode = aiter_compat.load("{new}.GateMode")\n', ">=0.1.13.post1")
    transformed(source, f"from {old} import GateMode\n", "0.1.13.post1")


def test_guarded_imports_are_left(left):
    source = (
        "try:\n    from aiter.ops.triton.gemm_afp4wfp4 import gemm_afp4wfp4 as f\nexcept ImportError:\n    f = None\n"
    )
    assert "whether this import works" in left(source, ">=0.1.13")[0]


def test_look_ups_share_one_import(transformed):
    transformed(
        f"from {OLD} import routing\nfrom {OLD} import routing as again\n",
        f'import aiter_compat\nrouting = aiter_compat.load("{OLD}.routing")\n'
        f'again = aiter_compat.load("{OLD}.routing")\n',
        ">=0.1.9,<0.1.11",
    )


def test_a_renamed_symbol_keeps_the_name_that_the_host_knows(transformed):
    transformed(
        "from aiter.ops.triton.gluon.mla_decode_gluon import mla_decode_gluon, helper\n",
        "from aiter.ops.triton.gluon.mla_decode_gluon import helper\n"
        "from aiter.ops.triton.gluon.mla_gluon import mla_gluon as mla_decode_gluon\n",
        ">=0.1.18",
    )


def test_a_module_that_moved(transformed):
    transformed(
        "from aiter.ops.triton import gemm_afp4wfp4\n",
        "from aiter.ops.triton.gemm.basic import gemm_afp4wfp4\n",
        ">=0.1.13",
    )


def test_a_look_up_at_the_end_of_a_line(transformed):
    transformed(
        f"import os; from {OLD} import routing; x = routing\n",
        f'import os; import aiter_compat; routing = aiter_compat.load("{OLD}.routing"); x = routing\n',
        ">=0.1.9,<0.1.11",
    )


def test_a_changed_contract_is_not_looked_up(left, monkeypatch):
    change = ContractChange(f"{OLD}.routing", ("0.1.10",), "it returns something else", "a test")
    monkeypatch.setattr("aiter_compat.migrate.plan.contract_change", lambda *_: change)
    (reason,) = left(f"from {OLD} import routing\n", ">=0.1.9,<0.1.11")
    assert "signature changed in v0.1.10" in reason


@pytest.mark.parametrize(("more", "changed"), [({"only": ["moved-symbol"]}, True), ({"skip": ["moved-symbol"]}, False)])
def test_rules_can_be_chosen(plan_for, more, changed):
    from aiter_compat import migrations
    from aiter_compat.migrate.plan import PathPlan

    plan = PathPlan.of(["0.1.20.post1"], migrations.discover(), **more)
    assert (plan.destination("aiter.ops.triton.gemm_afp4wfp4.gemm_afp4wfp4") is not None) is changed


def test_a_rule_of_the_other_kind_is_refused(plan_for):
    from aiter_compat import migrations
    from aiter_compat.errors import InvalidArgument
    from aiter_compat.migrate.plan import PathPlan, ShimPlan

    with pytest.raises(InvalidArgument, match="shim-fused-moe"):
        PathPlan.of(["0.1.20.post1"], migrations.discover(), only=["shim-fused-moe"])
    with pytest.raises(InvalidArgument, match="moved-symbol"):
        ShimPlan.of(migrations.discover(), skip=["moved-symbol"])
