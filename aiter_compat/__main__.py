"""`python -m aiter_compat`."""

import sys

from aiter_compat.cli.main import main

sys.exit(main())
