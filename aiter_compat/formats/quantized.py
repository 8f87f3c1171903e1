"""What `quantize` returns and `dequantize` takes."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor


@dataclass(frozen=True, eq=False)
class Quantized:
    """Codes and scales of a tensor, in checkpoint (logical) order.

    | format | codes | scales |
    |---|---|---|
    | mxfp4 | uint8 [..., K/2], low nibble = even k | uint8 (e8m0) [..., K/32] |
    | mxfp6_e2m3, mxfp6_e3m2, mxfp8, mxfp8_e5m2 | uint8 [..., K] | uint8 (e8m0) [..., K/32] |
    | fp8_tensor, fp8_cast | uint8 [..., K] (e4m3fn) | fp32 [1] |
    | fp8_token | uint8 [..., K] | fp32 [..., 1] |
    | fp8_1x128 | uint8 [..., K] | fp32 [..., K/128] |
    | fp8_1x32 | uint8 [..., K] | fp32 [..., K/32] |
    | fp8_128x128 | uint8 [..., N, K] | fp32 [..., N/128, K/128] |
    | int4_1x32 | uint8 [..., K/2], two's complement, low nibble = even k | bf16 [..., K/32] |

    A torch storage dtype of one byte (float8_e4m3fn, float4_e2m1fn_x2, float8_e8m0fnu, int8) is as good as uint8 where
    bytes are read; `codes.view(torch.float8_e4m3fn)` gives what AITER takes.

    Attributes:
        codes: the elements.
        scales: the scales.
        format: name of the format.
        columns: length of the last dimension before it was padded to whole blocks; None when it was not.
    """

    codes: Tensor
    scales: Tensor
    format: str
    columns: int | None = None
