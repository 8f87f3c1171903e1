"""The probe for flydsl may raise since v0.1.16."""

import pytest


def test_a_host_that_meets_it(met):
    source = """\
    from aiter.ops.flydsl.utils import is_flydsl_available
    if is_flydsl_available():
        pass
    """
    assert met(source, ">=0.1.15") == [2]


@pytest.mark.parametrize(
    ("source", "releases"),
    [
        (
            """\
            from aiter.ops.flydsl.utils import is_flydsl_available
            is_flydsl_available()
            """,
            ">=0.1.13,<0.1.16",
        ),
        (
            """\
            from aiter.ops.flydsl.utils import is_flydsl_available
            try:
                is_flydsl_available()
            except ImportError:
                pass
            """,
            ">=0.1.16",
        ),
    ],
)
def test_hosts_that_do_not(met, source, releases):
    assert met(source, releases) == []
