"""Triton kernels of the stand-ins, one operation a module."""
