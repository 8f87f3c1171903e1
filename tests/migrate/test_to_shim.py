"""`migrate --to shim`: AITER's fused MoE and enums come from aiter_compat; everything else stays."""

import inspect

import pytest

import aiter_compat as ac

CALL = "fused_moe(x, a, b, w, i, gate_mode=g)\n"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("from aiter.fused_moe import fused_moe", "from aiter_compat import fused_moe"),
        ("from aiter.fused_moe import fused_moe as f", "from aiter_compat import fused_moe as f"),
        ("from aiter.ops.flydsl.moe_common import GateMode", "from aiter_compat import GateMode"),
        ("from aiter.ops.flydsl.kernels.mixed_moe_gemm_2stage import GateMode", "from aiter_compat import GateMode"),
        ("from aiter.ops.flydsl import GateMode", "from aiter_compat import GateMode"),
        ("from aiter import ActivationType, QuantType", "from aiter_compat import ActivationType, QuantType"),
        ("from aiter.ops.enum import QuantType  # why", "from aiter_compat import QuantType  # why"),
        (
            "from aiter import (\n    ActivationType,\n    QuantType,\n)",
            "from aiter_compat import (\n    ActivationType,\n    QuantType,\n)",
        ),
        ("from aiter import QuantType, dtypes", "from aiter import dtypes\nfrom aiter_compat import QuantType"),
        ("from aiter import dtypes, QuantType", "from aiter import dtypes\nfrom aiter_compat import QuantType"),
        (
            "from aiter import (\n    dtypes,\n    QuantType,\n    get_hip_quant,\n)  # all",
            "from aiter import (\n    dtypes,\n    get_hip_quant,\n)  # all\nfrom aiter_compat import QuantType",
        ),
        ("import aiter\nx = aiter.QuantType.No", "import aiter_compat\nx = aiter_compat.QuantType.No"),
        ("import aiter as a\nx = a.QuantType.No", "import aiter_compat\nx = aiter_compat.QuantType.No"),
        (
            "import aiter\nx = aiter.QuantType.No\ny = aiter.dtypes.fp8",
            "import aiter\nimport aiter_compat\nx = aiter_compat.QuantType.No\ny = aiter.dtypes.fp8",
        ),
        ("import aiter.fused_moe as m\nm." + CALL, "import aiter_compat\naiter_compat." + CALL),
        ("from aiter import fused_moe as m\nm." + CALL, "import aiter_compat\naiter_compat." + CALL),
        ("import os; from aiter import QuantType; x = 1", "import os; from aiter_compat import QuantType; x = 1"),
        ("import aiter.ops.enum\nx = aiter.ops.enum.QuantType", "import aiter_compat\nx = aiter_compat.QuantType"),
    ],
)
def test_imports(transformed, before, after):
    transformed(f"{before}\n", f"{after}\n")


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (
            "from aiter import (\n    dtypes,\n    QuantType,  # of the scales\n)",
            "from aiter import (\n    dtypes,\n)\n# of the scales\nfrom aiter_compat import QuantType",
        ),
        (
            "def f():\n    from aiter import (\n        # enums\n        QuantType,\n        dtypes,\n    )",
            "def f():\n    from aiter import (\n        # enums\n        dtypes,\n    )\n"
            "    from aiter_compat import QuantType",
        ),
    ],
)
def test_comments_inside_an_import_are_kept(transformed, before, after):
    transformed(f"{before}\n", f"{after}\n")


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (
            "from aiter import QuantType as QuantType, dtypes",
            "from aiter import dtypes\nfrom aiter_compat import QuantType as QuantType",
        ),
        (
            "import aiter\n__all__ = ['aiter']\nx = aiter.QuantType",
            "import aiter\nimport aiter_compat\n__all__ = ['aiter']\nx = aiter_compat.QuantType",
        ),
    ],
)
def test_names_that_others_import_from_the_file_stay(transformed, before, after):
    transformed(f"{before}\n", f"{after}\n")


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (
            "import aiter\nimport aiter.fused_moe\naiter.fused_moe." + CALL,
            "import aiter_compat\naiter_compat." + CALL,
        ),
        (
            "import aiter\nimport aiter.fused_moe\naiter.dtypes\naiter.fused_moe." + CALL,
            "import aiter\nimport aiter_compat\nimport aiter.fused_moe\naiter.dtypes\naiter_compat." + CALL,
        ),
        (
            "import aiter_compat\nimport aiter\nx = aiter.QuantType",
            "import aiter_compat\nx = aiter_compat.QuantType",
        ),
        (
            "if a:\n    import aiter\nelse:\n    import aiter\nx = aiter.QuantType",
            "if a:\n    import aiter_compat\nelse:\n    import aiter_compat\nx = aiter_compat.QuantType",
        ),
        (
            "if a: import aiter; x = aiter.QuantType\nimport aiter\ny = aiter.QuantType",
            "if a: import aiter_compat; x = aiter_compat.QuantType\nimport aiter_compat\ny = aiter_compat.QuantType",
        ),
        (
            "import aiter_compat\n# of the scales\nimport aiter\nx = aiter.QuantType",
            "import aiter_compat\n# of the scales\nimport aiter_compat\nx = aiter_compat.QuantType",
        ),
    ],
)
def test_aiter_compat_is_imported_once_in_a_block(transformed, before, after):
    transformed(before.rstrip() + "\n", after.rstrip() + "\n")


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("if a: import aiter; x = aiter.QuantType", "if a: import aiter_compat; x = aiter_compat.QuantType"),
        (
            "def f(): from aiter import QuantType as Q; return Q",
            "def f(): from aiter_compat import QuantType as Q; return Q",
        ),
        (
            "class A: from aiter import dtypes, QuantType",
            "class A: from aiter import dtypes; from aiter_compat import QuantType",
        ),
    ],
)
def test_suites_on_one_line(transformed, before, after):
    transformed(f"{before}\n", f"{after}\n")


