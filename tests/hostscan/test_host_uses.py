"""Every way in which a host can reach AITER is seen, and nothing else is taken for AITER."""

import pytest

MOE = "aiter.fused_moe.fused_moe"


def seen(scan, kind):
    return [target.path for file in scan.files for use in file.uses if use.kind == kind for target in use.targets]


def keywords(scan, path=MOE):
    calls = [use for file in scan.files for use in file.uses if use.kind == "call"]
    named = [use for use in calls if path in [target.path for target in use.targets]]
    return [keyword.name for use in named for keyword in use.arguments.keywords]


@pytest.mark.parametrize(
    ("source", "imports"),
    [
        ("import aiter", ["aiter"]),
        ("import aiter.ops.shuffle as s", ["aiter.ops.shuffle"]),
        ("from aiter import QuantType as Q, dtypes", ["aiter.QuantType", "aiter.dtypes"]),
        ("from aiter.ops.enum import *", ["aiter.ops.enum"]),
        ("import importlib\nm = importlib.import_module('aiter.mla')", ["aiter.mla"]),
        ("m = __import__('aiter.mla')", ["aiter.mla"]),
        ("P = 'aiter.mla'\nfrom importlib import import_module\nimport_module(P)", ["aiter.mla"]),
        ("import importlib\nfor p in ('aiter.a', 'aiter.b'):\n    importlib.import_module(p)", ["aiter.a", "aiter.b"]),
        ("def f():\n    from aiter import rmsnorm2d_fwd", ["aiter.rmsnorm2d_fwd"]),
        ("import importlib\nimportlib.import_module('.mla', 'aiter')", ["aiter.mla"]),
        ("import importlib\nimportlib.import_module('..mla', package='aiter.ops')", ["aiter.mla"]),
        ("import importlib\nimportlib.import_module('.mla', package)", []),
        ("import importlib\nB = 'aiter.ops'\nimportlib.import_module(f'{B}.enum')", ["aiter.ops.enum"]),
        ("import importlib\nimportlib.import_module('aiter.' + 'mla')", ["aiter.mla"]),
        (
            "import importlib\ndef load(name):\n    return importlib.import_module(name)\nload('aiter.mla')",
            ["aiter.mla"],
        ),
    ],
)
def test_imports(scan_host, source, imports):
    assert seen(scan_host(source), "import") == imports


@pytest.mark.parametrize(
    ("source", "path"),
    [
        ("import aiter\naiter.ops.shuffle.shuffle_weight(w)", "aiter.ops.shuffle.shuffle_weight"),
        ("import aiter as a\nb = a\nb.get_hip_quant(1)", "aiter.get_hip_quant"),
        ("import aiter.fused_moe as fm\nfm.fused_moe(x)", MOE),
        ("from aiter import ops\nops.enum.QuantType.No", "aiter.ops.enum.QuantType.No"),
        ("from aiter import QuantType\ngetattr(QuantType, 'per_1x32')", "aiter.QuantType.per_1x32"),
        ("from aiter.ops.enum import *\nQuantType.per_1x32", "aiter.ops.enum.QuantType.per_1x32"),
        ("def f():\n    import aiter\n    return lambda: aiter.mla.mla_decode_fwd", "aiter.mla.mla_decode_fwd"),
        ("import aiter\nclass A:\n    kind = aiter.QuantType.No", "aiter.QuantType.No"),
        ("import aiter\nx = [aiter.f for _ in y]", "aiter.f"),
        ("import aiter\nx = f'{aiter.f}'", "aiter.f"),
        ("import aiter\n@aiter.deco\ndef f(): ...", "aiter.deco"),
        ("import aiter\ndef f(x=aiter.default): ...", "aiter.default"),
        ("from aiter import QuantType\nQuantType['per_1x32']", "aiter.QuantType.per_1x32"),
        ("import aiter\nmatch x:\n    case aiter.QuantType.No: ...", "aiter.QuantType.No"),
    ],
)
def test_attributes(scan_host, source, path):
    assert path in seen(scan_host(source), "attribute")


