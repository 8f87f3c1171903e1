"""The matrix as JSON, text and HTML."""

import json
from html.parser import HTMLParser

import pytest

from aiter_compat.checker.matrix_html import as_html
from aiter_compat.checker.matrix_text import as_text
from aiter_compat.errors import RecordError

HOST = {
    "a.py": "from aiter.ops.flydsl.moe_common import GateMode",
    "b.py": "def f():\n    from aiter import ActivationType\n    return getattr(ActivationType, 'Situv2', None)",
}


def test_json_has_the_documented_form(matrix_of):
    document = json.loads(json.dumps(matrix_of(HOST, "0.1.14", "0.1.13").to_dict()))
    assert list(document) == ["schema", "releases", "findings"]
    assert (document["schema"], document["releases"]) == (1, ["0.1.13", "0.1.14"])
    first = document["findings"][0]
    assert {key: first[key] for key in first if key != "message"} == {
        "release": "0.1.13",
        "kind": "missing-module",
        "symbol": "aiter.ops.flydsl.moe_common.GateMode",
        "file": "a.py",
        "line": 1,
        "scope": "module",
        "guarded": False,
    }
    assert {(row["release"], row["guarded"]) for row in document["findings"] if row["file"] == "b.py"} == {
        ("0.1.13", True),
        ("0.1.14", True),
    }


def test_a_release_means_that_very_tag(matrix_of):
    assert matrix_of(HOST, "0.1.15", "0.1.15.post3").releases == ("0.1.15", "0.1.15.post3")


def test_an_unknown_release_names_those_that_are_recorded(matrix_of):
    with pytest.raises(RecordError, match=r"0\.1\.20\.post1"):
        matrix_of(HOST, "9.9")


def rows(text):
    """Owner and name -> cells."""
    found, owner = {}, ""
    for line in text.partition("\n\n")[0].splitlines():
        if line.startswith("aiter"):
            owner = line
        elif owner:
            found[owner, line.split()[0]] = line.split()[1]
    return found


def test_text_shows_symbols_against_releases_below_their_module(matrix_of):
    text = as_text(matrix_of(HOST, "0.1.13", "0.1.14"))
    assert rows(text) == {
        ("aiter.ActivationType", "Situv2"): "gg",
        ("aiter.ops.flydsl.moe_common", "GateMode"): "M.",
    }
    lines = text.splitlines()
    assert [line.strip() for line in lines[:6]] == ["00", "..", "11", "..", "11", "34"]
    assert "a.py:1: missing-module aiter.ops.flydsl.moe_common.GateMode (module) in 0.1.13" in lines
    assert not any(line.startswith("b.py") for line in lines)


def test_text_tells_what_cannot_be_missing_yet(matrix_of):
    source = "def f():\n    from aiter import topk_gating\n    topk_gating(x, g, 1, num_shared_experts=1)"
    found = rows(as_text(matrix_of(source, "0.1.13", "0.1.14")))
    assert found == {("aiter", "topk_gating"): "F.", ("aiter", "topk_gating(num_shared_experts)"): "-F"}


def test_text_names_every_module_once(matrix_of):
    source = "import aiter\naiter.a_name, aiter.ops.b_name, aiter.c_name"
    lines = as_text(matrix_of(source, "0.1.13")).partition("\n\n")[0].splitlines()
    assert [line for line in lines if line.startswith("aiter")] == ["aiter", "aiter.ops"]


def test_text_puts_a_long_name_on_a_line_of_its_own(matrix_of):
    name = "a_name_" * 12
    lines = as_text(matrix_of(f"import aiter\naiter.{name}\naiter.short", "0.1.13")).splitlines()
    assert lines[lines.index(f"  {name}") + 1].strip() == "M"


def test_text_when_nothing_is_missing(matrix_of):
    assert as_text(matrix_of("import aiter", "0.1.13", "0.1.14")).startswith("Nothing that ")


class Page(HTMLParser):
    def __init__(self):
        super().__init__()
        self.tags, self.links, self.classes = [], [], []

    def handle_starttag(self, tag, attributes):
        named = dict(attributes)
        self.tags.append(tag)
        self.links += [named[name] for name in ("src", "href") if name in named]
        self.classes += [named["class"]] if tag == "td" and "class" in named else []


def test_html_needs_nothing_else(matrix_of):
    page = Page()
    page.feed(as_html(matrix_of(HOST, "0.1.13", "0.1.14")))
    assert page.links == []
    assert page.tags.count("tr") == 3
    assert page.classes == ["g", "g", "M", "there"]


def test_html_escapes_what_a_host_writes(matrix_of):
    page = as_html(matrix_of({"<b>&.py": HOST["a.py"]}, "0.1.13"))
    assert "<b>" not in page
    assert "&lt;b&gt;&amp;.py:1" in page
