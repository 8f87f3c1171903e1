"""Sources of AITER by release, for the tests that compare with the real thing, and a second reading of them."""

from __future__ import annotations

import ast
import io
import os
import subprocess
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest

PARTS = (":(glob)aiter/**/*.py", "csrc/include/aiter_enum.h", "csrc/include/mx_quant_utils.h")


@pytest.fixture(scope="session")
def aiter_tree(tmp_path_factory) -> Callable[[str], Path]:
    """Folder with the sources of a release, from `AITER_SOURCE`.

    That is a clone of ROCm/aiter with its tags (with or without a work tree), or the unpacked sources of one release in
    a folder of its name (`v0.1.14`), which then is the only one that is compared.
    """
    given = os.environ.get("AITER_SOURCE")

    def tree(release: str) -> Path:
        if given is None:
            pytest.skip("AITER_SOURCE names no clone of ROCm/aiter")
        source = Path(given).resolve()
        if source.name == f"v{release}" and (source / "aiter").is_dir():
            return source
        if not ((source / ".git").exists() or (source / "HEAD").is_file()):
            pytest.skip(f"{source} is not v{release}")
        listed = subprocess.run(
            ["git", "-C", source, "ls-tree", "-r", "--name-only", f"v{release}", "csrc/include"],
            check=True,
            capture_output=True,
            text=True,
        ).stdout.splitlines()
        parts = [part for part in PARTS if part.startswith(":") or part in listed]
        archive = subprocess.run(
            ["git", "-C", source, "archive", f"v{release}", *parts], check=True, capture_output=True
        ).stdout
        folder = tmp_path_factory.mktemp("aiter_source") / f"v{release}"
        with tarfile.open(fileobj=io.BytesIO(archive)) as members:
            members.extractall(folder, filter="data")
        return folder

    return tree


