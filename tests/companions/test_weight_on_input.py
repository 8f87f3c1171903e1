"""`asm_moe_tkw1` is AITER's fused MoE with per-token fp8 and the routing weight in its first GEMM."""

import torch

import aiter_compat as ac

TOKENS, EXPERTS, HIDDEN, INTERMEDIATE = 3, 4, 64, 32


def quantised(*shape):
    codes, scales = ac.pertoken_quant(torch.randn(*shape) / 8, quant_dtype=torch.float8_e4m3fn)
    return codes, scales


def layer():
    torch.manual_seed(0)
    w1, fc1_scale = quantised(EXPERTS, 2 * INTERMEDIATE, HIDDEN)
    w2, fc2_scale = quantised(EXPERTS, HIDDEN, INTERMEDIATE)
    hidden = torch.randn(TOKENS, HIDDEN).bfloat16()
    ids = torch.tensor([[0], [3], [1]], dtype=torch.int32)
    return hidden, w1, w2, torch.tensor([[0.5], [1.5], [0.25]]), ids, fc1_scale, fc2_scale


def test_it_is_the_fused_moe_that_weighs_in_stage_1():
    hidden, w1, w2, weights, ids, fc1_scale, fc2_scale = layer()
    out = ac.asm_moe_tkw1(hidden, w1, w2, weights, ids, fc1_scale, fc2_scale)
    expected = ac.fused_moe(
        hidden,
        w1,
        w2,
        weights,
        ids,
        quant_type="per_token",
        doweight_stage1=True,
        w1_scale=fc1_scale,
        w2_scale=fc2_scale,
    )
    assert torch.equal(out, expected)
    in_stage_2 = ac.fused_moe(
        hidden, w1, w2, weights, ids, quant_type="per_token", w1_scale=fc1_scale, w2_scale=fc2_scale
    )
    assert not torch.equal(out, in_stage_2)


def test_the_weight_multiplies_gate_and_up_before_the_activation():
    hidden, w1, w2, weights, ids, fc1_scale, fc2_scale = layer()
    out = ac.asm_moe_tkw1(hidden, w1, w2, weights, ids, fc1_scale, fc2_scale)
    dense1, dense2 = w1.float() * fc1_scale, w2.float() * fc2_scale
    rows = []
    for token in range(TOKENS):
        gate, up = ((dense1[ids[token, 0]] @ hidden[token].float()) * weights[token]).chunk(2)
        rows.append(dense2[ids[token, 0]] @ (torch.nn.functional.silu(gate) * up))
    exact = torch.stack(rows)
    assert (out.float() - exact).norm() / exact.norm() < 0.08  # two fp8 roundings of the activations


def test_what_aiter_ignores_changes_nothing_and_the_mask_counts():
    hidden, w1, w2, weights, ids, fc1_scale, fc2_scale = layer()
    plain = ac.asm_moe_tkw1(hidden, w1, w2, weights, ids, fc1_scale, fc2_scale)
    ignored = ac.asm_moe_tkw1(
        hidden, w1, w2, weights, ids, fc1_scale, fc2_scale, a16=True, per_tensor_quant_scale=torch.ones(1)
    )
    assert torch.equal(plain, ignored)
    mask = torch.tensor([1, 1, 1, 1, 0])
    masked = ac.asm_moe_tkw1(
        hidden,
        w1,
        w2,
        weights,
        torch.tensor([[0], [4], [1]]),
        fc1_scale,
        fc2_scale,
        expert_mask=mask,
        activation="silu",
    )
    assert torch.equal(masked[[0, 2]], plain[[0, 2]])
    assert not masked[1].any()
