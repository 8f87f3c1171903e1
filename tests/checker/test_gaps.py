"""What a release lacks of a host's uses, and whether the host survives it. Releases are the recorded ones."""

import pytest

IMPORT_MOE = "from aiter.fused_moe import fused_moe\n"
IMPORT_MODE = "from aiter.ops.flydsl.moe_common import GateMode"
MODE = "aiter.ops.flydsl.moe_common.GateMode"


def told(found):
    return [(gap.kind, gap.symbol, gap.line, gap.scope, gap.guarded) for gap in found]


class TestKinds:
    def test_a_module(self, gaps_in):
        assert told(gaps_in("0.1.13.post1", IMPORT_MODE)) == [("missing-module", MODE, 1, "module", False)]
        assert gaps_in("0.1.14", IMPORT_MODE) == []

    def test_a_symbol(self, gaps_in):
        source = "def f():\n    from aiter.utility.fp4_utils import f32_to_e8m0"
        path = "aiter.utility.fp4_utils.f32_to_e8m0"
        assert told(gaps_in("0.1.16", source)) == [("missing-symbol", path, 2, "function", False)]
        assert gaps_in("0.1.15.post3", source) == []

    def test_an_attribute(self, gaps_in):
        source = "import aiter\naiter.moe_sorting_opus_fwd(x)"
        found = gaps_in("0.1.10", source)
        assert told(found) == [("missing-symbol", "aiter.moe_sorting_opus_fwd", 2, "module", False)]
        assert "v0.1.10 has no moe_sorting_opus_fwd in aiter" in found[0].message

    def test_a_keyword(self, gaps_in):
        source = IMPORT_MOE + "fused_moe(x, a, b, w, i, gate_mode=g)"
        path = "aiter.fused_moe.fused_moe(gate_mode)"
        assert told(gaps_in("0.1.13", source)) == [("missing-keyword", path, 2, "module", False)]
        assert gaps_in("0.1.14", source) == []

    def test_a_keyword_that_no_release_has_yet(self, gaps_in):
        source = IMPORT_MOE + "fused_moe(x, a, b, w, i, quant_dtype_a=d)"
        assert [gap.kind for gap in gaps_in("0.1.20.post1", source)] == ["missing-keyword"]

    @pytest.mark.parametrize("module", ["aiter", "aiter.ops.enum"])
    def test_an_enum_member(self, gaps_in, module):
        source = f"from {module} import ActivationType\nx = ActivationType.Situv2.value"
        path = f"{module}.ActivationType.Situv2"
        assert told(gaps_in("0.1.18", source)) == [("missing-enum-member", path, 2, "module", False)]
        assert gaps_in("0.1.19", source) == []

    def test_a_call_that_does_not_fit(self, gaps_in):
        source = "import aiter\naiter.qr_get_handle(ptr)"
        assert [gap.kind for gap in gaps_in("0.1.19.post1", source)] == ["changed-meaning"]
        assert gaps_in("0.1.19", source) == []

    def test_what_follows_from_a_missing_import_is_not_reported_again(self, gaps_in):
        assert len(gaps_in("0.1.13", IMPORT_MODE + "\nx = GateMode.INTERLEAVE\nf(GateMode.SEPARATED.value)")) == 1

    def test_old_module_names_that_aiter_still_serves(self, gaps_in):
        source = "from aiter.ops.triton.gemm_afp4wfp4 import gemm_afp4wfp4\nimport aiter.ops.triton.moe_routing.routing"
        assert gaps_in("0.1.20.post1", source) == []

    def test_a_bound_name_is_no_module(self, gaps_in):
        assert [gap.kind for gap in gaps_in("0.1.20", "from aiter.dtypes import fp8")] == ["missing-module"]
        assert gaps_in("0.1.20", "from aiter import dtypes\ndtypes.fp8") == []

    def test_names_that_a_module_takes_from_other_packages_are_not_reported(self, gaps_in):
        source = "import aiter.ops.triton.gluon.pa_mqa_logits as m\nm.gluon, m.gl"
        assert gaps_in("0.1.20", source) == []

    def test_files_that_only_exist_once_aiter_is_built(self, gaps_in):
        assert gaps_in("0.1.20", "import aiter.jit.module_aiter_core\nimport aiter._version") == []


