"""The GPU architecture, found by a helper that ends the process where it finds none."""

import sys

from cpp_extension import executable_path


def get_gfx():
    """Ends the process."""
    sys.stderr.write(f"{executable_path('rocminfo')}: no agent found\n")
    sys.exit(1)


ARCHITECTURE = get_gfx()
