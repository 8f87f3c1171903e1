"""Imports go down one table of layers only, and AITER is imported in one place."""

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

import aiter_compat

# Lowest first. A module may import from lower rows only; a package may import from itself. `backends` is told apart by
# its parts, and "aiter_compat" is the package's own __init__, through which hosts and the demo go as any user would.
LAYERS = (
    ("_version", "errors", "logs", "file_replacement"),
    ("settings", "warning_types", "layer_config", "migration_model", "migration_matching", "prepared_calls", "logs"),
    ("detect",),
    ("probe",),
    ("releases",),
    ("recorder", "native", "profiles"),
    ("features", "quirks", "layouts", "formats", "symbols", "hostscan"),
    ("enums",),
    ("padding", "adapters", "weights", "refreshing"),
    ("backends", "backends.moe_call"),
    ("backends.aiter_native", "backends.emulation"),
    ("moe",),
    ("companions",),
    ("_exports",),
    ("aiter_compat",),
    ("hosts", "migrations"),
    ("doctor", "checker"),
    ("migrate",),
    ("demo",),
    ("cli",),
    ("__main__",),
)
LEVEL = {unit: level for level, row in enumerate(LAYERS) for unit in row}
MAY_IMPORT_TORCH_AT_THE_TOP = {
    *("formats", "layouts", "weights", "moe", "companions", "hosts", "demo"),
    *("backends.moe_call", "backends.aiter_native", "backends.emulation"),
}
MAY_IMPORT_BY_COMPUTED_NAME = {"aiter_compat", "aiter_compat.native.loader", "aiter_compat.migrations"}

ROOT = Path(aiter_compat.__file__).parent
MIGRATIONS = ROOT / "migrations" if (ROOT / "migrations").is_dir() else ROOT.parent / "migrations"


def module_name(path: Path) -> str:
    if path.is_relative_to(MIGRATIONS):
        parts = ["aiter_compat", "migrations", *path.relative_to(MIGRATIONS).with_suffix("").parts]
    else:
        parts = ["aiter_compat", *path.relative_to(ROOT).with_suffix("").parts]
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {module_name(path): path for folder in (ROOT, MIGRATIONS) for path in sorted(folder.rglob("*.py"))}


def unit_of(module: str) -> str:
    parts = module.split(".")[1:]
    if not parts:
        return "aiter_compat"
    return ".".join(parts[:2]) if parts[0] == "backends" else parts[0]


def run_time_nodes(node: ast.AST) -> Iterator[ast.AST]:
    """Every node below, but for what only type checkers read."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test):
            for alternative in child.orelse:
                yield alternative
                yield from run_time_nodes(alternative)
            continue
        yield child
        yield from run_time_nodes(child)


def imported(node: ast.AST) -> list[str]:
    """Dotted names that an import statement names, sub-modules included."""
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom):
        assert node.level == 0, "relative imports hide the layer"
        inner = [f"{node.module}.{alias.name}" for alias in node.names]
        return [name if name in MODULES else str(node.module) for name in inner]
    return []


@cache
def parsed(module: str) -> ast.Module:
    return ast.parse(MODULES[module].read_text(encoding="utf-8"))


@cache
def executed(module: str) -> tuple[ast.AST, ...]:
    return tuple(run_time_nodes(parsed(module)))


def test_the_table_names_every_package_and_nothing_else():
    assert {unit_of(module) for module in MODULES} == set(LEVEL)


@pytest.mark.parametrize("module", MODULES)
def test_imports_go_down(module):
    own = unit_of(module)
    for node in executed(module):
        for name in imported(node):
            if name.partition(".")[0] != "aiter_compat" or unit_of(name) == own:
                continue
            assert LEVEL[unit_of(name)] < LEVEL[own], f"{MODULES[module]}:{node.lineno} imports {name}"


@pytest.mark.parametrize("module", MODULES)
def test_only_native_imports_aiter(module):
    for node in executed(module):
        assert not [name for name in imported(node) if name.partition(".")[0] == "aiter"], f"{module}:{node.lineno}"
        if isinstance(node, ast.Call) and ast.unparse(node.func) in ("importlib.import_module", "__import__"):
            assert module in MAY_IMPORT_BY_COMPUTED_NAME, f"{module}:{node.lineno} imports by name"
        if isinstance(node, ast.ImportFrom) and node.module == "importlib":
            assert "import_module" not in [alias.name for alias in node.names], f"{module}:{node.lineno}"


@pytest.mark.parametrize("module", MODULES)
def test_torch_is_imported_at_the_top_only_where_tensors_are(module):
    if unit_of(module) in MAY_IMPORT_TORCH_AT_THE_TOP:
        return
    for node in parsed(module).body:
        heavy = [name for name in imported(node) if name.partition(".")[0] in ("torch", "transformers", "numpy")]
        assert not heavy, f"{module}:{node.lineno} imports {heavy}"


def test_the_rules_above_can_fail():
    upward = ast.parse("def f():\n    from aiter_compat.moe import fused_moe\n")
    names = [name for node in run_time_nodes(upward) for name in imported(node)]
    assert names == ["aiter_compat.moe"]
    assert LEVEL[unit_of(names[0])] > LEVEL["detect"]
    typed = ast.parse("from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import aiter\n")
    assert [name for node in run_time_nodes(typed) for name in imported(node)] == ["typing"]
