"""version('aiter') asks for another project."""

import pytest


def test_a_host_that_meets_it(met):
    source = """\
    from importlib.metadata import version
    version('aiter')
    """
    assert met(source, "0.1.20") == [2]


@pytest.mark.parametrize(
    ("source", "releases"),
    [
        (
            """\
            from importlib.metadata import version
            version('amd-aiter')
            """,
            "0.1.20",
        ),
        (
            """\
            from importlib.metadata import version
            version('aiter')
            """,
            "<0.1.8",
        ),
    ],
)
def test_hosts_that_do_not(met, source, releases):
    assert met(source, releases) == []
