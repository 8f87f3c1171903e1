"""A request that contradicts itself gets one error that names the argument, what it got and what is allowed."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from aiter_compat.backends.emulation import ActivationSpec, run
from aiter_compat.errors import InvalidArgument, UnsupportedByEmulation

BYTES = torch.uint8


@pytest.mark.parametrize(
    ("change", "error", "mentions"),
    [
        ({"quant_type": "per_2x2"}, InvalidArgument, "quant_type: got per_2x2"),
        ({"weight_format": "fp8"}, UnsupportedByEmulation, "per_1x32"),
        ({"quant_type": "no"}, UnsupportedByEmulation, "unquantised"),
        ({"quant_type": "per_token", "weight_format": "mxfp4"}, UnsupportedByEmulation, "fp8 or int4"),
        ({"qdq_first": "mxfp5"}, InvalidArgument, "qdq_first: got mxfp5"),
        ({"qdq_second": "int4_1x32"}, UnsupportedByEmulation, "format of weights"),
        ({"qdq_first": "fp8_128x128"}, UnsupportedByEmulation, "format of weights"),
        ({"qdq_second": "fp8_1x128"}, InvalidArgument, "128"),
        ({"out_dtype": torch.float64}, InvalidArgument, "out_dtype"),
        ({"weight_layout": "shuffle_32x32"}, InvalidArgument, "weight_layout"),
        ({"gate_rows": "mixed"}, InvalidArgument, "gate_rows"),
        ({"gate_rows": "interleaved", "weight_layout": "a16w4"}, InvalidArgument, "separated first"),
        ({"activation": ActivationSpec("relu2", gated=False), "gate_rows": "interleaved"}, InvalidArgument, "one half"),
        ({"hidden_states": torch.zeros(5, 64, 1)}, InvalidArgument, "hidden_states: got 3 dimensions"),
        ({"hidden_states": torch.zeros(5, 64, dtype=torch.int32)}, InvalidArgument, "hidden_states"),
        ({"hidden_states": torch.zeros(5, 32)}, InvalidArgument, "hidden_states: got 32 features"),
        ({"topk_ids": torch.zeros(4, 2, dtype=torch.int32)}, InvalidArgument, "topk_ids"),
        ({"topk_ids": torch.zeros(5, 3, dtype=torch.int32)}, InvalidArgument, "as topk_weight"),
        ({"topk_ids": torch.zeros(5, 2)}, InvalidArgument, "integer"),
        ({"topk_weight": torch.zeros(10)}, InvalidArgument, "topk_weight"),
        ({"expert_mask": torch.ones(2, 2)}, InvalidArgument, "expert_mask"),
        ({"w1": torch.zeros(192, 32, dtype=BYTES)}, InvalidArgument, "w1: got 2 dimensions"),
        ({"w1": torch.zeros(4, 191, 32, dtype=BYTES)}, InvalidArgument, "even number"),
        ({"w1": torch.zeros(4, 192, 64, dtype=BYTES)}, InvalidArgument, "w1: got 64 columns as stored"),
        ({"w1": torch.zeros(4, 192, 32)}, InvalidArgument, "torch.uint8"),
        ({"w2": torch.zeros(3, 64, 48, dtype=BYTES)}, InvalidArgument, "w2: got 3 experts"),
        ({"w2": torch.zeros(4, 64, 40, dtype=BYTES)}, InvalidArgument, "w2: got 40 columns"),
        ({"w1_scale": None}, InvalidArgument, "w1_scale"),
        ({"w1_scale": torch.zeros(4, 192, 3, dtype=BYTES)}, InvalidArgument, "w1_scale"),
        ({"w1_scale": torch.ones(4, 192, 2)}, InvalidArgument, "e8m0"),
        ({"w2_scale": torch.zeros(2, 128, 3, dtype=BYTES)}, InvalidArgument, "w2_scale"),
        ({"weight_layout": "shuffle_16x16"}, InvalidArgument, "padded columns"),
        ({"bias1": torch.zeros(4, 96)}, InvalidArgument, "bias1"),
        ({"bias2": torch.zeros(64)}, InvalidArgument, "bias2"),
        ({"shared_w1": torch.zeros(1, 192, 32, dtype=BYTES)}, InvalidArgument, "both, or neither"),
        ({"shared_expert_id": 3}, InvalidArgument, "shared_expert_id"),
    ],
    ids=lambda value: str(value)[:60],
)
def test_contradictions_are_refused(make_layer, change, error, mentions):
    with pytest.raises(error, match=mentions):
        run(replace(make_layer().request, **change))


def test_a_shared_expert_of_another_size_is_refused(make_layer):
    request, other = make_layer().request, make_layer(experts=1, top_k=1, intermediate=64).request
    with pytest.raises(InvalidArgument, match="shared_w1"):
        run(
            replace(
                request,
                shared_w1=other.w1,
                shared_w2=other.w2,
                shared_w1_scale=other.w1_scale,
                shared_w2_scale=other.w2_scale,
            )
        )


@pytest.mark.parametrize("layout", ["shuffle_16x16", "a16w4"])
def test_int4_has_no_shuffled_layout_here(make_layer, layout):
    request = make_layer(weight_format="int4", weight_layout=layout).request
    with pytest.raises(UnsupportedByEmulation, match="int4"):
        run(request)


def test_a16w4_is_a_layout_of_mxfp4(make_layer):
    with pytest.raises(UnsupportedByEmulation, match="defined for mxfp4"):
        run(make_layer(weight_format="mxfp8", weight_layout="a16w4").request)


@pytest.mark.parametrize(
    ("quant_type", "shape"),
    [("per_token", (4, 192, 2)), ("per_tensor", (3, 1)), ("per_128x128", (4, 1, 1)), ("per_1x128", (4, 192, 1))],
)
def test_fp8_scales_that_do_not_fit_are_refused(make_layer, quant_type, shape):
    request = make_layer(
        quant_type=quant_type,
        weight_format="fp8",
        w1=torch.zeros(4, 192, 64, dtype=torch.float8_e4m3fn),
        w2=torch.zeros(4, 64, 96, dtype=torch.float8_e4m3fn),
        w1_scale=torch.ones(shape),
        w2_scale=torch.ones(shape),
        qdq_first="none",
        qdq_second="none",
    ).request
    with pytest.raises(InvalidArgument, match="w1_scale"):
        run(request)


def test_sizes_that_hold_no_whole_block_are_refused(make_layer):
    request = make_layer(
        w1=torch.zeros(4, 96, 40, dtype=BYTES),
        w2=torch.zeros(4, 80, 24, dtype=BYTES),
        w1_scale=torch.zeros(4, 96, 2, dtype=BYTES),
        w2_scale=torch.zeros(4, 80, 1, dtype=BYTES),
        hidden_states=torch.zeros(5, 80),
        bias1=None,
        bias2=None,
    ).request
    with pytest.raises(InvalidArgument, match="multiple of 32"):
        run(request)
