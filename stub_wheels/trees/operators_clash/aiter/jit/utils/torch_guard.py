"""Registers operators with torch the way that torch 2.13 refuses: the namespace stands in the name twice."""


def register_operator(name):
    """Split the qualified name as torch 2.13 does, which expects one separator."""
    namespace, operator = f"aiter::aiter::{name}".split("::")
    return namespace, operator
