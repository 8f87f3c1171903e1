"""Stub of AITER whose import fails loudly when anything below it fails."""

import logging

import torch

logger = logging.getLogger("aiter")

from .jit import core as core
from .utility import dtypes as dtypes
from .ops.enum import *
