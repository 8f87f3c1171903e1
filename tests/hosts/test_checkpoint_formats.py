"""A checkpoint's quantization_config decides its experts' formats; what is not understood is refused."""

import pytest

from aiter_compat.errors import InvalidArgument
from aiter_compat.hosts.checkpoint_formats import CheckpointFormats, checkpoint_formats

FP4 = {"dtype": "fp4", "qscheme": "per_group", "group_size": 32, "scale_format": "e8m0"}


def quark(weight=FP4, inputs=FP4, **more):
    return {
        "quant_method": "quark",
        "global_quant_config": {"weight": weight, "input_tensors": inputs},
        **more,
    }


def test_gpt_oss_checkpoints_quantise_weights_only():
    config = {"quant_method": "mxfp4", "modules_to_not_convert": ["model.layers.*.self_attn", "lm_head"]}
    assert checkpoint_formats(config) == CheckpointFormats("mxfp4", None)


@pytest.mark.parametrize(
    ("inputs", "activation_format"),
    [
        (None, None),
        (FP4, "mxfp4"),
        ({**FP4, "dtype": "fp6_e2m3"}, "mxfp6_e2m3"),
        ({**FP4, "dtype": "fp6_e3m2"}, "mxfp6_e3m2"),
        ({**FP4, "dtype": "fp8_e4m3"}, "mxfp8"),
        ({"dtype": "fp8_e4m3", "qscheme": "per_tensor", "group_size": None}, "fp8_tensor"),
    ],
)
def test_quark_checkpoints_say_what_activations_become(inputs, activation_format):
    assert checkpoint_formats(quark(inputs=inputs)).activation_format == activation_format


@pytest.mark.parametrize(
    ("config", "given"),
    [
        ({}, "quant_method=None"),
        ({"quant_method": "awq"}, "quant_method='awq'"),
        (quark(inputs={**FP4, "dtype": "int4"}), "input_tensors with dtype='int4'"),
        (quark(weight={**FP4, "group_size": 16}), "group_size=16"),
        (quark(weight=None), "no global_quant_config.weight"),
        (quark(layer_quant_config={"*.mlp.experts": {}}), "*.mlp.experts"),
        (quark(exclude=["lm_head", "model.layers.0.mlp.experts"]), "model.layers.0.mlp.experts"),
    ],
)
def test_what_is_not_understood_is_refused(config, given):
    with pytest.raises(InvalidArgument) as caught:
        checkpoint_formats(config)
    assert caught.value.argument == "quantization_config"
    assert given in caught.value.given


def test_layers_without_experts_may_be_excluded():
    assert checkpoint_formats(quark(exclude=["lm_head", "re:.*self_attn.*"])).weight_format == "mxfp4"
