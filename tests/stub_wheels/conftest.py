"""The releases that the tests of stubs run on."""

import pytest
from packaging.version import Version

from aiter_compat.releases import nearest_record, recorded_releases


def distinct_releases() -> list[str]:
    """The newest release of each kind: those whose `fused_moe`, enums and GateMode look alike make the same stub.

    From v0.1.12 on: no factor of tox.ini is older.
    """
    newest: dict[object, str] = {}
    for release in (one for one in recorded_releases() if Version(one) >= Version("0.1.12")):
        surface = nearest_record(Version(release)).surface
        enums = frozenset((path, *symbol.members.items()) for path, symbol in surface.symbols.items() if symbol.members)
        newest[surface.parameters("aiter.fused_moe.fused_moe"), enums] = release
    return list(newest.values())


@pytest.fixture(params=distinct_releases())
def release(request) -> str:
    """Each distinct release in turn."""
    return request.param
