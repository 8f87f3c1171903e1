"""The hand-reviewed tables of this package, read once from its data files."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import Any

from aiter_compat.detect.trees import open_tree
from aiter_compat.errors import RecordError

SCHEMA = 1


def rows(name: str) -> list[Mapping[str, Any]]:
    """The rows of the table `name`, from `data/<name>.json`.

    Raises:
        RecordError: the file is missing, is not JSON, or is of another schema.
    """
    folder = open_tree(os.path.join(os.path.dirname(__file__), "data"))
    text = None
    if folder is not None:
        with folder:
            text = folder.read_text(f"{name}.json")
    if text is None:
        raise RecordError(f"the table of {name} is missing: aiter_compat is installed without its data files.")
    try:
        plain = json.loads(text)
        schema, found = plain["schema"], list(plain[name])
    except (ValueError, KeyError, TypeError) as error:
        raise RecordError(f"{name}.json: malformed ({type(error).__name__}: {error}).") from error
    if schema != SCHEMA:
        raise RecordError(f"{name}.json: schema {schema!r}; this version of aiter_compat reads {SCHEMA}.")
    return found