GUARDED = {
    "except ImportError": f"try:\n    {IMPORT_MODE}\nexcept ImportError:\n    GateMode = None",
    "except ModuleNotFoundError": f"try:\n    {IMPORT_MODE}\nexcept ModuleNotFoundError:\n    pass",
    "except Exception": f"try:\n    {IMPORT_MODE}\nexcept (OSError, Exception):\n    pass",
    "bare except": f"try:\n    {IMPORT_MODE}\nexcept:\n    pass",
    "suppress": f"import contextlib\nwith contextlib.suppress(ImportError):\n    {IMPORT_MODE}",
    "importorskip": f"import pytest\nmoe_common = pytest.importorskip('aiter.ops.flydsl.moe_common')\n{IMPORT_MODE}",
    "asserted": f"from importlib.util import find_spec\nassert find_spec('aiter.ops.flydsl.moe_common')\n{IMPORT_MODE}",
    "a parsed version": "from importlib.metadata import version\nfrom packaging.version import Version\n"
    f"if Version(version('amd-aiter')) >= Version('0.1.14'):\n    {IMPORT_MODE}",
    "a version kept in a name": "from importlib import metadata\nfrom packaging import version\n"
    f"V = version.parse(metadata.version('amd-aiter'))\nif version.parse('0.1.14') <= V:\n    {IMPORT_MODE}",
    "not an older version": "from importlib.metadata import version\nfrom packaging.version import Version as P\n"
    f"import packaging.version\nif not packaging.version.Version(version('amd-aiter')) < '0.1.14':\n    {IMPORT_MODE}",
    "one of two that need it": "def has():\n    try:\n        import aiter.ops.flydsl.moe_common\n        return True\n"
    "    except ImportError:\n        return False\ndef one():\n    return has() and flag\n"
    f"if one() or has():\n    {IMPORT_MODE}",
    "outer try": f"try:\n    try:\n        {IMPORT_MODE}\n    finally:\n        pass\nexcept ImportError:\n    pass",
    "TYPE_CHECKING": f"from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    {IMPORT_MODE}",
    "find_spec": "from importlib.util import find_spec\n"
    f"if find_spec('aiter.ops.flydsl.moe_common') is not None:\n    {IMPORT_MODE}",
    "version": f"from importlib.metadata import version\nif version('amd-aiter') >= '0.1.14':\n    {IMPORT_MODE}",
    "flag of another import": "try:\n    import aiter.ops.flydsl.moe_common\n    HAS = True\nexcept ImportError:\n"
    f"    HAS = False\nif HAS:\n    {IMPORT_MODE}",
    "flag of find_spec": "from importlib.util import find_spec\n"
    "HAS = find_spec('aiter.ops.flydsl.moe_common') is not None\n"
    f"def f():\n    if not HAS:\n        return\n    {IMPORT_MODE}",
    "a function that tries": "def has():\n    try:\n        import aiter.ops.flydsl.moe_common\n        return True\n"
    f"    except ImportError:\n        return False\ndef f():\n    if has():\n        {IMPORT_MODE}",
}
BARE = {
    "nothing": IMPORT_MODE,
    "a version that lacks it": "from importlib.metadata import version\nfrom packaging.version import Version\n"
    f"if Version(version('amd-aiter')) >= Version('0.1.12'):\n    {IMPORT_MODE}",
    "another package is there": f"from importlib.util import find_spec\nif find_spec('torch'):\n    {IMPORT_MODE}",
    "a fallback of something else too": "try:\n    import other\n    import aiter\n"
    f"except ImportError:\n    {IMPORT_MODE}",
    "a fallback when a call fails": f"try:\n    import aiter\n    aiter.start()\nexcept Exception:\n    {IMPORT_MODE}",
    "a variable of AITER's that is false": f"import aiter\nif not aiter.dtypes:\n    {IMPORT_MODE}",
    "flags of the host": "from host_flags import one, two\nif one or two:\n    " + IMPORT_MODE,
    "a flag of the host or a probe": "import aiter\nfrom host_flags import one\n"
    f"if one or hasattr(aiter, 'moe_sorting_opus_fwd'):\n    {IMPORT_MODE}",
    "an environment flag": f"import os\nif os.environ.get('USE_AITER'):\n    {IMPORT_MODE}",
    "another exception": f"try:\n    {IMPORT_MODE}\nexcept KeyError:\n    pass",
    "raised again": f"try:\n    {IMPORT_MODE}\nexcept ImportError as error:\n    raise RuntimeError from error",
    "aiter is there": f"from importlib.util import find_spec\nif find_spec('aiter') is not None:\n    {IMPORT_MODE}",
    "in the handler": f"try:\n    from aiter.ops.flydsl.nowhere import x\nexcept ImportError:\n    {IMPORT_MODE}",
    "a function called in a try": f"def f():\n    {IMPORT_MODE}\ntry:\n    f()\nexcept ImportError:\n    pass",
    "not TYPE_CHECKING": f"from typing import TYPE_CHECKING\nif not TYPE_CHECKING:\n    {IMPORT_MODE}",
}


