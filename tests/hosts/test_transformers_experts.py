"""Experts of transformers' own classes keep their results when aiter_compat runs them."""

from types import SimpleNamespace

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

from transformers import GptOssConfig, MixtralConfig, Qwen3MoeConfig  # noqa: E402
from transformers.models.deepseek_v4.modeling_deepseek_v4 import DeepseekV4Experts  # noqa: E402
from transformers.models.gpt_oss.modeling_gpt_oss import GptOssExperts  # noqa: E402
from transformers.models.minimax_m3_vl.configuration_minimax_m3_vl import MiniMaxM3VLTextConfig  # noqa: E402
from transformers.models.minimax_m3_vl.modeling_minimax_m3_vl import MiniMaxM3VLExperts  # noqa: E402
from transformers.models.mixtral.modeling_mixtral import MixtralExperts  # noqa: E402
from transformers.models.nemotron_h.modeling_nemotron_h import NemotronHExperts  # noqa: E402
from transformers.models.qwen3_moe.modeling_qwen3_moe import Qwen3MoeExperts  # noqa: E402

import aiter_compat as ac  # noqa: E402
from aiter_compat.errors import InvalidArgument  # noqa: E402
from aiter_compat.hosts.checkpoint_formats import CheckpointFormats  # noqa: E402
from aiter_compat.hosts.transformers_experts import (  # noqa: E402
    EXPERTS_NAME,
    experts_forward,
    held_experts,
    moe_config,
    quantise_experts,
    register,
)

HIDDEN, INTERMEDIATE, EXPERTS, TOP_K, TOKENS = 64, 32, 4, 2, 6
W4A16 = CheckpointFormats("mxfp4", None)
SIZES = {
    "hidden_size": HIDDEN,
    "intermediate_size": INTERMEDIATE,
    "num_local_experts": EXPERTS,
    "num_experts_per_tok": TOP_K,
}

CASES = {
    "gpt_oss": (GptOssExperts, lambda: GptOssConfig(**SIZES)),
    "minimax_m3": (MiniMaxM3VLExperts, lambda: MiniMaxM3VLTextConfig(**SIZES)),
    "mixtral": (MixtralExperts, lambda: MixtralConfig(**SIZES)),
    "mixtral_gelu": (MixtralExperts, lambda: MixtralConfig(**SIZES, hidden_act="gelu")),
    "qwen3_moe": (
        Qwen3MoeExperts,
        lambda: Qwen3MoeConfig(
            hidden_size=HIDDEN,
            moe_intermediate_size=INTERMEDIATE,
            num_experts=EXPERTS,
            num_experts_per_tok=TOP_K,
        ),
    ),
    "deepseek_v4": (
        DeepseekV4Experts,
        lambda: SimpleNamespace(**SIZES, hidden_act="silu", swiglu_limit=4.0),
    ),
}


def built(case, seed=0):
    """The module with parameters that MXFP4 holds exactly, so that only layout and activation matter."""
    cls, config = CASES[case]
    config = config()
    config._experts_implementation = EXPERTS_NAME
    experts = cls(config)
    generator = torch.Generator().manual_seed(seed)
    grid = torch.tensor([0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0])
    for name, parameter in experts.named_parameters():
        codes = torch.randint(0, len(grid), parameter.shape, generator=generator)
        signs = torch.randint(0, 2, parameter.shape, generator=generator) * 2 - 1
        parameter.data = (grid[codes] * signs * 2.0 ** (-3 if "bias" in name else -4)).bfloat16()
    return experts.eval()


def routed(seed=1):
    generator = torch.Generator().manual_seed(seed)
    hidden = torch.randn(TOKENS, HIDDEN, generator=generator).bfloat16()
    scores, ids = torch.rand(TOKENS, EXPERTS, generator=generator).topk(TOP_K)
    return hidden, ids, (scores / scores.sum(-1, keepdim=True)).bfloat16()


def distance(ours, theirs):
    return ((ours.float() - theirs.float()).norm() / theirs.float().norm()).item()


def eager(experts, *call):
    """The class's own forward, in float32."""
    experts.config._experts_implementation = "eager"
    with torch.no_grad():
        hidden, ids, weights = call
        experts.float()
        out = experts(hidden.float(), ids, weights.float())
        experts.bfloat16()
    experts.config._experts_implementation = EXPERTS_NAME
    return out


@pytest.fixture(autouse=True)
def _registered():
    register()


@pytest.mark.parametrize("case", CASES)
def test_each_family_computes_what_its_own_class_does(case):
    experts = built(case)
    call = routed()
    expected = eager(experts, *call)
    assert quantise_experts(experts, W4A16) == ("",)
    ours = experts(*call)
    assert ours.dtype == torch.bfloat16
    assert distance(ours, expected) < 0.01


