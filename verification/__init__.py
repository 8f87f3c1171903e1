"""Checks of what the tools say against sources that they do not ship with; run by hand."""
