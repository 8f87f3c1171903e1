"""hasattr on the namespace is no probe where its own import swallows errors."""

import pytest


def test_a_host_that_meets_it(met):
    source = """\
    import aiter
    hasattr(aiter, 'get_hip_quant')
    """
    assert met(source, ">=0.1.13") == [2]


@pytest.mark.parametrize(
    ("source", "releases"),
    [
        (
            """\
            import aiter
            hasattr(aiter, 'get_hip_quant')
            """,
            ">=0.1.15",
        ),
        (
            """\
            import aiter
            hasattr(aiter, 'get_hip_quant')
            """,
            ">=0.1.13,<0.1.14",
        ),
        (
            """\
            from aiter import mla
            hasattr(mla, 'mla_decode_fwd')
            """,
            ">=0.1.13",
        ),
    ],
)
def test_hosts_that_do_not(met, source, releases):
    assert met(source, releases) == []
