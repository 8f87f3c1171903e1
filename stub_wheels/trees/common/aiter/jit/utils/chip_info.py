"""The GPU architecture, which needs ROCm's tools at import."""

from cpp_extension import executable_path


def get_gfx():
    """The architecture that the stub stands for."""
    executable_path("rocminfo")
    return "gfx950"
