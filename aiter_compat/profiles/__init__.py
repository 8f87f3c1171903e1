"""Numerics profiles: the arithmetic of each AITER release and of its alternatives, as data."""

from aiter_compat.profiles.lookup import profile, profile_for_release, profile_names
from aiter_compat.profiles.model import NumericsProfile

__all__ = ["NumericsProfile", "profile", "profile_for_release", "profile_names"]
