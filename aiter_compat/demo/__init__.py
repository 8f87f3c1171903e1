"""The main job: real host models run MXFP4 experts through aiter_compat, checked against a dense reference.

Nothing here imports torch or transformers until `run_demo` has made sure that they are installed.
"""

from aiter_compat.demo.command import run_demo

__all__ = ["run_demo"]
