"""Triton and Gluon code. Importing it needs Triton."""