PROBE = "import inspect\nfrom {} import fused_moe\nhas = {!r} in inspect.signature(fused_moe).parameters\n"


class TestQuestionsAboutParameters:
    """A host asks AITER's function for a keyword; the answer may keep it from passing the keyword to ours."""

    def test_one_that_ours_takes_everywhere_is_asked_of_ours(self, transformed):
        transformed(
            PROBE.format("aiter.fused_moe", "gate_mode"),
            PROBE.format("aiter_compat", "gate_mode"),
        )

    def test_one_that_only_later_releases_take_is_asked_of_aiter(self, left):
        (reason,) = left(PROBE.format("aiter.fused_moe", "quant_dtype_a"))
        assert "reads the parameters" in reason

    def test_a_call_that_stays_with_aiter_keeps_its_question(self, left):
        source = PROBE.format("aiter.fused_moe", "gate_mode")
        source += "def f():\n    from aiter.fused_moe import fused_moe\n    fused_moe(*everything)\n"
        assert len(left(source)) == 2

    def test_ours_takes_every_recorded_parameter(self, plan_for):
        parameters = plan_for("shim").destination("aiter.fused_moe.fused_moe").parameters
        assert parameters
        assert parameters <= set(inspect.signature(ac.fused_moe).parameters)


def test_imports_inside_functions_and_classes(transformed):
    transformed(
        """\
        class A:
            def f(self, x):
                # AITER only here
                from aiter import QuantType, get_hip_quant

                return get_hip_quant(QuantType.No)
        """,
        """\
        class A:
            def f(self, x):
                # AITER only here
                from aiter import get_hip_quant
                from aiter_compat import QuantType

                return get_hip_quant(QuantType.No)
        """,
    )


def test_a_name_of_another_scope_is_not_touched(transformed):
    transformed(
        "def f():\n    import aiter\n    aiter.QuantType\ndef g(aiter):\n    aiter.QuantType\n",
        "def f():\n    import aiter_compat\n    aiter_compat.QuantType\ndef g(aiter):\n    aiter.QuantType\n",
    )


