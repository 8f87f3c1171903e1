"""Calls that the Triton path has to answer as the torch path does, in groups, and their results in fp64."""
