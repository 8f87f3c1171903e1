"""A lock file between builders; the stub builds nothing."""


class FileBaton:
    """Stands for the lock."""