class TestGuards:
    @pytest.mark.parametrize("name", GUARDED)
    def test_guarded_imports(self, gaps_in, name):
        found = [gap for gap in gaps_in("0.1.13", GUARDED[name]) if gap.symbol == MODE]
        assert [gap.guarded for gap in found] == [True]

    @pytest.mark.parametrize("name", BARE)
    def test_bare_imports(self, gaps_in, name):
        found = [gap for gap in gaps_in("0.1.13", BARE[name]) if gap.symbol == MODE]
        assert [gap.guarded for gap in found] == [False]

    def test_catching_module_not_found_does_not_survive_a_missing_name(self, gaps_in):
        source = "try:\n    from aiter import nothing\nexcept ModuleNotFoundError:\n    pass"
        assert [gap.guarded for gap in gaps_in("0.1.20", source)] == [False]

    def test_a_fallback_that_is_never_reached(self, gaps_in):
        names = "aiter.utility.fp4_utils import f32_to_mx_e8m0_scale", "aiter.utility.fp4_utils import f32_to_e8m0"
        source = f"try:\n    from {names[0]}\nexcept ImportError:\n    from {names[1]}"
        assert [(gap.line, gap.guarded) for gap in gaps_in("0.1.15.post3", source)] == [(2, True)]
        assert [(gap.line, gap.guarded) for gap in gaps_in("0.1.16", source)] == [(4, True)]

    @pytest.mark.parametrize(
        "test",
        [
            "hasattr(aiter, 'moe_sorting_opus_fwd')",
            "getattr(aiter, 'moe_sorting_opus_fwd', None) is not None",
            "callable(getattr(aiter, 'moe_sorting_opus_fwd', None)) and x",
            "'moe_sorting_opus_fwd' in dir(aiter)",
        ],
    )
    def test_guarded_attributes(self, gaps_in, test):
        found = gaps_in("0.1.10", f"import aiter\nif {test}:\n    aiter.moe_sorting_opus_fwd(x)")
        assert found
        assert all(gap.guarded for gap in found)

    def test_hasattr_of_something_else_is_no_guard(self, gaps_in):
        found = gaps_in(
            "0.1.10", "import aiter\nif hasattr(aiter, 'get_hip_quant'):\n    aiter.moe_sorting_opus_fwd(x)"
        )
        assert [gap.guarded for gap in found] == [False]

    def test_leaving_early(self, gaps_in):
        source = (
            "import aiter\ndef f():\n    if not hasattr(aiter, 'moe_sorting_opus_fwd'):\n        return\n"
            "    aiter.moe_sorting_opus_fwd(x)"
        )
        assert {gap.guarded for gap in gaps_in("0.1.10", source)} == {True}

    @pytest.mark.parametrize(
        "guard",
        [
            "import inspect\nif 'gate_mode' in inspect.signature(fused_moe).parameters:\n    ",
            "import inspect\nP = set(inspect.signature(fused_moe).parameters)\nif 'gate_mode' in P:\n    ",
            "from inspect import signature\ndef has():\n    return 'gate_mode' in signature(fused_moe).parameters\n"
            "if has() and gate:\n    ",
            "from importlib import metadata\nif metadata.version('amd-aiter') > '0':\n    ",
        ],
    )
    def test_guarded_keywords(self, gaps_in, guard):
        source = f"{IMPORT_MOE}extra = {{}}\n{guard}extra['gate_mode'] = g\nfused_moe(x, a, b, w, i, beta=1, **extra)"
        found = {gap.symbol.partition("(")[2]: gap.guarded for gap in gaps_in("0.1.13", source)}
        assert found == {"gate_mode)": True, "beta)": False}

    @pytest.mark.parametrize(
        ("kept", "guarded"), [("if k in PARAMETERS", True), ("if v is not None and k in other", False), ("", False)]
    )
    def test_a_dictionary_that_only_keeps_what_the_function_takes(self, gaps_in, kept, guarded):
        source = (
            f"import inspect\n{IMPORT_MOE}PARAMETERS = inspect.signature(fused_moe).parameters\n"
            f"extra = {{'gate_mode': 1}}\nextra = {{k: v for k, v in extra.items() {kept}}}\n"
            "fused_moe(x, a, b, w, i, **extra)"
        )
        assert [(gap.line, gap.guarded) for gap in gaps_in("0.1.13", source)] == [(4, guarded)]

    @pytest.mark.parametrize("test", ["has()", "'gate_mode' in inspect.signature(fused_moe).parameters"])
    def test_a_dictionary_of_two_arms(self, gaps_in, test):
        source = (
            f"import inspect\n{IMPORT_MOE}def has():\n"
            "    return 'gate_mode' in inspect.signature(fused_moe).parameters\n"
            f"fused_moe(x, a, b, w, i, **({{'gate_mode': 1}} if {test} else {{}}))"
        )
        assert [(gap.line, gap.guarded) for gap in gaps_in("0.1.13", source)] == [(5, True)]

    def test_a_guard_of_another_file(self, gaps_in):
        files = {
            "ops.py": "class ops:\n    @classmethod\n    def has_gate_mode(cls):\n        import inspect\n"
            "        from aiter.fused_moe import fused_moe\n"
            "        return 'gate_mode' in inspect.signature(fused_moe).parameters",
            "use.py": "from ops import ops\nfrom aiter.fused_moe import fused_moe\nextra = {}\n"
            "if ops.has_gate_mode():\n    extra['gate_mode'] = 1\nfused_moe(x, a, b, w, i, **extra)",
        }
        assert [(gap.file, gap.guarded) for gap in gaps_in("0.1.13", files)] == [("use.py", True)]

    def test_refusing_first_what_the_release_lacks(self, gaps_in):
        source = (
            f"import inspect\n{IMPORT_MOE}def has():\n"
            "    return 'gate_mode' in inspect.signature(fused_moe).parameters\n"
            "def f(config):\n    if config.gate and not has():\n        raise NotImplementedError\n    extra = {}\n"
            "    if config.gate:\n        extra['gate_mode'] = 1\n    fused_moe(x, a, b, w, i, **extra)"
        )
        assert [(gap.line, gap.guarded) for gap in gaps_in("0.1.13", source)] == [(10, True)]

    def test_a_test_with_reasons_of_the_hosts_own_guards_only_the_branch_that_needs_aiter(self, gaps_in):
        source = (
            "import aiter\ndef has():\n    return hasattr(aiter, 'get_hip_quant') and host_flag()\n"
            "if has():\n    pass\nelse:\n    aiter.moe_sorting_opus_fwd(x)"
        )
        assert [gap.guarded for gap in gaps_in("0.1.10", source)] == [False]

    def test_a_name_that_is_only_bound_where_it_is_there(self, gaps_in):
        source = (
            "def has():\n    import aiter\n    return hasattr(aiter, 'moe_sorting_opus_fwd')\n"
            "def f():\n    if has():\n        import aiter\n        aiter.moe_sorting_opus_fwd(x)"
        )
        found = [(gap.line, gap.guarded) for gap in gaps_in("0.1.10", source)]
        assert found == [(3, True), (7, True)]

    def test_a_module_that_is_only_taken_with_the_attribute(self, gaps_in):
        source = (
            "def load():\n    try:\n        import aiter as ops\n        ops.moe_sorting_opus_fwd\n"
            "    except (ImportError, AttributeError):\n        ops = None\n    return ops\n"
            "def f():\n    load().moe_sorting_opus_fwd(x)"
        )
        assert [(gap.line, gap.guarded) for gap in gaps_in("0.1.10", source)] == [(4, True), (9, True)]

    def test_a_name_that_a_failed_import_leaves_unbound(self, gaps_in):
        source = (
            "try:\n    from aiter.fused_moe import fused_moe\n    from aiter import nothing\n"
            "except ImportError:\n    print('no aiter')\ndef f():\n    fused_moe(x, a, b, w, i, gate_mode=1)"
        )
        found = [(gap.kind, gap.guarded) for gap in gaps_in("0.1.13", source)]
        assert found == [("missing-symbol", True), ("missing-keyword", False)]

    def test_a_module_chosen_by_what_is_there(self, gaps_in):
        source = (
            "from importlib import import_module\nfrom importlib.util import find_spec\npath = None\n"
            "if find_spec('aiter.ops.triton.fp8_mqa_logits') is not None:\n"
            "    path = 'aiter.ops.triton.fp8_mqa_logits'\n"
            "elif find_spec('aiter.ops.triton.attention.fp8_mqa_logits') is not None:\n"
            "    path = 'aiter.ops.triton.attention.fp8_mqa_logits'\n"
            "import_module(path).fp8_mqa_logits(a, b, c, d, e, f, clean_logits=False)"
        )
        keywords = [gap.symbol for gap in gaps_in("0.1.14", source) if gap.kind == "missing-keyword"]
        assert keywords == ["aiter.ops.triton.fp8_mqa_logits.fp8_mqa_logits(clean_logits)"]

    @pytest.mark.parametrize(
        ("error", "guarded"), [("KeyError", True), ("AttributeError", True), ("IndexError", False)]
    )
    def test_a_member_by_subscript(self, gaps_in, error, guarded):
        source = f"from aiter import ActivationType\ntry:\n    ActivationType['Situv2']\nexcept {error}:\n    pass"
        assert [(gap.kind, gap.guarded) for gap in gaps_in("0.1.18", source)] == [("missing-enum-member", guarded)]

    def test_except_type_error_survives_a_keyword_and_no_import(self, gaps_in):
        source = (
            "try:\n    from aiter.fused_moe import fused_moe, nothing\n    fused_moe(x, a, b, w, i, gate_mode=1)\n"
            "except TypeError:\n    pass"
        )
        assert {(gap.kind, gap.guarded) for gap in gaps_in("0.1.13", source)} == {
            ("missing-symbol", False),
            ("missing-keyword", True),
        }

    def test_find_spec_raises_without_the_parent(self, gaps_in):
        source = "from importlib.util import find_spec\nhas = find_spec('aiter.ops.flydsl.batched_gemm_a8w8')"
        assert [(gap.kind, gap.guarded) for gap in gaps_in("0.1.10", source)] == [("missing-module", False)]
        assert [(gap.kind, gap.guarded) for gap in gaps_in("0.1.20", source)] == [("missing-module", True)]


