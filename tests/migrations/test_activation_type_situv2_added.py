"""Naming Situv2 where it does not exist is reported with the way out."""

import pytest


def test_a_host_that_meets_it(met):
    source = """\
    from aiter import ActivationType
    x = ActivationType.Situv2
    """
    assert met(source, ">=0.1.18") == [2]


@pytest.mark.parametrize(
    ("source", "releases"),
    [
        (
            """\
            from aiter import ActivationType
            x = ActivationType.Situv2
            """,
            ">=0.1.19",
        ),
        (
            """\
            from aiter import ActivationType
            x = ActivationType.Silu
            """,
            ">=0.1.5",
        ),
        (
            """\
            from aiter import ActivationType
            x = getattr(ActivationType, 'Situv2', None)
            """,
            ">=0.1.18",
        ),
    ],
)
def test_hosts_that_do_not(met, source, releases):
    assert met(source, releases) == []
