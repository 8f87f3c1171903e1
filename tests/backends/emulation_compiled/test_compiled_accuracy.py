"""The compiled path against fp64, computed densely from dequantised weights and separately rounded activations."""

import pytest
import torch

from aiter_compat.backends.emulation import run_compiled
from aiter_compat.formats import Quantized, dequantize, qdq


def dense(request):
    """The layer in fp64; activations rounded where the request says, from fp32 copies."""
    w1 = dequantize(Quantized(request.w1, request.w1_scale, "mxfp4")).double()
    w2 = dequantize(Quantized(request.w2, request.w2_scale, "mxfp4")).double()

    def rounded(x, name):
        return x.double() if name == "none" else qdq(x.float(), name, request.profile).double()

    x = rounded(request.hidden_states, request.qdq_first)
    result = torch.zeros(x.shape[0], w2.shape[1], dtype=torch.float64)
    for token, (ids, weights) in enumerate(zip(request.topk_ids.tolist(), request.topk_weight.tolist(), strict=True)):
        for expert, weight in zip(ids, weights, strict=True):
            gate, up = (w1[expert] @ x[token]).chunk(2)
            activated = (gate * torch.sigmoid(gate) * up).to(torch.bfloat16)
            result[token] += weight * (w2[expert] @ rounded(activated, request.qdq_second))
    return result


@pytest.mark.parametrize("qdq_name", ["mxfp4", "mxfp8", "none"])
@pytest.mark.parametrize("tokens", [1, 8])
def test_relative_error_at_bf16(request_of, qdq_name, tokens):
    request = request_of(tokens, hidden=512, intermediate=256, qdq=qdq_name, out_dtype=torch.bfloat16)
    expected = dense(request)
    assert (run_compiled(request).double() - expected).norm() <= 2.5e-3 * expected.norm()


@pytest.mark.parametrize("qdq_name", ["mxfp4", "mxfp8", "none"])
def test_relative_error_at_fp32(request_of, qdq_name):
    request = request_of(8, hidden=512, intermediate=256, qdq=qdq_name)
    expected = dense(request)
    assert (run_compiled(request).double() - expected).norm() <= 1e-5 * expected.norm()
