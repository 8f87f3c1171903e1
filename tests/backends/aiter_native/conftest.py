"""Stubs of AITER that this process imports, and the calls that use every argument of theirs."""

import importlib
from collections.abc import Iterator

import pytest
import torch
from packaging.version import Version

import aiter_compat as ac
from aiter_compat.releases import nearest_record, recorded_releases
from stub_wheels.sample_calls import SampleCall, sample_calls

NAMED = ("0.1.13.post1", "0.1.14", "0.1.15.post3")


def distinct_releases() -> list[str]:
    """The named releases, and the newest one of every other signature and set of enum members."""
    newest = {}
    for release in recorded_releases():
        surface = nearest_record(Version(release)).surface
        members = tuple(sorted(surface.members("aiter.ops.enum.ActivationType")))
        newest[surface.parameters("aiter.fused_moe.fused_moe"), members] = release
    return sorted({*NAMED, *newest.values()}, key=Version)


@pytest.fixture(params=distinct_releases())
def release(request) -> str:
    """Each release in turn."""
    return request.param


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture
def journal(aiter_stub):
    """Arguments of the last call that reached the stub of a release: `journal(release)` installs it."""

    def install(release):
        aiter_stub(release)
        ac.ActivationType.Silu  # noqa: B018 - imports AITER
        return importlib.import_module("aiter.stub_runtime.journal")

    return install


_calls: dict[str, SampleCall] = {}


@pytest.fixture
def sample():
    """The sample call of this name, built once: every stub shuffles weights alike. Install a stub first."""

    def find(name: str) -> SampleCall:
        if not _calls:
            _calls.update({call.name: call for call in sample_calls()})
        return _calls[name]

    return find
