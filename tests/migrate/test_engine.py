"""Bytes outside an edit stay as they are, and no source makes the engine fail."""

import ast
import sysconfig
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip("libcst", reason="the extra migrate is not installed")

from aiter_compat import migrations
from aiter_compat.migrate.engine import rewrite
from aiter_compat.migrate.outcome import Rewritten, Unreadable, Untouched
from aiter_compat.migrate.plan import ShimPlan

SHIM = ShimPlan.of(migrations.discover())
IMPORT = b"from aiter import QuantType"
REPLACED = b"from aiter_compat import QuantType"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (b"\r\nfrom aiter import QuantType\r\nx = 1\r\n", b"\r\nfrom aiter_compat import QuantType\r\nx = 1\r\n"),
        (b"\xef\xbb\xbffrom aiter import QuantType\n", b"\xef\xbb\xbffrom aiter_compat import QuantType\n"),
        (
            b"# coding: latin-1\n# \xe9\nfrom aiter import QuantType\n",
            b"# coding: latin-1\n# \xe9\nfrom aiter_compat import QuantType\n",
        ),
        (b"from aiter import QuantType", b"from aiter_compat import QuantType"),
        (b"from aiter import QuantType\n\n\n\n", b"from aiter_compat import QuantType\n\n\n\n"),
        (
            b"if x:\n\tfrom aiter import QuantType\n\ty =  1\n",
            b"if x:\n\tfrom aiter_compat import QuantType\n\ty =  1\n",
        ),
        (b"from  aiter  import  QuantType  \n", b"from  aiter_compat  import  QuantType  \n"),
        (
            b"from aiter import QuantType, dtypes\r\n",
            b"from aiter import dtypes\r\nfrom aiter_compat import QuantType\r\n",
        ),
        (
            b"from aiter import \\\n    QuantType  # why\nx = [1,\n  2]\n",
            b"from aiter_compat import \\\n    QuantType  # why\nx = [1,\n  2]\n",
        ),
        (b"x = 'a\\\nb'; from aiter import QuantType\n", b"x = 'a\\\nb'; from aiter_compat import QuantType\n"),
    ],
)
def test_form_survives(rewritten, before, after):
    found = rewritten(before)
    assert isinstance(found, Rewritten)
    assert found.after == after


@pytest.mark.parametrize(
    "source",
    [
        b"import aiter\nif:\n",
        b"# coding: none\nimport aiter",
        b"# coding: rot13\nimport aiter",
        b"import aiter\nx = '\xff'\n",
        b"import aiter\nx = '\0'\n",
        b"print 'aiter'\n",
        b"\x0c" + IMPORT + b"\n",  # LibCST drops the form feed
        IMPORT + b"\rx = 1\r",
        IMPORT + b"\nx = " + b"(" * 3000 + b"1" + b")" * 3000 + b"\n",
        IMPORT + b"\nx = " + b"1 + " * 700 + b"1\n",
    ],
)
def test_what_cannot_be_read_is_left_alone_with_the_reason(rewritten, source):
    found = rewritten(source)
    assert isinstance(found, Unreadable)
    assert found.reason


LINES = st.sampled_from(
    [
        "import aiter",
        "import aiter as a, os",
        "import aiter.fused_moe",
        "from aiter import (QuantType, dtypes)",
        "from aiter import (\n    QuantType,  # one\n    # two\n    dtypes,\n)",
        "from aiter.fused_moe import fused_moe as fm",
        "x = aiter.QuantType.No",
        "y = a.ActivationType",
        "fm(x, *y)",
        "fm(x, dtype=y)",
        "def f(aiter=aiter): return aiter.QuantType",
        "class A: from aiter import QuantType",
        "del aiter",
        "try: import aiter\nexcept ImportError: pass",
        "for QuantType in x: pass",
        "print(f'{aiter.QuantType!r:>{aiter}}')",
        "lambda: aiter.fused_moe.fused_moe(1)",
        "x: aiter.QuantType = 1; import aiter",
        "with aiter.x as aiter.QuantType: pass",
        "global QuantType",
        "__all__ = ['aiter', 'QuantType']",
    ]
)
PLAIN = st.sampled_from(
    [
        "import os, sys  # aiter",
        "x = aiter.nothing",
        "from aiter import dtypes",
        "from .aiter import QuantType",
        "async def aiter(): pass",
        "'''from aiter import QuantType'''",
        "@aiter\nclass QuantType: fused_moe = 1",
        "match x:\n  case aiter.QuantType: pass",
        "x = (yield)",
        "\tx",
        "",
    ]
)


@settings(max_examples=40, deadline=None)
@given(st.lists(LINES, max_size=8))
def test_any_mixture_is_rewritten_to_python_and_only_once(lines):
    source = "\n".join(lines).encode()
    found = rewrite(source, "host.py", SHIM)
    if isinstance(found, Rewritten):
        ast.parse(found.after)
        assert isinstance(rewrite(found.after, "host.py", SHIM), Untouched)


@settings(max_examples=60, deadline=None)
@given(st.lists(PLAIN, max_size=8))
def test_where_no_rule_applies_nothing_changes(lines):
    assert not isinstance(rewrite("\n".join(lines).encode(), "host.py", SHIM), Rewritten)


@settings(max_examples=60, deadline=None)
@given(st.binary(max_size=40) | st.text(max_size=40).map(lambda text: text.encode(errors="surrogatepass")))
def test_any_bytes_behind_an_import_are_kept_or_refused(rest):
    found = rewrite(IMPORT + b"\n" + rest, "host.py", SHIM)
    assert isinstance(found, Unreadable) or found.after == REPLACED + b"\n" + rest


STANDARD_LIBRARY = sorted(Path(sysconfig.get_paths()["stdlib"]).glob("*.py"))


def test_the_standard_library_is_not_changed():
    for path in STANDARD_LIBRARY[::6]:
        assert rewrite(path.read_bytes(), path.name, SHIM) == Untouched(path.name), path


def test_one_line_is_changed_in_files_of_the_standard_library():
    """The same files with something to rewrite, so that they go all the way through the engine."""
    small = [path for path in STANDARD_LIBRARY if path.stat().st_size < 4_000]
    for path in small[::5]:
        content = path.read_bytes()
        if content.endswith(b"\n"):
            found = rewrite(content + IMPORT + b"\n", path.name, SHIM)
            assert isinstance(found, Unreadable) or found.after == content + REPLACED + b"\n", path
