"""Stub of AITER whose import swallows a failure: it logs one line and leaves most names undefined."""

import logging

import torch

logger = logging.getLogger("aiter")


def getLogger():
    """The package's logger, writing to stderr."""
    if not logger.handlers:
        handler = logging.StreamHandler()
        handler.setFormatter(logging.Formatter("[%(name)s] %(message)s"))
        logger.addHandler(handler)
        logger.setLevel(logging.INFO)
        logger.propagate = False
    return logger


getLogger()
try:
    from .jit import core as core
    from .utility import dtypes as dtypes
    from .ops.enum import *
except (ImportError, RuntimeError, OSError, KeyError) as error:
    logger.warning("ROCm/HIP JIT runtime not available: %s. CK and HIP ops are disabled.", error)

IRIS_COMM_AVAILABLE = False
