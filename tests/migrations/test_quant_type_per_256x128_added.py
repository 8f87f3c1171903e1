"""Naming per_256x128 where it does not exist is reported with the way out."""

import pytest


def test_a_host_that_meets_it(met):
    source = """\
    import aiter
    x = aiter.QuantType.per_256x128
    """
    assert met(source, ">=0.1.11") == [2]


@pytest.mark.parametrize(
    ("source", "releases"),
    [
        (
            """\
            import aiter
            x = aiter.QuantType.per_256x128
            """,
            ">=0.1.12",
        ),
        (
            """\
            import aiter
            x = aiter.QuantType.per_1x128
            """,
            ">=0.1.5",
        ),
    ],
)
def test_hosts_that_do_not(met, source, releases):
    assert met(source, releases) == []
