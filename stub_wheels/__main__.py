"""`python -m stub_wheels NAME FOLDER`, or `python stub_wheels/__main__.py NAME FOLDER` from anywhere."""

import sys
from pathlib import Path

if not __package__:
    # Run as a path, as tox does: under PYTHONSAFEPATH the checkout is not importable. Added last, so that an
    # installed aiter_compat still wins over the checkout's.
    sys.path.append(str(Path(__file__).resolve().parent.parent))

from stub_wheels.command_line import main

if __name__ == "__main__":
    sys.exit(main())
