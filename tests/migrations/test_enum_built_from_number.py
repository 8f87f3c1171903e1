"""Numbers of enum members are not stable."""

import pytest


def test_a_host_that_meets_it(met):
    source = """\
    from aiter import QuantType
    QuantType(3)
    """
    assert met(source, "0.1.20") == [2]


@pytest.mark.parametrize(
    ("source", "releases"),
    [
        (
            """\
            from aiter import QuantType
            QuantType(number)
            """,
            "0.1.20",
        ),
        (
            """\
            from aiter import QuantType
            QuantType.per_1x32
            """,
            "0.1.20",
        ),
    ],
)
def test_hosts_that_do_not(met, source, releases):
    assert met(source, releases) == []
