"""What AITER's source at a tag says, read with git and ast alone.

Made to check `aiter-compat matrix` by other means, so it shares no code with aiter_compat: no release record, no probe.
It answers as Python's import system would, as far as files tell: names under `if` and `try` at module level count as
there, whatever the condition.
"""

from __future__ import annotations

import ast
import re
import subprocess
from collections.abc import Iterator
from functools import cached_property
from typing import NamedTuple


class Found(NamedTuple):
    """What a dotted path leads to.

    Attributes:
        kind: "module", "function", "class" or "variable".
        module: dotted name of the module itself, or of the one that defines it.
        nodes: definitions of a function or class, more than one when they stand under conditions.
        rest: what follows it in the path.
    """

    kind: str
    module: str
    nodes: tuple[ast.AST, ...] = ()
    rest: tuple[str, ...] = ()


class Checkout:
    """A git directory of AITER, read through one git process that ends with the `with` block.

    Args:
        folder: the git directory, or a work tree.
    """

    def __init__(self, folder: str) -> None:
        self._git = ["git", "-C", folder]
        command = [*self._git, "cat-file", "--batch"]
        self._batch = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def __enter__(self) -> Checkout:
        return self

    def __exit__(self, *error: object) -> None:
        self._batch.communicate()

    def names(self, tag: str) -> frozenset[str]:
        """Every file of the tag."""
        command = [*self._git, "ls-tree", "-r", "--name-only", tag, "aiter/", "csrc/include/"]
        return frozenset(subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines())

    def text(self, tag: str, path: str) -> str:
        """The content of a file of the tag."""
        pipe_in, pipe_out = self._batch.stdin, self._batch.stdout
        assert pipe_in is not None
        assert pipe_out is not None
        pipe_in.write(f"{tag}:{path}\n".encode())
        pipe_in.flush()
        header = pipe_out.readline().split()
        if len(header) != 3:
            raise FileNotFoundError(f"{tag}:{path}")
        content = pipe_out.read(int(header[2]))
        pipe_out.read(1)
        return content.decode("utf-8", "replace")

    def at(self, release: str) -> Source:
        """The source of a release."""
        return Source(self, f"v{release}")


