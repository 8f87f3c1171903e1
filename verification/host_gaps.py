"""Check the findings of `aiter-compat matrix`, and what it does not report, against AITER's own source.

    python -m verification.host_gaps --aiter PATH/TO/aiter.git --host PATH/TO/unzipped/host [--seeds 1,2,3]

For each seed it draws findings and pairs of a use and a release that were not reported, and decides each of them anew
by other means (`aiter_source`, `host_source`). Disagreements are printed; the exit code is 1 when there are any. Every
pair of which this script can say nothing is drawn again, so that the numbers count decisions.
"""

from __future__ import annotations

import argparse
import ast
import json
import random
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from verification.aiter_source import Checkout, Source
from verification.host_source import Asked, Host, HostFile

_SURVIVED = {
    "missing-module": {"ImportError", "ModuleNotFoundError", "Exception", "BaseException", "*"},
    "missing-symbol": {"ImportError", "AttributeError", "Exception", "BaseException", "*"},
    "missing-keyword": {"TypeError", "Exception", "BaseException", "*"},
    "missing-enum-member": {"AttributeError", "KeyError", "Exception", "BaseException", "*"},
    "changed-meaning": {"TypeError", "Exception", "BaseException", "*"},
}
_TAKEN_BY_THE_WRAPPER = "custom_build_args"  # of AITER's compiled operators, beside the operator's own parameters

Finding = Mapping[str, Any]


class Check:
    """A host, its findings, and AITER's source.

    Args:
        checkout: AITER.
        host: the tree that was checked.
        document: what `aiter-compat matrix --json` printed.
    """

    def __init__(self, checkout: Checkout, host: Host, document: Mapping[str, Any]) -> None:
        self._checkout = checkout
        self._host = host
        self._releases: list[str] = document["releases"]
        self._findings: list[Finding] = document["findings"]
        self._reported: dict[tuple[str, str], list[Finding]] = defaultdict(list)
        for finding in self._findings:
            self._reported[finding["file"], finding["release"]].append(finding)
        self._asked = [(name, asked) for name in host.names() for asked in host.file(name).asked()]

    def samples(self, seeds: Iterable[int], size: int) -> dict[int, list[str]]:
        """Seed -> disagreements among `size` findings and `size` pairs that were not reported.

        Release by release for all seeds together, so that the source of one release is held at a time.
        """
        findings: dict[str, list[tuple[int, Finding]]] = defaultdict(list)
        others: dict[str, list[tuple[int, random.Random]]] = defaultdict(list)
        found: dict[int, list[str]] = {}
        for seed in seeds:
            chance = random.Random(seed)
            found[seed] = []
            for finding in chance.sample(self._findings, min(size, len(self._findings))):
                findings[finding["release"]].append((seed, finding))
            for release in chance.choices(self._releases, k=size):
                others[release].append((seed, chance))
        for release in self._releases:
            source = self._checkout.at(release)
            for seed, finding in findings[release]:
                found[seed] += self.wrong(source, finding)
            for seed, chance in others[release]:
                found[seed] += self._other(source, release, chance)
        return found

    def _other(self, source: Source, release: str, chance: random.Random) -> list[str]:
        while True:
            verdict = self.missed(source, *chance.choice(self._asked), release)
            if verdict is not None:
                return verdict

    # Findings

    def wrong(self, source: Source, finding: Finding) -> Iterator[str]:
        """What is not true of a finding."""
        what = f"{finding['release']} {finding['kind']} {finding['symbol']} {finding['file']}:{finding['line']}"
        nodes = self._file(finding).nodes_at.get(finding["line"], [])
        if not nodes:
            yield f"{what}: nothing begins at this line"
            return
        if _is_missing(source, finding, nodes) is False:
            yield f"{what}: the release has it"
        scopes = {"function" if self._file(finding).is_in_function(node) else "module" for node in nodes}
        if finding["scope"] not in scopes:
            yield f"{what}: the scope is {scopes}"
        if not any(_names_it(self._file(finding), node, finding) for node in nodes):
            yield f"{what}: the host does not name it there"
        caught = set.intersection(*(self._file(finding).catchers(node) for node in nodes))
        if not finding["guarded"] and caught & _SURVIVED[finding["kind"]]:
            yield f"{what}: {sorted(caught)} are caught, and yet it is bare"

    def _file(self, finding: Finding) -> HostFile:
        return self._host.file(finding["file"])

    # What was not reported

    def missed(self, source: Source, name: str, asked: Asked, release: str) -> list[str] | None:
        """What should have been reported; None when it was, or when this script cannot tell."""
        symbols = {
            finding["symbol"]
            for finding in self._reported[name, release]
            if asked.first <= finding["line"] <= asked.last
        }
        if (f"{asked.path}({asked.keyword})" if asked.keyword else asked.path) in symbols:
            return None
        if asked.base and _is_gone(source, asked.base):
            return None  # its import is reported instead
        lacks = _lacks(source, asked)
        if lacks is None:
            return None
        if lacks and any(asked.path.startswith(symbol) for symbol in symbols):
            return None  # reported for a part of the path
        return [f"{release} {asked} {name}: is missing, and was not reported"] if lacks else []


