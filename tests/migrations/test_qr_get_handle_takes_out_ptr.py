"""A host that takes the handle from what is returned is told of v0.1.19.post1."""

import pytest


def test_a_host_that_meets_it(met):
    source = """\
    import aiter
    handle = aiter.qr_get_handle(pointer)
    """
    assert met(source, ">=0.1.19") == [2]


@pytest.mark.parametrize(
    ("source", "releases"),
    [
        (
            """\
            import aiter
            handle = aiter.qr_get_handle(pointer)
            """,
            ">=0.1.5,<0.1.19",
        ),
        (
            """\
            import aiter
            aiter.qr_open_handles(pointer, handles)
            """,
            ">=0.1.15,<0.1.19",
        ),
    ],
)
def test_hosts_that_do_not(met, source, releases):
    assert met(source, releases) == []
