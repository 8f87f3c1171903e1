"""Naming Swiglu where it does not exist is reported with the way out."""

import pytest


def test_a_host_that_meets_it(met):
    source = """\
    from aiter import ActivationType
    x = {'silu': ActivationType.Silu, 'swiglu': ActivationType.Swiglu}
    """
    assert met(source, ">=0.1.6") == [2]


@pytest.mark.parametrize(
    ("source", "releases"),
    [
        (
            """\
            from aiter import ActivationType
            x = ActivationType.Swiglu
            """,
            ">=0.1.6.post2",
        ),
        (
            """\
            from aiter import ActivationType
            x = ActivationType.Gelu
            """,
            ">=0.1.5",
        ),
    ],
)
def test_hosts_that_do_not(met, source, releases):
    assert met(source, releases) == []
