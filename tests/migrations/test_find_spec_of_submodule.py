"""find_spec of a module inside aiter imports aiter."""

import pytest


def test_a_host_that_meets_it(met):
    source = """\
    from importlib.util import find_spec
    find_spec('aiter.mla')
    """
    assert met(source, "0.1.20") == [2]


@pytest.mark.parametrize(
    ("source", "releases"),
    [
        (
            """\
            from importlib.util import find_spec
            find_spec('aiter')
            """,
            "0.1.20",
        ),
        (
            """\
            from importlib.util import find_spec
            find_spec('aiter.mla')
            """,
            "<0.1.10",
        ),
    ],
)
def test_hosts_that_do_not(met, source, releases):
    assert met(source, releases) == []
