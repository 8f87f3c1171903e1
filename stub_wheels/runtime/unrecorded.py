"""A placeholder for what a release defines and its record does not, so that a signature naming it can be defined."""


class Unrecorded:
    """Stands for a value; its attributes stand for the value's."""

    def __init__(self, name):
        self._name = name

    def __getattr__(self, attribute):
        if attribute.startswith("__"):
            raise AttributeError(attribute)
        return Unrecorded(f"{self._name}.{attribute}")

    def __repr__(self):
        return f"<{self._name}: not recorded>"
