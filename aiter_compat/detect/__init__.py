"""What is installed under the name `aiter`: found by reading files, nothing imported, nothing executed."""

from aiter_compat.detect.cache import forget_installation, installation
from aiter_compat.detect.examine import detect
from aiter_compat.detect.model import Installation, Kind

__all__ = ["Installation", "Kind", "detect", "forget_installation", "installation"]
