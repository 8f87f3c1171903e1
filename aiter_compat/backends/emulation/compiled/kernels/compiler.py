"""How the functions of this package are compiled: without the GIL, IEEE arithmetic, cached on disk where possible."""

import hashlib
from pathlib import Path

import numba

from aiter_compat.backends.emulation.compiled import layer_call
from aiter_compat.logs import logger

inline = numba.njit(nogil=True, error_model="numpy", no_cpython_wrapper=True, no_cfunc_wrapper=True)
"""For functions that are compiled into the layer kernel."""


def _digest():
    digest = hashlib.sha256()
    for path in (*sorted(Path(__file__).parent.glob("*.py")), Path(layer_call.__file__)):
        digest.update(path.name.encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()


SOURCES = _digest()
"""Digest of all files that the kernels are made of.

numba's cache looks at the file of the cached function alone. A cached function is therefore built by a function that
takes the digest, and passes it to `belongs_to`: with a change of any file it is another function.
"""


def compiled(signature):
    """Compile for one signature now, from the cache if it is there; callable from Python.

    numba puts the cache beside the module, or where that is read-only into the user's cache folder, or into
    NUMBA_CACHE_DIR. Where none can be written, code is compiled anew in each process.
    """
    return lambda function: _cached(numba.njit, signature, function, nogil=True)


def separately(signature):
    """The same, callable by its address (`caller_of`)."""
    return lambda function: _cached(numba.cfunc, signature, function)


def _cached(compile_, signature, function, **options):
    try:
        return compile_(signature, error_model="numpy", cache=True, **options)(function)
    except RuntimeError as error:
        if "no locator available" not in str(error):
            raise
        logger.warning("compiled kernels cannot be cached (%s); set NUMBA_CACHE_DIR to a writable folder", error)
        return compile_(signature, error_model="numpy", **options)(function)
