"""Findings as text, JSON, GitHub annotations and SARIF."""

import json

from aiter_compat.checker.finding import Finding
from aiter_compat.checker.formats import FORMATS

FOUND = [
    Finding("missing-keyword", "aiter.f(k)", "a b/c.py", 7, "f() takes no k, 100%", "Do\nthis.", ("0.1.13", "0.1.14")),
    Finding("probe", "aiter.g", "d.py", 1, "m", "r", tuple(f"0.1.{i}" for i in range(9))),
]


def test_text():
    lines = FORMATS["text"](FOUND).splitlines()
    assert lines[0] == "a b/c.py:7: missing-keyword aiter.f(k): f() takes no k, 100% [0.1.13, 0.1.14]"
    assert "0.1.0 … 0.1.8, 9 releases" in lines[3]
    assert lines[-1] == "2 findings."
    assert FORMATS["text"]([]) == "0 findings.\n"


def test_json():
    document = json.loads(FORMATS["json"](FOUND))
    assert document["schema"] == 1
    assert document["findings"][0] == FOUND[0].to_dict()


def test_github_escapes_what_would_end_a_command():
    first = FORMATS["github"]([FOUND[0]])
    assert first.count("\n") == 1
    assert first.startswith("::error file=a b/c.py,line=7,title=missing-keyword::f() takes no k, 100%25 [")
    assert "Do%0Athis." in first
    odd = FORMATS["github"]([Finding("c", "s", "a:b,c.py", 1, "m", "r", ("0.1.1",))])
    assert "file=a%3Ab%2Cc.py," in odd


def test_sarif_rules_and_results_fit_together():
    log = json.loads(FORMATS["sarif"](FOUND))
    (run,) = log["runs"]
    assert log["version"] == "2.1.0"
    rules = [rule["id"] for rule in run["tool"]["driver"]["rules"]]
    for result, finding in zip(run["results"], FOUND, strict=True):
        assert rules[result["ruleIndex"]] == result["ruleId"] == finding.code
        place = result["locations"][0]["physicalLocation"]
        assert place["region"] == {"startLine": finding.line}
        assert " " not in place["artifactLocation"]["uri"]
