"""The formats by name."""

from __future__ import annotations

from collections.abc import Mapping

from aiter_compat.errors import InvalidArgument
from aiter_compat.formats.codec import Codec
from aiter_compat.formats.fp8 import FP8_1X32, FP8_1X128, FP8_128X128, FP8_CAST, FP8_TENSOR, FP8_TOKEN
from aiter_compat.formats.int4 import INT4_1X32
from aiter_compat.formats.mxfp4 import MXFP4
from aiter_compat.formats.mxfp6 import MXFP6_E2M3, MXFP6_E3M2
from aiter_compat.formats.mxfp8 import MXFP8, MXFP8_E5M2

CODECS: Mapping[str, Codec] = {
    codec.name: codec
    for codec in (
        MXFP4,
        MXFP6_E2M3,
        MXFP6_E3M2,
        MXFP8,
        MXFP8_E5M2,
        FP8_TENSOR,
        FP8_TOKEN,
        FP8_1X128,
        FP8_1X32,
        FP8_128X128,
        FP8_CAST,
        INT4_1X32,
    )
}


def format_names() -> tuple[str, ...]:
    """Names that `quantize`, `qdq` and `Quantized` accept."""
    return tuple(CODECS)


def find_codec(name: str) -> Codec:
    """The format of that name, in any case.

    Raises:
        InvalidArgument: there is none.
    """
    found = CODECS.get(name.lower()) if isinstance(name, str) else None
    if found is None:
        raise InvalidArgument("format", name, ", ".join(CODECS))
    return found