@pytest.mark.parametrize(
    "source",
    [
        "from aiter.fused_moe import fused_topk, moe_sorting\n",
        "from aiter import dtypes\n",
        "from aiter.ops.enum import *\n",
        "import aiter\naiter.get_hip_quant(1)\n",
        "import aiter_compat\naiter_compat.fused_moe(x)\n",
        "from aiter_compat import QuantType\n",
        "from .aiter import QuantType\n",
        "from vllm.aiter import QuantType\n",
        "text = 'from aiter import QuantType'\n",
        "",
    ],
)
def test_nothing_to_do(left, source):
    assert left(source) == []


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        (
            "try:\n    from aiter import QuantType\nexcept ImportError:\n    QuantType = None\n",
            "whether this import works",
        ),
        ("try:\n    import aiter\n    x = aiter.QuantType\nexcept Exception:\n    pass\n", "whether this import works"),
        (f"from aiter.fused_moe import fused_moe\nfused_moe({', '.join('abcdefghijklmn')})\n", "14 positional"),
        ("from aiter.fused_moe import fused_moe\nfused_moe(*everything)\n", "unpacks a sequence"),
        ("import aiter.fused_moe as m\nm.fused_moe = patched\n", "something else in its place"),
        ("import aiter.fused_moe as m\nx, m.fused_moe = patched\n", "something else in its place"),
        ("import aiter.fused_moe as m\nfor m.fused_moe in patched: pass\n", "something else in its place"),
        ("import aiter.fused_moe as m\nwith patched as m.fused_moe: pass\n", "something else in its place"),
        ("import aiter.fused_moe as m\ndel m.fused_moe\n", "something else in its place"),
        ("from aiter import QuantType\nsetattr(QuantType, 'more', 1)\n", "looks into it or changes it"),
        ("from aiter.fused_moe import fused_moe\nfused_moe.__code__\n", "__code__ of AITER's own function"),
        (
            "import contextlib\nwith contextlib.suppress(ImportError):\n    from aiter import QuantType\n",
            "whether this import works",
        ),
        ("from aiter.ops.enum import *\nx = QuantType.No\n", "import of all names may bring QuantType"),
        (
            "import inspect\nfrom aiter.fused_moe import fused_moe\ninspect.signature(fused_moe).parameters\n",
            "parameters of AITER's own function",
        ),
    ],
)
def test_what_cannot_be_rewritten_safely_is_left_whole(left, source, reason):
    (found,) = left(source)
    assert reason in found


def test_a_second_name_for_aiter_in_a_function_is_left(transformed):
    """Else `import aiter_compat` would be local to all of f, and not bound yet at its first use."""
    found = transformed(
        "import aiter as a\ndef f():\n    a.QuantType\n    import aiter\n    aiter.QuantType\n",
        "import aiter_compat\ndef f():\n    aiter_compat.QuantType\n    import aiter\n    aiter.QuantType\n",
    )
    assert "under another name" in found.notes[0].reason


def test_a_name_that_the_function_uses_is_not_hidden(left):
    (reason,) = left("import aiter_compat\ndef f():\n    aiter_compat.x\n    import aiter\n    aiter.QuantType\n")
    assert "uses aiter_compat already" in reason


def test_thirteen_positional_arguments_mean_the_same_everywhere(transformed):
    call = f"fused_moe({', '.join('abcdefghijklm')}, dtype=d, **extra)\n"
    transformed(f"from aiter.fused_moe import fused_moe\n{call}", f"from aiter_compat import fused_moe\n{call}")


def test_one_unsafe_call_keeps_the_import_for_all(left):
    source = "from aiter.fused_moe import fused_moe\nfused_moe(x, a, b, w, i)\nfused_moe(*everything)\n"
    assert len(left(source)) == 1
