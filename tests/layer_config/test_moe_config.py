"""`MoEConfig` says what a layer is, in the names of its checkpoint, and refuses what cannot be."""

import dataclasses
import json
import math

import pytest

import aiter_compat as ac
from aiter_compat.layer_config import HOST_ACTIVATIONS, WEIGHT_FORMATS

SIZES = {"hidden_size": 256, "intermediate_size": 128, "num_experts": 8, "top_k": 2}


@pytest.mark.parametrize(
    ("change", "argument", "words"),
    [
        ({"hidden_size": 0}, "hidden_size", "from 1 up"),
        ({"hidden_size": 256.0}, "hidden_size", "whole number"),
        ({"hidden_size": True}, "hidden_size", "whole number"),
        ({"intermediate_size": 100}, "intermediate_size", "multiple of 32"),
        ({"hidden_size": 250}, "hidden_size", "256"),
        ({"num_experts": -1}, "num_experts", "from 1 up"),
        ({"top_k": 9}, "top_k", "num_experts = 8"),
        ({"tp_size": 0}, "tp_size", "from 1 up"),
        ({"hidden_size_unpadded": 257}, "hidden_size_unpadded", "to 256"),
        ({"intermediate_size_unpadded": 0}, "intermediate_size_unpadded", "from 1"),
        ({"intermediate_pad": 128}, "intermediate_pad", "0 to 127"),
        ({"intermediate_pad": -1}, "intermediate_pad", "0 to 127"),
        ({"activation": "swish"}, "activation", "swigluoai_uninterleave"),
        ({"activation": None}, "activation", "silu"),
        ({"weight_format": "int3"}, "weight_format", "mxfp4"),
        ({"activation_format": "fp7"}, "activation_format", "mxfp8"),
        ({"gate_layout": "mixed"}, "gate_layout", "interleaved"),
        ({"limit": math.nan}, "limit", "math.inf"),
        ({"limit": -1.0}, "limit", "positive"),
        ({"limit": "7"}, "limit", "positive"),
        ({"limit": True}, "limit", "positive"),
        ({"alpha": math.inf}, "alpha", "finite"),
        ({"beta": "1"}, "beta", "finite"),
        ({"linear_beta": math.nan}, "linear_beta", "finite"),
        ({"exact_qdq": "yes"}, "exact_qdq", "True"),
        ({"apply_router_weight_on_input": None}, "apply_router_weight_on_input", "True"),
    ],
)
def test_a_wrong_field_is_named_with_what_would_be_right(change, argument, words):
    with pytest.raises(ac.InvalidArgument) as caught:
        ac.MoEConfig(**(SIZES | change))
    assert caught.value.argument == argument
    assert words in f"{caught.value.allowed} {caught.value.remedy}"


def test_sizes_need_no_blocks_of_32_without_mx_scales():
    assert ac.MoEConfig(**(SIZES | {"intermediate_size": 100}), weight_format="bf16").intermediate_size == 100


def test_its_text_makes_it_again_whoever_the_numbers_are_from():
    numpy = pytest.importorskip("numpy")
    numbers = {"hidden_size": numpy.int64(256), "alpha": numpy.float32(1.5), "limit": math.inf}
    config = ac.MoEConfig(**{**SIZES, **numbers})
    again = ac.MoEConfig(**json.loads(config.as_json))
    assert again == config
    assert dataclasses.replace(config, top_k=1).as_json != config.as_json


def test_names_are_case_insensitive():
    config = ac.MoEConfig(**SIZES, activation="SwiGLUOAI", weight_format="MXFP4", activation_format="MXFP8")
    assert (config.activation, config.weight_format, config.qdq) == ("swigluoai", "mxfp4", "mxfp8")


def test_it_is_a_value():
    config = ac.MoEConfig(**SIZES)
    assert config == dataclasses.replace(config)
    assert len({config, ac.MoEConfig(**SIZES), ac.MoEConfig(**SIZES, limit=7.0)}) == 2


@pytest.mark.parametrize(
    ("activation", "activation_format", "gate_mode", "rows"),
    [
        ("swigluoai", "mxfp4", "interleave", "interleaved"),
        ("swigluoai", None, "interleave", "interleaved"),
        ("swigluoai_uninterleave", "mxfp4", "separated", "separated"),
        ("swigluoai_uninterleave", "none", "interleave", "separated"),
        ("silu", "mxfp4", "separated", "separated"),
        ("silu", None, "interleave", "separated"),
        ("gelu_no_mul", None, "separated", "separated"),
    ],
)
def test_the_activation_and_w4a16_decide_the_gate_mode(activation, activation_format, gate_mode, rows):
    config = ac.MoEConfig(**SIZES, activation=activation, activation_format=activation_format)
    assert (config.gate_mode, config.checkpoint_rows) == (gate_mode, rows)


def test_unquantised_weights_are_never_interleaved_for_aiter():
    assert ac.MoEConfig(**SIZES, activation="swigluoai", weight_format="bf16").gate_mode == "separated"


def test_the_host_may_say_how_its_rows_lie():
    assert ac.MoEConfig(**SIZES, gate_layout="interleaved").checkpoint_rows == "interleaved"
    assert ac.MoEConfig(**SIZES, activation="swigluoai", gate_layout="separated").checkpoint_rows == "separated"


@pytest.mark.parametrize(
    ("weight_format", "qdq"),
    [
        ("bf16", "none"),
        ("mxfp4", "none"),
        ("mxfp8", "none"),
        ("fp8_tensor", "fp8_tensor"),
        ("fp8_token", "fp8_token"),
        ("fp8_128x128", "fp8_1x128"),
    ],
)
def test_what_activations_become_when_the_checkpoint_does_not_say(weight_format, qdq):
    assert ac.MoEConfig(**SIZES, weight_format=weight_format).qdq == qdq


def test_every_name_of_the_tables_makes_a_config():
    for activation in HOST_ACTIVATIONS:
        for weight_format in WEIGHT_FORMATS:
            config = ac.MoEConfig(**SIZES, activation=activation, weight_format=weight_format)
            assert config.gate_mode in ("separated", "interleave")
