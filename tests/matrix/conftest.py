"""Tests against an AITER that is really installed. TOX_AITER names which; without it nothing here is collected.

tox sets it, one environment for each name; the `none` environment runs the names that have no environment of their
own once more, each in a process that finds its stub in a temporary folder.
"""

import os
import zlib
from pathlib import Path

import pytest

RELEASES = {"0113post1": "0.1.13.post1", "0114": "0.1.14", "0115post3": "0.1.15.post3"}
FAILURES = {
    "broken": ("0.1.15.post3", RuntimeError, "ROCm version file not found"),
    "incompatible": ("0.1.15.post3", ValueError, "too many values to unpack (expected 2)"),
    "truncated": ("0.1.14", ImportError, "cannot import name 'ActivationType' from 'aiter'"),
}
TESTS = {
    **dict.fromkeys(RELEASES, "test_matrix_calls.py"),
    **dict.fromkeys(FAILURES, "test_matrix_failures.py"),
    "foreign": "test_matrix_foreign.py",
    "none": "test_matrix_absent.py",
}
FACTOR = os.environ.get("TOX_AITER")
if FACTOR is not None and FACTOR not in TESTS:
    raise pytest.UsageError(f"TOX_AITER={FACTOR!r} is not allowed: use one of {', '.join(TESTS)}")
collect_ignore = sorted(set(TESTS.values()) - {TESTS.get(FACTOR)})


def pytest_collection_modifyitems(items) -> None:
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.matrix)


@pytest.fixture
def release() -> str:
    """Version of the working stub that tox installed."""
    return RELEASES[FACTOR]


@pytest.fixture
def failure() -> tuple[str, type[Exception], str]:
    """Version of the failing stub that tox installed, and the error that importing it raises."""
    return FAILURES[FACTOR]


@pytest.fixture
def other_stubs() -> dict[str, str]:
    """Names without an environment in the default list of tox, with what makes their wheel."""
    return {"0114": RELEASES["0114"], **{name: name for name in FAILURES}}


@pytest.fixture
def plain_call():
    """An unquantised call that any backend computes, and its output computed without aiter_compat."""
    import torch

    generator = torch.Generator().manual_seed(zlib.crc32(b"plain call"))
    w1 = torch.randn(4, 128, 64, generator=generator).mul(0.1).bfloat16()
    w2 = torch.randn(4, 64, 64, generator=generator).mul(0.1).bfloat16()
    hidden = torch.randn(5, 64, generator=generator).bfloat16()
    weights, ids = torch.rand(5, 4, generator=generator).topk(2)
    gate, up = torch.einsum("mh,eih->mei", hidden.float(), w1.float()).chunk(2, dim=-1)
    every_expert = torch.einsum("mei,ehi->meh", torch.nn.functional.silu(gate) * up, w2.float())
    chosen = every_expert.gather(1, ids[..., None].expand(-1, -1, 64))
    call = {"hidden_states": hidden, "w1": w1, "w2": w2, "topk_weight": weights, "topk_ids": ids.int()}
    return call, (chosen * weights[..., None]).sum(dim=1)
