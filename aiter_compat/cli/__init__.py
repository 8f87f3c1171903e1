"""The command `aiter-compat`: one file per sub-command."""
