"""The GPU architecture of a machine whose GPU the release does not know."""

from cpp_extension import executable_path

_COMPUTE_UNITS = {"gfx942": 304, "gfx950": 256}


def get_gfx():
    """The architecture, as the tool would print it here."""
    executable_path("rocminfo")
    return "gfx1151"


COMPUTE_UNITS = _COMPUTE_UNITS[get_gfx()]