def test_the_swiglu_limit_of_the_module_is_honoured():
    experts = built("gpt_oss")
    hidden, *route = routed()
    hidden = hidden * 8  # most gate and up values exceed 7
    expected = eager(experts, hidden, *route)
    quantise_experts(experts, W4A16)
    assert distance(experts(hidden, *route), expected) < 0.01


def test_a_dequantised_checkpoint_is_quantised_back_without_loss():
    # Transformers dequantises MXFP4 checkpoints on a CPU; blocks whose largest element is 6 keep their scale.
    experts = built("minimax_m3")
    quantise_experts(experts, W4A16)
    codes = ac.quantize(experts.gate_up_proj.detach(), "mxfp4", numerics="quark")
    assert torch.equal(ac.dequantize(codes, dtype=torch.bfloat16), experts.gate_up_proj)


def test_experts_of_other_ranks_contribute_nothing():
    experts = built("minimax_m3")
    hidden, ids, weights = routed()
    elsewhere = torch.zeros_like(ids, dtype=torch.bool)
    elsewhere[::2, 0] = True
    elsewhere[1, :] = True
    expected = eager(experts, hidden, ids, weights.masked_fill(elsewhere, 0.0))
    experts._is_expert_parallel = True
    quantise_experts(experts, W4A16)
    ours = experts(hidden, ids.masked_fill(elsewhere, experts.num_experts), weights)
    assert distance(ours, expected) < 0.01
    assert not ours[1].any()


def test_parameters_sharded_as_dtensors_are_read_from_this_rank():
    dist = pytest.importorskip("torch.distributed")
    if not dist.is_available():
        pytest.skip("torch without distributed")
    from torch.distributed.tensor import DeviceMesh, Shard, distribute_tensor

    experts = built("gpt_oss")
    call = routed()
    expected = eager(experts, *call)
    dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    try:
        mesh = DeviceMesh("cpu", [0])
        for name, parameter in list(experts.named_parameters()):
            sharded = distribute_tensor(parameter.data, mesh, [Shard(0)])
            setattr(experts, name, torch.nn.Parameter(sharded, requires_grad=False))
        experts._is_expert_parallel = True
        quantise_experts(experts, W4A16)
        assert distance(experts(*call), expected) < 0.01
    finally:
        dist.destroy_process_group()


def test_a_checkpoint_that_quantises_activations_gets_them_quantised():
    experts = built("minimax_m3")
    call = routed()
    quantise_experts(experts, W4A16)
    plain = experts(*call)
    quantise_experts(experts, CheckpointFormats("mxfp4", "mxfp4"))
    assert 0.02 < distance(experts(*call), plain) < 0.5


def test_only_named_modules_are_quantised():
    model = torch.nn.ModuleDict({"first": built("mixtral"), "second": built("mixtral")})
    assert quantise_experts(model, W4A16, only=["second"]) == ("second",)
    held_experts(model["second"])
    with pytest.raises(InvalidArgument, match="Call quantise_experts"):
        experts_forward(model["first"], *routed())


@pytest.mark.parametrize(
    ("prepare", "given"),
    [
        (lambda e: setattr(e, "has_gate", False), "without a gate"),
        (lambda e: setattr(e, "has_post_expert_norm", True), "norm after each expert"),
        (lambda e: setattr(e.config, "hidden_act", "relu"), "hidden_act='relu'"),
        # The attributes say SiLU, the function is something else: it must not be computed as SiLU.
        (lambda e: setattr(e, "act_fn", torch.nn.Tanh()), "whose gate is not silu"),
    ],
)
def test_experts_that_cannot_be_reproduced_are_refused(prepare, given):
    experts = built("mixtral")
    prepare(experts)
    with pytest.raises(InvalidArgument) as caught:
        moe_config(experts, W4A16)
    assert caught.value.argument == "experts"
    assert given in caught.value.given


def test_a_class_without_gate_is_refused_by_its_own_flag():
    config = SimpleNamespace(
        n_routed_experts=EXPERTS,
        hidden_size=HIDDEN,
        moe_latent_size=None,
        moe_intermediate_size=INTERMEDIATE,
        mlp_hidden_act="relu2",
        num_experts_per_tok=TOP_K,
    )
    with pytest.raises(InvalidArgument, match="without a gate"):
        moe_config(NemotronHExperts(config), W4A16)


def test_a_model_without_experts_is_refused():
    with pytest.raises(InvalidArgument, match="a transformers model with experts"):
        quantise_experts(torch.nn.Linear(2, 2), W4A16)


def test_other_weight_formats_are_refused():
    with pytest.raises(InvalidArgument, match="weight_format 'mxfp4'"):
        quantise_experts(built("mixtral"), CheckpointFormats("mxfp6_e2m3", None))
