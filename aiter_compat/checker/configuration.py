"""What a project says in its pyproject.toml.

[tool.aiter-compat]
aiter = ">=0.1.13.post1,<0.1.17"     releases that it has to run on
exclude = ["tests/", "*_test.py"]    glob patterns of relative names to leave out
ignore = ["internal-flydsl-kernels"] codes that are no findings here
baseline = "aiter-baseline.json"     known findings, relative to pyproject.toml
guarded = false                      report what the host survives as well
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from aiter_compat.errors import InvalidArgument

_TABLE = "aiter-compat"
_KEYS: dict[str, type] = {"aiter": str, "exclude": list, "ignore": list, "baseline": str, "guarded": bool}


@dataclass(frozen=True)
class Configuration:
    """The settings of a project; the defaults are those of a project that says nothing."""

    aiter: str | None = None
    exclude: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    baseline: Path | None = None
    guarded: bool = False


def configuration_for(path: Path) -> Configuration:
    """The settings in the nearest pyproject.toml at or above `path` that has the table.

    Raises:
        InvalidArgument: a key is unknown, or has a value of the wrong type; or the file is no TOML.
    """
    start = path.resolve()
    for folder in (start, *start.parents) if start.is_dir() else start.parents:
        file = folder / "pyproject.toml"
        table = _table(file) if file.is_file() else None
        if table is not None:
            return _checked(table, folder)
    return Configuration()


def _table(file: Path) -> dict[str, Any] | None:
    text = file.read_text(encoding="utf-8", errors="replace")
    if _TABLE not in text:
        return None
    try:
        import tomllib  # type: ignore[import-not-found, unused-ignore]
    except ModuleNotFoundError:  # Python 3.10
        try:
            import tomli as tomllib  # type: ignore[import-not-found, unused-ignore]
        except ModuleNotFoundError as error:
            remedy = "Install aiter-compat[cli], or Python 3.11."
            raise InvalidArgument(
                str(file), "a table for aiter-compat", "reading TOML, which needs tomli", remedy
            ) from error
    try:
        table = tomllib.loads(text).get("tool", {}).get(_TABLE)
    except tomllib.TOMLDecodeError as error:
        raise InvalidArgument(str(file), str(error), "valid TOML") from error
    return table if isinstance(table, dict) else None


def _checked(table: dict[str, Any], folder: Path) -> Configuration:
    for key, value in table.items():
        kind = _KEYS.get(key)
        if kind is None:
            raise InvalidArgument(f"tool.{_TABLE}.{key}", value, f"one of the keys {', '.join(_KEYS)}")
        texts = kind is not list or (isinstance(value, list) and all(isinstance(one, str) for one in value))
        if not isinstance(value, kind) or not texts:
            raise InvalidArgument(f"tool.{_TABLE}.{key}", value, "a list of strings" if kind is list else kind.__name__)
    baseline = table.get("baseline")
    return Configuration(
        aiter=table.get("aiter"),
        exclude=tuple(table.get("exclude", ())),
        ignore=tuple(table.get("ignore", ())),
        baseline=None if baseline is None else folder / baseline,
        guarded=table.get("guarded", False),
    )
