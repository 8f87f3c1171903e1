"""Stands for the compiled module of AITER's enums up to v0.1.11.post1."""

from module_aiter_core import *  # noqa: F403
