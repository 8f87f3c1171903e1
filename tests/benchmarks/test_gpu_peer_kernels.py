"""The stand-ins of the GPU benchmark compute what they stand for: under Triton's interpreter, at small sizes."""

import os

import pytest
import torch

pytest.importorskip("triton")
if os.environ.get("TRITON_INTERPRET") != "1":
    pytest.skip("Triton's interpreter has to be asked for before triton is imported", allow_module_level=True)

from aiter_compat.backends.emulation import ActivationSpec, run
from aiter_compat.formats import qdq
from aiter_compat.profiles import profile
from benchmarks.gpu_cases.comparison import relative_difference
from benchmarks.gpu_cases.small_layers import Sizes, make
from benchmarks.peers_gpu.bf16_experts import Bf16Experts
from benchmarks.peers_gpu.kernels.rounding import through_mxfp4
from benchmarks.peers_gpu.kernels.slot_order import plan
from benchmarks.peers_gpu.vllm_emulation import VllmEmulation

CPU = torch.device("cpu")


@pytest.mark.parametrize("rule", ["nearest", "even_or_largest"])
def test_rounding_is_that_of_the_formats_bit_for_bit(rule: str) -> None:
    random = torch.Generator().manual_seed(1)
    x = torch.randn(5, 96, generator=random) * torch.exp2(torch.randint(-60, 60, (5, 1), generator=random))
    x[3] = 0
    x[4, :32] = torch.tensor([0.25, 0.75, 1.25, 1.75, 2.5, 3.5, 5.0, 6.0] * 4)
    numerics = profile(mxfp4_scale_rule=rule)
    assert torch.equal(through_mxfp4(x.bfloat16(), numerics), qdq(x.bfloat16(), "mxfp4", numerics))


@pytest.mark.parametrize("tokens", [1, 9, 150])
@pytest.mark.parametrize("rows", [16, 32])
def test_every_slot_is_in_one_block_of_its_expert(tokens: int, rows: int) -> None:
    ids = torch.randint(0, 6, (tokens, 2), generator=torch.Generator().manual_seed(tokens), dtype=torch.int32)
    made = plan(ids, 6, rows)
    found = []
    for expert, start in zip(made.block_expert.tolist(), made.block_start.tolist(), strict=True):
        if expert >= 0:
            slots = made.order[start : min(start + rows, int(made.bounds[expert + 1]))].tolist()
            assert slots
            assert all(ids.flatten()[slot] == expert for slot in slots)
            found += slots
    assert sorted(found) == list(range(ids.numel()))


@pytest.mark.parametrize(
    "spec", [ActivationSpec("silu"), ActivationSpec("swiglu", limit=7.0)], ids=lambda spec: spec.name
)
def test_bf16_experts_compute_the_layer(spec: ActivationSpec) -> None:
    request = make(CPU, Sizes(9, 3, 2, 96, 64), activation=spec, activation_format="none")
    experts = Bf16Experts(request)
    expected = run(request)
    # Four roundings to bf16 where the torch path has one, and the interpreter cuts off where a GPU rounds.
    assert relative_difference(experts.call(request), expected) < 3e-2
    assert torch.equal(VllmEmulation(experts).call(request), experts.call(request))
