"""A call without ps runs another kernel since v0.1.14."""

import pytest


def test_a_host_that_meets_it(met):
    source = """\
    from aiter.ops.triton.gluon.pa_decode_gluon import pa_decode_gluon
    pa_decode_gluon(a)
    """
    assert met(source, ">=0.1.13") == [2]


@pytest.mark.parametrize(
    ("source", "releases"),
    [
        (
            """\
            from aiter.ops.triton.gluon.pa_decode_gluon import pa_decode_gluon
            pa_decode_gluon(a)
            """,
            ">=0.1.14",
        ),
        (
            """\
            from aiter.ops.triton.gluon.pa_decode_gluon import pa_decode_gluon
            pa_decode_gluon(a, ps=False)
            """,
            ">=0.1.13",
        ),
        (
            """\
            from aiter.ops.triton.gluon.pa_decode_gluon import pa_decode_gluon
            pa_decode_gluon(a, **more)
            """,
            ">=0.1.13",
        ),
    ],
)
def test_hosts_that_do_not(met, source, releases):
    assert met(source, releases) == []