@pytest.mark.parametrize(
    "source",
    [
        "from aiter.fused_moe import fused_moe\nfused_moe(x, gate_mode=g)",
        "from aiter.fused_moe import fused_moe as f\ng = f\ng(x, gate_mode=g)",
        "from aiter.fused_moe import fused_moe\nextra = {'gate_mode': g}\nfused_moe(x, **extra)",
        "from aiter.fused_moe import fused_moe\nextra = dict(gate_mode=g)\nfused_moe(x, **extra)",
        "from aiter.fused_moe import fused_moe\nextra = {}\nif a:\n    extra['gate_mode'] = g\nfused_moe(x, **extra)",
        "from aiter.fused_moe import fused_moe\nextra = {}\nextra.update(gate_mode=g)\nfused_moe(x, **extra)",
        "from aiter.fused_moe import fused_moe\nextra = {}\nextra.update({'gate_mode': g})\nfused_moe(x, **extra)",
        "from aiter.fused_moe import fused_moe\nextra = {}\nextra |= {'gate_mode': g}\nfused_moe(x, **extra)",
        "from aiter.fused_moe import fused_moe\nextra = {}\nextra.setdefault('gate_mode', g)\nfused_moe(x, **extra)",
        "from aiter.fused_moe import fused_moe\nfused_moe(x, **{'gate_mode': g})",
        "from aiter.fused_moe import fused_moe\na = {'gate_mode': g}\nb = {**a}\nfused_moe(x, **b)",
        "import functools\nfrom aiter.fused_moe import fused_moe\nfunctools.partial(fused_moe, gate_mode=g)(x)",
        "from aiter.fused_moe import fused_moe\ndef run(f):\n    f(x, gate_mode=g)\nrun(fused_moe)",
        "from aiter.fused_moe import fused_moe\nclass A:\n    def __init__(self):\n        self.f = fused_moe\n"
        "    def go(self):\n        self.f(x, gate_mode=g)",
        "from aiter.fused_moe import fused_moe\nclass A:\n    op = staticmethod(fused_moe)\n    def go(self):\n"
        "        self.op(x, gate_mode=g)",
        "def get():\n    from aiter.fused_moe import fused_moe\n    return fused_moe\nget()(x, gate_mode=g)",
        "f = None\ndef get():\n    global f\n    from aiter.fused_moe import fused_moe\n    f = fused_moe\n"
        "def go():\n    f(x, gate_mode=g)",
        "from aiter.fused_moe import fused_moe\ntable = {'moe': fused_moe}\ntable['moe'](x, gate_mode=g)",
        "from aiter.fused_moe import fused_moe\nf = fused_moe if a else None\nf(x, gate_mode=g)",
        "from aiter.fused_moe import fused_moe\nfor f in [fused_moe]:\n    f(x, gate_mode=g)",
        "from aiter.fused_moe import fused_moe\ndef moe(*args, **keywords):\n    return fused_moe(*args, **keywords)\n"
        "moe(x, gate_mode=g)",
        "from aiter.fused_moe import fused_moe\ndef moe(f, x, **keywords):\n    return f(x, **keywords)\n"
        "moe(fused_moe, x, gate_mode=g)",
        "from aiter.fused_moe import fused_moe\ndef moe(x, extra):\n    return fused_moe(x, **extra)\n"
        "moe(x, {'gate_mode': g})",
        "from aiter.fused_moe import fused_moe\nclass Base:\n    op = staticmethod(fused_moe)\nclass A(Base):\n"
        "    def go(self):\n        self.op(x, gate_mode=g)",
        "def impl(x):\n    from aiter.fused_moe import fused_moe\n    return fused_moe(x, gate_mode=g)\n"
        "direct_register_custom_op(op_name='moe', op_func=impl)",
    ],
)
def test_keywords_that_a_call_may_pass(scan_host, source):
    assert keywords(scan_host(source)) == ["gate_mode"]


def test_a_wrapper_keeps_the_keywords_that_it_takes_itself(scan_host):
    source = (
        "from aiter.fused_moe import fused_moe\ndef moe(x, verbose=False, **keywords):\n"
        "    return fused_moe(x, **keywords)\nmoe(x, verbose=True, gate_mode=g)"
    )
    found = scan_host(source)
    assert keywords(found) == ["gate_mode"]
    (call,) = [use for use in found.files[0].uses if use.kind == "call"]
    assert [keyword.place.line for keyword in call.arguments.keywords] == [4]
    assert call.arguments.open


def test_the_keyword_stands_where_it_is_written(scan_host):
    source = (
        "from aiter.fused_moe import fused_moe\nextra = {}\nextra['beta'] = 1\n"
        "fused_moe(\n    x,\n    gate_mode=g,\n    **extra)"
    )
    (call,) = [use for use in scan_host(source).files[0].uses if use.kind == "call"]
    places = {keyword.name: (keyword.place.line, keyword.place.item_line) for keyword in call.arguments.keywords}
    assert places == {"gate_mode": (4, 6), "beta": (3, 3)}


@pytest.mark.parametrize(
    "source",
    [
        "import aiter_compat\naiter_compat.fused_moe(x)",
        "from .aiter import thing",
        "aiter = object()\naiter.nothing",
        "def f(aiter):\n    return aiter.nothing",
        "import torch as aiter\naiter.nothing",
        "from aiter_utils import helper",
        "text = 'from aiter import nothing'",
        "# import aiter",
    ],
)
def test_what_only_looks_like_aiter_is_not(scan_host, source):
    assert [use for file in scan_host(source).files for use in file.uses] == []


def test_setting_an_attribute_does_not_ask_for_it(scan_host):
    assert MOE not in seen(scan_host("import aiter.fused_moe as fm\nfm.fused_moe = patched"), "attribute")


@pytest.mark.parametrize(
    ("source", "scope"),
    [
        ("from aiter import a", "module"),
        ("class A:\n    from aiter import a", "module"),
        ("if flag:\n    from aiter import a", "module"),
        ("def f():\n    from aiter import a", "function"),
        ("class A:\n    def f(self):\n        from aiter import a", "function"),
        ("async def f():\n    from aiter import a", "function"),
    ],
)
def test_scope(scan_host, source, scope):
    assert [use.place.scope for use in scan_host(source).files[0].uses] == [scope]
