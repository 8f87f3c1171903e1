"""Companions without AITER follow from shapes alone: no value is read on the host, so a GPU is never waited for."""

import pytest
import torch
from torch._subclasses import FakeTensorMode
from torch._subclasses.fake_tensor import DataDependentOutputException

import aiter_compat as ac

CALLS = {
    "fused_topk": lambda t: ac.fused_topk(t["hidden"], t["logits"], 8, True),
    "topk_gating": lambda t: ac.topk_gating(t["weights"], t["ids"], t["logits"], t["bias"], True, 2.0, "softmax"),
    "grouped_topk": lambda t: ac.grouped_topk(t["logits"], t["weights"], t["ids"], 8, 4, True),
    "biased_grouped_topk": lambda t: ac.biased_grouped_topk(t["logits"], t["bias"], t["weights"], t["ids"], 8, 4, True),
    "moe_sorting": lambda t: ac.moe_sorting(
        t["ids"], t["weights"], 256, 64, torch.bfloat16, 32, t["mask"], t["counted"], return_local_topk_ids=True
    ),
    "dynamic_mxfp4_quant": lambda t: ac.dynamic_mxfp4_quant(t["hidden"], shuffle=True),
    "per_1x32_f4_quant_hip": lambda t: ac.per_1x32_f4_quant_hip(t["hidden"], shuffle=True),
    "per_group_quant_hip": lambda t: ac.per_group_quant_hip(t["hidden"], quant_dtype=torch.float8_e4m3fn),
    "shuffle_weight": lambda t: ac.shuffle_weight(t["weight"]),
    "shuffle_scale_a16w4": lambda t: ac.shuffle_scale_a16w4(t["weight"], 1, True),
    "shuffle_scale_moe": lambda t: ac.shuffle_scale_moe(t["weight"], "gfx950"),
    "shuffle_scale_for_int4": lambda t: ac.shuffle_scale_for_int4(t["int4_scales"]),
    "pack_int8_to_packed_int4": lambda t: ac.pack_int8_to_packed_int4(t["weight"]),
}


@pytest.mark.parametrize("name", CALLS)
def test_shapes_are_enough(name):
    with FakeTensorMode():
        tensors = {
            "hidden": torch.empty(5, 256, dtype=torch.bfloat16),
            "logits": torch.empty(5, 256),
            "bias": torch.empty(256),
            "weights": torch.empty(5, 8),
            "ids": torch.empty(5, 8, dtype=torch.int32),
            "mask": torch.empty(256, dtype=torch.int32),
            "counted": torch.empty(1, dtype=torch.int32),
            "weight": torch.empty(64, 64, dtype=torch.uint8),
            "int4_scales": torch.empty(2, 4, 16, dtype=torch.bfloat16),
        }
        CALLS[name](tensors)  # reading a value raises


def test_reading_a_value_would_raise():
    with FakeTensorMode():
        value = torch.empty(1)
        with pytest.raises(DataDependentOutputException):
            value.item()
