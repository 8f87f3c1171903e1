"""Each weight format takes each activation format through `fused_moe`, and the result is the plain formula's."""

import pytest
import torch

import aiter_compat as ac

EXPERTS, HIDDEN, INTERMEDIATE, TOKENS, TOP_K = 3, 256, 128, 4, 2
QUANT_TYPES = {
    "mxfp4": "per_1x32",
    "mxfp8": "per_1x32",
    "mxfp8_e5m2": "per_1x32",
    "int4_1x32": "per_1x32",
    "fp8_tensor": "per_tensor",
    "fp8_token": "per_token",
    "fp8_128x128": "per_128x128",
}
STORED_AS = {
    "mxfp8": torch.float8_e4m3fn,
    "mxfp8_e5m2": torch.float8_e5m2,
    "int4_1x32": torch.int8,
    "fp8_tensor": torch.float8_e4m3fn,
    "fp8_token": torch.float8_e4m3fn,
    "fp8_128x128": torch.float8_e4m3fn,
}
ACTIVATION_FORMATS = (
    "none", "mxfp4", "mxfp6_e2m3", "mxfp6_e3m2", "mxfp8", "mxfp8_e5m2", "fp8_cast", "fp8_tensor", "fp8_token",
)  # fmt: skip


def stored(weight: torch.Tensor, name: str) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Codes and scales as `fused_moe` takes them, and the values that they stand for in fp64."""
    experts = [ac.quantize(one, name) for one in weight]
    codes = torch.stack([one.codes for one in experts])
    scales = torch.stack([one.scales for one in experts])
    values = torch.stack([ac.dequantize(one) for one in experts]).double()
    return (codes.view(STORED_AS[name]) if name in STORED_AS else codes), scales, values


def rounded(x: torch.Tensor, name: str) -> torch.Tensor:
    return x.float() if name == "none" else ac.qdq(x.float(), name)


def plain(hidden, w1, w2, weights, ids, activation_format):
    """SiLU-gated MoE in fp64 between the two roundings, which see all slots at once as the emulation's do."""
    first = rounded(hidden, activation_format).double()
    gate, up = torch.einsum("td,tkfd->tkf", first, w1[ids]).chunk(2, dim=-1)
    inner = (torch.nn.functional.silu(gate) * up).bfloat16()
    second = rounded(inner, activation_format).double()
    return torch.einsum("tkf,tkdf,tk->td", second, w2[ids], weights.double())


@pytest.mark.parametrize("activation_format", ACTIVATION_FORMATS)
@pytest.mark.parametrize("weight_format", QUANT_TYPES)
def test_weights_and_activations_pair_freely(weight_format, activation_format):
    generator = torch.Generator().manual_seed(11)
    hidden = torch.randn(TOKENS, HIDDEN, generator=generator).bfloat16()
    weights, ids = torch.rand(TOKENS, EXPERTS, generator=generator).topk(TOP_K)
    w1, s1, v1 = stored(torch.randn(EXPERTS, 2 * INTERMEDIATE, HIDDEN, generator=generator) / 8, weight_format)
    w2, s2, v2 = stored(torch.randn(EXPERTS, HIDDEN, INTERMEDIATE, generator=generator) / 8, weight_format)
    out = ac.fused_moe(
        hidden, w1, w2, weights, ids, quant_type=QUANT_TYPES[weight_format], w1_scale=s1, w2_scale=s2,
        activation_qdq=activation_format, dtype=torch.float32,
    )  # fmt: skip
    want = plain(hidden, v1, v2, weights, ids, activation_format)
    # One element of the intermediate may round the other way after another order of summation.
    assert (out - want).norm() / want.norm() < 5e-3


def test_int4_codes_are_taken_as_quantize_returns_them():
    """Bytes with bf16 scales cannot be MXFP4; with fp32 scales they are a mistake."""
    hidden, ids = torch.randn(TOKENS, HIDDEN).bfloat16(), torch.tensor([[0, 1]] * TOKENS)
    weights = torch.full((TOKENS, 2), 0.5)
    w1, s1, _ = stored(torch.randn(EXPERTS, 2 * INTERMEDIATE, HIDDEN) / 8, "int4_1x32")
    w2, s2, _ = stored(torch.randn(EXPERTS, HIDDEN, INTERMEDIATE) / 8, "int4_1x32")
    keywords = {"quant_type": "per_1x32", "w1_scale": s1, "w2_scale": s2}
    as_int8 = ac.fused_moe(hidden, w1, w2, weights, ids, **keywords)
    w1, w2 = w1.view(torch.uint8), w2.view(torch.uint8)
    assert torch.equal(as_int8, ac.fused_moe(hidden, w1, w2, weights, ids, **keywords))
    with pytest.raises(ac.InvalidArgument, match=r"w1_scale: got torch\.float32"):
        ac.fused_moe(hidden, w1, w2, weights, ids, **{**keywords, "w1_scale": s1.float()})


