"""Let torch 2.13 and later define operators the way AITER did until v0.1.19.post2."""

from __future__ import annotations

import torch

_NAMESPACE = "aiter::"


def accept_doubled_namespace() -> None:
    """Drop the namespace that AITER repeats in the schemas of its library: older builds of torch did the same."""
    define = torch.library.Library.define

    def lenient(self: torch.library.Library, schema: str, *args: object, **named: object) -> object:
        return define(self, schema.removeprefix(_NAMESPACE), *args, **named)

    torch.library.Library.define = lenient
