"""What the installed AITER can do, by name and with reasons: `ac.surface()`, `ac.capabilities()`, `ac.supports()`."""

from aiter_compat.features.capability import Capability, capabilities, forget_capabilities, supports
from aiter_compat.features.installed import active_surface, forget_surface

__all__ = ["Capability", "active_surface", "capabilities", "forget_capabilities", "forget_surface", "supports"]