def test_aiter_is_not_given_int4_codes_that_it_would_read_as_mxfp4(aiter_stub):
    aiter_stub("0.1.15.post3")
    hidden, ids = torch.randn(TOKENS, HIDDEN).bfloat16(), torch.tensor([[0, 1]] * TOKENS)
    w1, s1, _ = stored(torch.randn(EXPERTS, 2 * INTERMEDIATE, HIDDEN) / 8, "int4_1x32")
    w2, s2, _ = stored(torch.randn(EXPERTS, HIDDEN, INTERMEDIATE) / 8, "int4_1x32")
    with pytest.raises(ac.UnsupportedByAiter, match="w1 holds int4 codes in uint8, which AITER reads as MXFP4"):
        ac.fused_moe(
            hidden, w1.view(torch.uint8), w2.view(torch.uint8), torch.ones(TOKENS, 2), ids, quant_type="per_1x32",
            w1_scale=s1, w2_scale=s2, backend="aiter",
        )  # fmt: skip


def mxfp4_call():
    generator = torch.Generator().manual_seed(5)
    w1 = ac.quantize(torch.randn(EXPERTS, 2 * INTERMEDIATE, HIDDEN, generator=generator), "mxfp4")
    w2 = ac.quantize(torch.randn(EXPERTS, HIDDEN, INTERMEDIATE, generator=generator), "mxfp4")
    hidden = torch.randn(TOKENS, HIDDEN, generator=generator).bfloat16()
    weights, ids = torch.rand(TOKENS, EXPERTS, generator=generator).topk(TOP_K)
    keywords = {"quant_type": "per_1x32", "w1_scale": w1.scales, "w2_scale": w2.scales, "dtype": torch.bfloat16}
    return hidden, (w1.codes, w2.codes, weights, ids), keywords


@pytest.mark.parametrize("activation_format", ["mxfp4", "mxfp8"])
def test_hidden_states_that_arrive_quantised_give_what_quantising_here_gives(activation_format):
    hidden, operands, keywords = mxfp4_call()
    here = ac.fused_moe(hidden, *operands, activation_qdq=activation_format, **keywords)
    arrived = ac.quantize(hidden, activation_format)
    codes = arrived.codes if activation_format == "mxfp4" else arrived.codes.view(torch.float8_e4m3fn)
    there = ac.fused_moe(codes, *operands, a1_scale=arrived.scales, activation_qdq=activation_format, **keywords)
    assert torch.equal(here, there)


def test_quantised_hidden_states_are_not_rounded_again_to_the_release_own_format():
    hidden, operands, keywords = mxfp4_call()
    arrived = ac.quantize(hidden, "mxfp8")
    codes = arrived.codes.view(torch.float8_e4m3fn)
    out = ac.fused_moe(codes, *operands, a1_scale=arrived.scales, **keywords)  # AITER's own choice here is mxfp4
    assert torch.isfinite(out).all()


def test_typed_storage_reads_as_bytes_do():
    hidden, (w1, w2, weights, ids), keywords = mxfp4_call()
    plain_bytes = ac.fused_moe(hidden, w1, w2, weights, ids, **keywords)
    typed = keywords | {
        "w1_scale": keywords["w1_scale"].view(torch.float8_e8m0fnu).view(-1, HIDDEN // 32),
        "w2_scale": keywords["w2_scale"].view(torch.float8_e8m0fnu),
    }
    fp4 = torch.float4_e2m1fn_x2
    assert torch.equal(plain_bytes, ac.fused_moe(hidden, w1.view(fp4), w2.view(fp4), weights, ids, **typed))


def test_an_activation_format_whose_blocks_do_not_fit_is_refused_by_name():
    w1, w2 = torch.zeros(1, 192, 128).bfloat16(), torch.zeros(1, 128, 96).bfloat16()
    given = (torch.zeros(1, 128).bfloat16(), w1, w2, torch.ones(1, 1), torch.zeros(1, 1, dtype=torch.int32))
    assert torch.equal(ac.fused_moe(*given, activation_qdq="mxfp4"), torch.zeros(1, 128).bfloat16())
    with pytest.raises(ac.InvalidArgument, match=r"activation_qdq: got fp8_1x128 with intermediate size 96; .*of 128"):
        ac.fused_moe(*given, activation_qdq="fp8_1x128")
