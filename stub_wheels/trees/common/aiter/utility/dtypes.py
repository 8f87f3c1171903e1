"""AITER's names for torch dtypes, as gfx950 has them."""

import torch

from ..ops.enum import ActivationType, QuantType

fp8 = torch.float8_e4m3fn
fp8_e8m0 = torch.float8_e8m0fnu
fp4x2 = torch.float4_e2m1fn_x2
fp16, bf16, fp32 = torch.float16, torch.bfloat16, torch.float32
i4x2 = getattr(torch, "int4", torch.uint8)
i8, i16, i32, i64 = torch.int8, torch.int16, torch.int32, torch.int64
u8, u32, u64 = torch.uint8, torch.uint32, torch.uint64