class Source:
    """The source of one tag.

    Args:
        checkout: where it is.
        tag: such as v0.1.14.
    """

    def __init__(self, checkout: Checkout, tag: str) -> None:
        self._checkout = checkout
        self.tag = tag
        self._files = checkout.names(tag)
        self._folders = {path.rpartition("/")[0] for path in self._files if path.endswith(".py")}
        self._folders |= {"/".join(folder.split("/")[:size]) for folder in self._folders for size in range(1, 9)}
        self._trees: dict[str, ast.Module] = {}
        self._attributes: dict[tuple[str, str], Found | None] = {}

    # Modules

    def file_of(self, module: str) -> str | None:
        """The file of a module, "" for a folder without one, None when there is none."""
        path = module.replace(".", "/")
        for candidate in (f"{path}/__init__.py", f"{path}.py"):
            if candidate in self._files:
                return candidate
        return "" if path in self._folders else None

    def module(self, name: str) -> str | None:
        """The module that `import name` ends at, old names of Triton modules followed; None when it fails."""
        current, *rest = name.split(".")
        for part in rest:
            inner = f"{current}.{part}"
            if self.file_of(inner) is None and current == "aiter.ops.triton" and part in self._old_names:
                inner = f"{current}.{self._old_names[part]}"
            if self.file_of(inner) is None:
                return None
            current = inner
        return current if self.file_of(current) is not None else None

    @cached_property
    def _old_names(self) -> dict[str, str]:
        """Module names that the finder in aiter/ops/triton/__init__.py still serves."""
        path = self.file_of("aiter.ops.triton")
        text = self._checkout.text(self.tag, path) if path else ""
        return dict(re.findall(r'"(\w+)"\s*:\s*"([\w.]+)"', text)) if "meta_path" in text else {}

    def _tree(self, module: str) -> ast.Module:
        if module not in self._trees:
            self._trees[module] = ast.parse(self._text(module))
        return self._trees[module]

    def _text(self, module: str) -> str:
        path = self.file_of(module)
        return self._checkout.text(self.tag, path) if path else ""

    # Names

    def attribute(self, module: str, name: str, seen: frozenset[tuple[str, str]] = frozenset()) -> Found | None:
        """What `from module import name` gives; None when it fails."""
        if (module, name) in seen:
            return None
        key = module, name
        if key not in self._attributes or seen:
            found = self._bound(module, name, seen | {key}) or self._inner(module, name) or self._lazy(module, name)
            if seen:
                return found
            self._attributes[key] = found
        return self._attributes[key]

    def _inner(self, module: str, name: str) -> Found | None:
        inner = self.module(f"{module}.{name}")
        return None if inner is None else Found("module", inner)

    def _lazy(self, module: str, name: str) -> Found | None:
        text = self._text(module)
        named = "def __getattr__" in text and re.search(rf"['\"]{re.escape(name)}['\"]", text)
        return Found("variable", module) if named else None

    def _bound(self, module: str, name: str, seen: frozenset[tuple[str, str]]) -> Found | None:
        definitions: list[ast.AST] = []
        found: Found | None = None
        for statement in _top_level(self._tree(module).body):
            if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                if statement.name == name:
                    definitions.append(statement)
                continue
            given = self._given(statement, module, name, seen)
            found = given or found
        if definitions:
            kind = "class" if isinstance(definitions[-1], ast.ClassDef) else "function"
            return Found(kind, module, tuple(definitions))
        return found

    def _given(self, statement: ast.stmt, module: str, name: str, seen: frozenset[tuple[str, str]]) -> Found | None:
        if isinstance(statement, ast.ImportFrom):
            return self._imported(statement, module, name, seen)
        if isinstance(statement, ast.Import):
            for alias in statement.names:
                if (alias.asname or alias.name.partition(".")[0]) == name:
                    real = self.module(alias.name if alias.asname else name)
                    return Found("module", real) if real else Found("variable", module)
        if isinstance(statement, (ast.Assign, ast.AnnAssign, ast.AugAssign, ast.With, ast.For)):
            stored = {node.id for node in ast.walk(statement) if isinstance(node, ast.Name) and _is_stored(node)}
            if name in stored:
                return Found("variable", module)
        return None

    def _imported(
        self, statement: ast.ImportFrom, module: str, name: str, seen: frozenset[tuple[str, str]]
    ) -> Found | None:
        source = self._absolute(statement, module)
        for alias in statement.names:
            if alias.name == "*":
                real = self.module(source) if source.partition(".")[0] == "aiter" else None
                if real is not None and self._star_gives(real, name):
                    found = self._bound(real, name, seen | {(real, name)}) if (real, name) not in seen else None
                    if found is not None:
                        return found
            elif (alias.asname or alias.name) == name:
                if source.partition(".")[0] != "aiter":
                    return Found("variable", module)
                real = self.module(source)
                found = None if real is None else self.attribute(real, alias.name, seen)
                if found is not None:
                    return found
        return None

    def _star_gives(self, module: str, name: str) -> bool:
        for statement in _top_level(self._tree(module).body):
            if isinstance(statement, ast.Assign) and any(
                getattr(one, "id", "") == "__all__" for one in statement.targets
            ):
                listed = [node.value for node in ast.walk(statement.value) if isinstance(node, ast.Constant)]
                return not isinstance(statement.value, (ast.List, ast.Tuple)) or name in listed
        return not name.startswith("_")

    def _absolute(self, statement: ast.ImportFrom, module: str) -> str:
        if not statement.level:
            return statement.module or ""
        path = self.file_of(module) or ""
        parts = module.split(".") if path.endswith("__init__.py") or not path else module.split(".")[:-1]
        parts = parts[: len(parts) - statement.level + 1]
        return ".".join([*parts, *([statement.module] if statement.module else [])])

    # Paths

    def path(self, path: str) -> Found | None:
        """What the attribute access `path` leads to; None when something along it is missing."""
        parts = path.split(".")
        current = Found("module", parts[0])
        for position, part in enumerate(parts[1:], 1):
            if current.kind != "module":
                return current._replace(rest=tuple(parts[position:]))
            found = self.attribute(current.module, part)
            if found is None:
                return None
            current = found
        return current

    def lacks_import(self, module: str, name: str | None) -> bool:
        """Whether `import module` or `from module import name` fails."""
        real = self.module(module)
        return real is None or (name is not None and self.attribute(real, name) is None)

    def lacks_member(self, enum: str, member: str) -> bool | None:
        """Whether the enum at `enum` has no such member; None when it is no enum that a file states."""
        found = self.path(enum)
        if found is None:
            return None
        if found.kind == "class":
            stored = {getattr(target, "id", "") for node in found.nodes for target in _targets(node)}
            return member not in stored
        stated = self._compiled_enums.get(enum.rpartition(".")[2])
        return None if stated is None else member not in stated

    @cached_property
    def _compiled_enums(self) -> dict[str, frozenset[str]]:
        path = "csrc/include/aiter_enum.h"
        text = self._checkout.text(self.tag, path) if path in self._files else ""
        text = re.sub(r"//[^\n]*|/\*.*?\*/", "", text, flags=re.S)
        return {
            name: frozenset(re.findall(r"(\w+)\s*(?:=[^,}]*)?(?:,|$)", body.strip()))
            for name, body in re.findall(r"enum\s+(?:class\s+)?(\w+)[^{;]*\{([^}]*)\}", text)
        }

    def signatures(self, path: str) -> list[ast.arguments] | None:
        """The parameters of every definition of the function (of a class: of `__init__`) at `path`; None: not known."""
        found = self.path(path)
        if found is None or found.rest or found.kind not in ("function", "class"):
            return None
        if found.kind == "function":
            return [node.args for node in found.nodes if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))]
        made = [node for one in found.nodes if isinstance(one, ast.ClassDef) for node in one.body]
        return [node.args for node in made if isinstance(node, ast.FunctionDef) and node.name == "__init__"] or None

    def lacks_keyword(self, path: str, keyword: str) -> bool | None:
        """Whether no definition of the function takes the keyword; None when its parameters are not known."""
        signatures = self.signatures(path)
        return None if signatures is None else not any(takes(one, keyword) for one in signatures)


def takes(arguments: ast.arguments, keyword: str) -> bool:
    """Whether a function with these parameters can be called with the keyword."""
    return arguments.kwarg is not None or keyword in {one.arg for one in [*arguments.args, *arguments.kwonlyargs]}


def _top_level(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    for statement in body:
        yield statement
        if not isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            for name in ("body", "orelse", "finalbody"):
                yield from _top_level(getattr(statement, name, []))
            for handler in getattr(statement, "handlers", []):
                yield from _top_level(handler.body)


def _targets(node: ast.AST) -> Iterator[ast.expr]:
    for statement in getattr(node, "body", []):
        if isinstance(statement, ast.Assign):
            yield from statement.targets
        elif isinstance(statement, ast.AnnAssign):
            yield statement.target


def _is_stored(node: ast.Name) -> bool:
    return isinstance(node.ctx, ast.Store)
