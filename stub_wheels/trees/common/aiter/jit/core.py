"""Finds ROCm and binds operators. Imports its helpers as top-level modules, which outlive a failed import."""

import importlib
import os
import sys

this_dir = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, f"{this_dir}/utils/")
from chip_info import get_gfx
from file_baton import FileBaton
from torch_guard import register_operator

AITER_META_DIR = os.path.join(os.path.dirname(os.path.dirname(this_dir)), "aiter_meta")
sys.path.insert(0, AITER_META_DIR)


def compile_ops(module, attribute):
    """Replace a function by the attribute of a compiled module, found at the first call."""

    def bind(function):
        register_operator(function.__name__)

        def call(*arguments):
            return getattr(importlib.import_module(f"aiter.jit.{module}"), attribute)(*arguments)

        return call

    return bind