class TestSeveralMeanings:
    IMPORTED = (
        "if on_amd:\n    from aiter.fused_moe import fused_moe as moe\nelse:\n    from other import moe\n"
        "def on_both():\n    {call}"
    )

    def test_a_call_that_is_written_for_another_platform(self, gaps_in):
        assert gaps_in("0.1.20", self.IMPORTED.format(call="moe(out, x, no_such=1)")) == []

    def test_a_call_that_some_release_takes(self, gaps_in):
        found = gaps_in("0.1.13", self.IMPORTED.format(call="moe(x, a, b, w, i, gate_mode=1)"))
        assert [gap.kind for gap in found] == ["missing-keyword"]

    def test_a_fallback_for_where_aiter_lacks_it_is_called_alike(self, gaps_in):
        source = (
            "try:\n    from aiter.fused_moe import fused_moe as moe\nexcept ImportError:\n    from other import moe\n"
            "moe(x, a, b, w, i, quant_dtype_a=d)"
        )
        assert [gap.kind for gap in gaps_in("0.1.20", source)] == ["missing-keyword"]

    def test_the_one_that_the_release_has_decides(self, gaps_in):
        source = (
            "try:\n    from aiter.ops.flydsl.moe_common import apply_gate_up as f\n"
            "except ImportError:\n    from aiter.fused_moe import fused_moe as f\n"
            "f(a, b, c, d, e, gate_mode=1)"
        )
        kinds = [(gap.kind, gap.line) for gap in gaps_in("0.1.13", source)]
        assert ("missing-keyword", 5) in kinds

    def test_a_star_import_only_counts_for_names_that_some_release_has(self, gaps_in):
        source = "from aiter.ops.enum import *\nfrom other import *\nMlaVersion.x\nsomething_else.y"
        assert [gap.symbol for gap in gaps_in("0.1.17", source)] == ["aiter.ops.enum.MlaVersion"]
