"""Versions of built extensions; the stub builds none."""


class ExtensionVersioner:
    """Stands for the table of versions."""
