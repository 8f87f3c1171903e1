"""Weight formats as checkpoints name them, and AITER's quant type for each."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class WeightFormat:
    """One way experts' weights are stored.

    Attributes:
        quant_type: canonical quant type of the call.
        stored: the name that the emulation decodes it under.
        codes_per_byte: elements in one stored byte; 0: not a byte format.
        default_qdq: activation format that AITER quantises to beside such weights when nothing else is asked.
    """

    quant_type: str
    stored: str
    codes_per_byte: int = 1
    default_qdq: str = "none"


WEIGHT_FORMATS: dict[str, WeightFormat] = {
    "bf16": WeightFormat("no", "unquantised", 0),
    "fp16": WeightFormat("no", "unquantised", 0),
    "mxfp4": WeightFormat("per_1x32", "mxfp4", 2),
    "mxfp6_e2m3": WeightFormat("per_1x32", "mxfp6_e2m3"),
    "mxfp6_e3m2": WeightFormat("per_1x32", "mxfp6_e3m2"),
    "mxfp8": WeightFormat("per_1x32", "mxfp8"),
    "mxfp8_e5m2": WeightFormat("per_1x32", "mxfp8_e5m2"),
    "fp8_tensor": WeightFormat("per_tensor", "fp8", default_qdq="fp8_tensor"),
    "fp8_token": WeightFormat("per_token", "fp8", default_qdq="fp8_token"),
    "fp8_128x128": WeightFormat("per_128x128", "fp8", default_qdq="fp8_1x128"),
}
