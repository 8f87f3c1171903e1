"""Load the layer kernel once: from numba's cache, or by compiling it, which takes some ten seconds."""

from __future__ import annotations

import threading
import time

from aiter_compat.backends.emulation.compiled.availability import missing_requirement
from aiter_compat.backends.emulation.compiled.layer_call import LayerKernel
from aiter_compat.logs import logger

_lock = threading.Lock()
_loaded: LayerKernel | None = None


def layer_kernel() -> LayerKernel:
    """The compiled function; compiled on the first use in this process unless a cache on disk has it."""
    global _loaded  # noqa: PLW0603
    kernel = _loaded
    if kernel is not None:
        return kernel
    with _lock:
        if _loaded is None:
            start = time.perf_counter()
            logger.info("loading the compiled MoE kernel; without numba's cache on disk this takes some ten seconds")
            from aiter_compat.backends.emulation.compiled.kernels.entry import layer_kernel as loaded

            _loaded = loaded()  # type: ignore[no-untyped-call]
            logger.info("the compiled MoE kernel is ready after %.1f s", time.perf_counter() - start)
        return _loaded


def warm_up() -> str | None:
    """Compile the kernels now, or load them from numba's cache, so that the first token does not wait.

    Returns:
        None when they are ready, else what the machine lacks for them (then the torch path serves).
    """
    missing = missing_requirement()
    if missing is None:
        layer_kernel()
    return missing