class Reading:
    """A second, plain reading of a source tree: every statement of a module is followed in its order.

    It shares no code with the package under test, keeps whole namespaces, and knows nothing of records or files left
    out. Paths are those of definitions.
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        self.spaces: dict[str, dict[str, str]] = {}
        self.old_names: dict[str, str] = {}
        self.old_names = self._old_names()

    def file(self, module: str) -> Path | None:
        stem = self.root.joinpath(*module.split("."))
        return next(
            (path for path in (stem / "__init__.py", stem.with_name(stem.name + ".py")) if path.is_file()), None
        )

    def is_module(self, module: str) -> bool:
        return self.file(module) is not None or self.root.joinpath(*module.split(".")).is_dir()

    def resolve(self, path: str) -> str | None:
        """Where an import of this path would find its object defined."""
        parts = path.split(".")
        module = parts[0]
        for part in parts[1:-1]:
            inner = self.old_names.get(f"{module}.{part}", f"{module}.{part}")
            if not self.is_module(inner):
                inner = self.space(module).get(part, "")
                if not self.is_module(inner):
                    return None
            module = inner
        return self.attribute(module, parts[-1])

    def attribute(self, module: str, name: str) -> str | None:
        found = self.space(module).get(name)
        if found is None:
            inner = self.old_names.get(f"{module}.{name}", f"{module}.{name}")
            found = inner if self.is_module(inner) else None
        return found

    def space(self, module: str) -> dict[str, str]:
        if module not in self.spaces:
            self.spaces[module] = {}
            path = self.file(module)
            if path is not None:
                package = module if path.name == "__init__.py" else module.rpartition(".")[0]
                self._run(ast.parse(path.read_bytes()).body, module, package, self.spaces[module])
        return self.spaces[module]

    def _run(self, body: list[ast.stmt], module: str, package: str, space: dict[str, str]) -> None:
        for node in body:
            if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
                space[node.name] = f"{module}.{node.name}"
                if node.name == "__getattr__":
                    self._lazy(node, module, space)
            elif isinstance(node, (ast.Assign, ast.AnnAssign)) and node.value is not None:
                targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                nothing = isinstance(node.value, ast.Constant) and node.value.value in (None, False)
                for target in targets:
                    for name in [part.id for part in ast.walk(target) if isinstance(part, ast.Name)]:
                        if not (nothing and name in space):
                            space[name] = f"{module}.{name}"
                    if isinstance(node.value, ast.Dict) and isinstance(target, ast.Name):
                        space[f"{target.id} table"] = ast.unparse(node.value)
            elif isinstance(node, ast.Import):
                space.update({one.asname: one.name for one in node.names if one.asname and one.name[:6] == "aiter."})
            elif isinstance(node, ast.ImportFrom):
                self._from(node, package, space)
            elif isinstance(node, ast.If):
                if "TYPE_CHECKING" not in ast.unparse(node.test) and "__main__" not in ast.unparse(node.test):
                    self._run(node.body, module, package, space)
                    self._otherwise(node.orelse, module, package, space)
            elif isinstance(node, ast.Try):
                self._run([*node.body, *node.orelse, *node.finalbody], module, package, space)
                for handler in node.handlers:
                    self._otherwise(handler.body, module, package, space)
            elif isinstance(node, ast.With):
                self._run(node.body, module, package, space)

    def _otherwise(self, body: list[ast.stmt], module: str, package: str, space: dict[str, str]) -> None:
        other: dict[str, str] = {}
        self._run(body, module, package, other)
        for name, path in other.items():
            space.setdefault(name, path)

    def _from(self, node: ast.ImportFrom, package: str, space: dict[str, str]) -> None:
        if node.level:
            parts = package.split(".")
            base = parts[: len(parts) + 1 - node.level]
            source = ".".join([*base, *([node.module] if node.module else [])])
        else:
            source = node.module or ""
        if source.partition(".")[0] != "aiter":
            return
        for one in node.names:
            if one.name == "*":
                space.update(self._public(source))
                continue
            found = self.attribute(source, one.name)
            if found is not None:
                space[one.asname or one.name] = found

    def _public(self, module: str) -> dict[str, str]:
        space, path = self.space(module), self.file(module)
        names = [name for name in space if not name.startswith("_") and " " not in name]
        for node in ast.parse(path.read_bytes()).body if path else ():
            if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__" and "[" in ast.unparse(node):
                names = [name for name in ast.literal_eval(node.value) if name in space]
        return {name: space[name] for name in names}

    def _lazy(self, node: ast.FunctionDef, module: str, space: dict[str, str]) -> None:
        tables = [
            name for name in space if name.endswith(" table") and name.removesuffix(" table") in ast.unparse(node)
        ]
        for table in tables:
            for key, value in zip(*self._items(space[table]), strict=True):
                submodule = f"{module}.{value}"
                space.setdefault(key, f"{submodule}.{key}" if "getattr(" in ast.unparse(node) else submodule)
        for constant in ast.walk(node):
            if isinstance(constant, ast.Compare):
                for part in ast.walk(constant.comparators[0]):
                    if isinstance(part, ast.Constant) and isinstance(part.value, str):
                        space.setdefault(part.value, f"{module}.{part.value}")

    @staticmethod
    def _items(text: str) -> tuple[list[str], list[str]]:
        table = ast.parse(text, mode="eval").body
        pairs = [
            (ast.literal_eval(key), ast.unparse(value).strip("'"))
            for key, value in zip(table.keys, table.values, strict=True)
        ]
        return [key for key, _ in pairs], [value for _, value in pairs]

    def _old_names(self) -> dict[str, str]:
        package = "aiter.ops.triton"
        found = {}
        for name, path in self.space(package).items():
            if path.startswith(f"{package}.") and self.is_module(path) and not self.is_module(f"{package}.{name}"):
                found[f"{package}.{name}"] = path
        self.spaces.clear()
        return found


@pytest.fixture(scope="session")
def read_source(aiter_tree) -> Callable[[str], Reading]:
    """The second reading of a release."""
    known: dict[str, Reading] = {}
    return lambda release: known.setdefault(release, Reading(aiter_tree(release)))
