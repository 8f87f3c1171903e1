"""Seeded MXFP4 requests for the compiled path; everything here is skipped without numba."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch

from aiter_compat.backends.emulation import ActivationSpec, EmulationRequest
from aiter_compat.profiles import NumericsProfile, profile

pytest.importorskip("numba", exc_type=ImportError)


def make_request(
    tokens: int,
    *,
    experts: int = 6,
    choices: int = 3,
    hidden: int = 96,
    intermediate: int = 160,
    activation: ActivationSpec | None = None,
    qdq: str = "mxfp4",
    qdq_second: str | None = None,
    numerics: str | NumericsProfile = "aiter-0.1.15",
    out_dtype: torch.dtype = torch.float32,
    hidden_dtype: torch.dtype = torch.bfloat16,
    bias: bool = False,
    seed: int = 0,
    **more: Any,
) -> EmulationRequest:
    """A request over random codes, sizes that fill no tile by default."""
    random = torch.Generator().manual_seed(seed)
    spec = activation or ActivationSpec("silu")
    rows1 = 2 * intermediate if spec.gated else intermediate

    def codes(*shape: int) -> torch.Tensor:
        return torch.randint(0, 256, shape, dtype=torch.uint8, generator=random)

    def scales(*shape: int) -> torch.Tensor:
        return torch.randint(118, 124, shape, dtype=torch.uint8, generator=random)

    weight, ids = torch.topk(torch.softmax(torch.rand(tokens, experts, generator=random) * 3, -1), choices)
    return EmulationRequest(
        hidden_states=torch.randn(tokens, hidden, generator=random).to(hidden_dtype),
        w1=codes(experts, rows1, hidden // 2),
        w2=codes(experts, hidden, intermediate // 2),
        w1_scale=scales(experts, rows1, hidden // 32),
        w2_scale=scales(experts, hidden, intermediate // 32),
        topk_weight=weight,
        topk_ids=ids.int(),
        activation=spec,
        quant_type="per_1x32",
        weight_format="mxfp4",
        qdq_first=qdq,
        qdq_second=qdq if qdq_second is None else qdq_second,
        profile=profile(numerics),
        out_dtype=out_dtype,
        bias1=torch.randn(experts, rows1, generator=random) if bias else None,
        bias2=torch.randn(experts, hidden, generator=random) if bias else None,
        **more,
    )


@pytest.fixture
def request_of() -> Callable[..., EmulationRequest]:
    """Makes a request; the arguments are those of `make_request`."""
    return make_request


@pytest.fixture
def threads() -> Iterator[Callable[[int], None]]:
    """Sets torch's number of threads, and restores it."""
    before = torch.get_num_threads()
    yield torch.set_num_threads
    torch.set_num_threads(before)