def _is_gone(source: Source, path: str) -> bool:
    module, _, name = path.rpartition(".")
    if not module:
        return source.module(path) is None
    return source.lacks_import(module, name) and source.module(path) is None


def _lacks(source: Source, asked: Asked) -> bool | None:
    if asked.kind == "import":
        if asked.module == asked.path:
            return source.lacks_import(asked.path, None)
        return source.lacks_import(asked.module, asked.path.rpartition(".")[2])
    if asked.kind == "keyword":
        return None if asked.keyword == _TAKEN_BY_THE_WRAPPER else source.lacks_keyword(asked.path, asked.keyword)
    found = source.path(asked.path)
    if found is None:
        return not asked.path.rpartition(".")[2].startswith("__")
    if not found.rest:
        return False
    enum = asked.path.rsplit(".", len(found.rest))[0]
    return source.lacks_member(enum, found.rest[0]) if not found.rest[0].startswith("_") else None


def _is_missing(source: Source, finding: Finding, nodes: Iterable[ast.AST]) -> bool | None:
    symbol = finding["symbol"]
    if finding["kind"] == "missing-keyword":
        path, _, keyword = symbol.removesuffix(")").partition("(")
        return source.lacks_keyword(path, keyword)
    if finding["kind"] == "missing-enum-member":
        enum, _, member = symbol.rpartition(".")
        return source.lacks_member(enum, member)
    if finding["kind"] == "changed-meaning":
        return _does_not_fit(source, symbol, nodes)
    module, _, name = symbol.rpartition(".")
    if finding["kind"] == "missing-module":
        return (source.module(symbol) is None and source.module(module) is None) or source.lacks_import(symbol, None)
    return source.lacks_import(module, name) if source.module(module) else source.path(symbol) is None


def _does_not_fit(source: Source, path: str, nodes: Iterable[ast.AST]) -> bool | None:
    """Whether a call at a place cannot be bound to the function; None when that cannot be told."""
    calls = [node for node in nodes if isinstance(node, ast.Call)]
    named = [call for call in calls if _last_name(call.func) == path.rpartition(".")[2]]
    signatures = source.signatures(path)
    if signatures is None or not calls:
        return None
    return any(not any(_fits(one, call) for one in signatures) for call in named or calls)


def _last_name(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")


def _fits(arguments: ast.arguments, call: ast.Call) -> bool:
    """Whether the call, as far as it is written out, can be bound to the parameters."""
    places = [*arguments.posonlyargs, *arguments.args]
    starred = any(isinstance(one, ast.Starred) for one in call.args)
    given = [one for one in call.args if not isinstance(one, ast.Starred)]
    if len(given) > len(places) and arguments.vararg is None:
        return False
    named = {one.arg for one in call.keywords}
    if not starred and named & {one.arg for one in places[: len(given)]}:
        return False
    if starred or None in named:
        return True
    needed = places[len(given) : len(places) - len(arguments.defaults)]
    needed += [one for one, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True) if default is None]
    return all(one.arg in named for one in needed)


def _names_it(file: HostFile, node: ast.AST, finding: Finding) -> bool:
    """Whether the text of a node has the name or keyword, or the call that is given a dictionary with it."""
    text = ast.get_source_segment(file.text, node) or ""
    path, _, keyword = finding["symbol"].removesuffix(")").partition("(")
    name = keyword or path.rpartition(".")[2]
    if name in text or finding["kind"] == "changed-meaning":
        return True
    # A name that the host chose: `import … as f; f(…)`, `self._f(…)`, or a module named by a variable.
    return keyword == "" and ("import_module" in text or "find_spec" in text or isinstance(node, ast.Name))


def main() -> int:
    """Check, print, and say how it went."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--aiter", required=True, metavar="GIT", help="git directory of AITER with its tags")
    parser.add_argument("--host", required=True, type=Path, metavar="TREE", help="folder with the host's packages")
    parser.add_argument("--json", type=Path, metavar="FILE", help="output of `aiter-compat matrix TREE --json`")
    parser.add_argument("--seeds", default="1", metavar="A,B", help="seeds of the samples")
    parser.add_argument("--size", type=int, default=100, help="findings and non-findings in each sample")
    arguments = parser.parse_args()
    if arguments.json is not None:
        text = arguments.json.read_text(encoding="utf-8")
    else:
        command = [sys.executable, "-m", "aiter_compat", "matrix", str(arguments.host), "--json"]
        text = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False).stdout
    wrong: dict[str, None] = {}
    with Checkout(arguments.aiter) as checkout:
        check = Check(checkout, Host(arguments.host.resolve()), json.loads(text))
        for seed, found in check.samples(map(int, arguments.seeds.split(",")), arguments.size).items():
            wrong.update(dict.fromkeys(found))
            print(f"seed {seed}: {arguments.size} findings, {arguments.size} others, {len(found)} disagreements")
    for one in wrong:
        print(one)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
