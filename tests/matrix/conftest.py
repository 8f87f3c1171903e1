"""Tests against an AITER that is really installed. TOX_AITER names its factor; without it nothing here is collected.

tox sets it, one environment for each factor; the `none` environment runs factors that plain `tox run` gives no
environment once more, each in a process that finds its stub in a temporary folder.
"""

import builtins
import os
import zlib
from pathlib import Path

import pytest

from stub_wheels import Factor, factor

FILES = {
    "absent": "test_matrix_absent.py",
    "served": "test_matrix_calls.py",
    "too_old": "test_matrix_too_old.py",
    "fails": "test_matrix_failures.py",
    "foreign": "test_matrix_not_aiter.py",
    "namespace": "test_matrix_not_aiter.py",
}


def chosen() -> Factor | None:
    """The factor that TOX_AITER names."""
    name = os.environ.get("TOX_AITER")
    if name is None:
        return None
    try:
        return factor(name)
    except LookupError as error:
        raise pytest.UsageError(f"TOX_AITER={name!r} is not allowed: {error}") from error


FACTOR = chosen()
collect_ignore = sorted(set(FILES.values()) - {FILES[FACTOR.expectation] if FACTOR else None})


def pytest_collection_modifyitems(items) -> None:
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.matrix)


@pytest.fixture(scope="session")
def installed() -> Factor:
    """The factor of this environment."""
    return FACTOR


@pytest.fixture
def failure() -> tuple[str, type[BaseException], str]:
    """Version of the failing stub that tox installed, and the error that importing it raises."""
    kind, message = FACTOR.failure
    return FACTOR.version, getattr(builtins, kind), message


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
