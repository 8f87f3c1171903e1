"""The same layer in ggml (llama.cpp's arithmetic: MXFP4 weights, activations in Q8_0), where a package brings it.

pywhispercpp's wheel has ggml's libraries with MXFP4 and without a model; they are called through ctypes. ggml rounds
activations to 8-bit blocks instead of MXFP4, so its result is another one: `Layer.call` is a peer in time alone.
"""

from __future__ import annotations

import ctypes
import importlib.metadata
from collections.abc import Callable, Iterator
from pathlib import Path

import torch

from aiter_compat.backends.emulation import EmulationRequest

_PACKAGE = "pywhispercpp"
_F32, _I32, _MXFP4 = 0, 26, 39  # enum ggml_type
_REPACK = "_Z35ggml_backend_cpu_repack_buffer_typev"  # a C++ function, exported under its mangled name
_CONTEXT_BYTES = 1 << 20
_POINTER, _SIZE = ctypes.c_void_p, ctypes.c_size_t
_LOG = ctypes.CFUNCTYPE(None, ctypes.c_int, ctypes.c_char_p, _POINTER)
_SILENCE = _LOG(lambda *_: None)


class _InitParams(ctypes.Structure):
    _fields_ = (("mem_size", _SIZE), ("mem_buffer", _POINTER), ("no_alloc", ctypes.c_bool))


class _Library:
    """ggml's functions, all returning and taking pointers unless said otherwise."""

    def __init__(self, base: Path, cpu: Path) -> None:
        self._parts = [ctypes.CDLL(str(path), mode=ctypes.RTLD_GLOBAL) for path in (base, cpu)]
        self.pointer("ggml_log_set", _LOG, _POINTER)
        self.call("ggml_log_set", _SILENCE, None)
        self.pointer("ggml_init", _InitParams)
        for name in ("ggml_mul_mat_id", "ggml_swiglu", "ggml_mul", "ggml_add"):
            self.pointer(name, *[_POINTER] * (4 if name == "ggml_mul_mat_id" else 3 if name != "ggml_swiglu" else 2))
        self.pointer("ggml_new_tensor_3d", _POINTER, ctypes.c_int, *[ctypes.c_int64] * 3)
        self.pointer("ggml_view_2d", _POINTER, _POINTER, ctypes.c_int64, ctypes.c_int64, _SIZE, _SIZE)
        self.pointer("ggml_cont", _POINTER, _POINTER)
        self.pointer("ggml_new_graph", _POINTER)
        self.pointer("ggml_build_forward_expand", _POINTER, _POINTER)
        self.pointer("ggml_backend_cpu_init")
        self.pointer("ggml_backend_cpu_set_n_threads", _POINTER, ctypes.c_int)
        self.pointer("ggml_backend_alloc_ctx_tensors", _POINTER, _POINTER)
        self.pointer("ggml_backend_alloc_ctx_tensors_from_buft", _POINTER, _POINTER)
        self.pointer("ggml_backend_tensor_set", _POINTER, _POINTER, _SIZE, _SIZE)
        self.pointer("ggml_backend_tensor_get", _POINTER, _POINTER, _SIZE, _SIZE)
        self.pointer("ggml_backend_graph_compute", _POINTER, _POINTER)
        self.pointer(_REPACK)

    def pointer(self, name: str, *arguments: type) -> None:
        """Declare a function."""
        function = self._find(name)
        function.restype, function.argtypes = _POINTER, arguments
        setattr(self, name, function)

    def _find(self, name: str) -> ctypes._NamedFuncPointer:
        for part in self._parts:
            if hasattr(part, name):
                return getattr(part, name)  # type: ignore[no-any-return]
        raise AttributeError(f"{_PACKAGE} has no ggml function {name}")

    def call(self, name: str, *arguments: object) -> int:
        """Call a declared function."""
        return getattr(self, name)(*arguments)  # type: ignore[no-any-return]


def library() -> tuple[_Library, str] | None:
    """The library and the package that it is from; None where that is not installed."""
    try:
        files = importlib.metadata.files(_PACKAGE) or []
    except importlib.metadata.PackageNotFoundError:
        return None
    found = {
        kind: Path(str(file.locate()))
        for kind in ("base", "cpu")
        for file in files
        if file.parent.name.endswith(".libs") and file.name.startswith(f"libggml-{kind}")
    }
    if len(found) < 2:
        return None
    return _Library(found["base"], found["cpu"]), f"{_PACKAGE} {importlib.metadata.version(_PACKAGE)}"


class Layer:
    """An MXFP4 layer in ggml's memory.

    Args:
        ggml: `library()`.
        request: the layer; SwiGLU without bias.
        threads: how many compute.
        repacked: weights in groups of eight rows, which ggml makes once at load where the processor gains by it; else
            rows as in the file.
    """

    def __init__(self, ggml: _Library, request: EmulationRequest, threads: int, repacked: bool) -> None:
        self._ggml = ggml
        self._backend = ggml.call("ggml_backend_cpu_init")
        ggml.call("ggml_backend_cpu_set_n_threads", self._backend, threads)
        context = self._context()
        experts, rows1, _ = request.w1.shape
        self._hidden, self._intermediate = request.w2.shape[1], rows1 // 2
        self._weights = [
            ggml.call("ggml_new_tensor_3d", context, _MXFP4, columns, rows, experts)
            for columns, rows in ((self._hidden, rows1), (self._intermediate, self._hidden))
        ]
        if repacked:
            ggml.call("ggml_backend_alloc_ctx_tensors_from_buft", context, ggml.call(_REPACK))
        else:
            ggml.call("ggml_backend_alloc_ctx_tensors", context, self._backend)
        pairs = ((request.w1, request.w1_scale), (request.w2, request.w2_scale))
        for tensor, (codes, scales) in zip(self._weights, pairs, strict=True):
            assert scales is not None
            blocks = _ggml_blocks(codes, scales)
            ggml.call("ggml_backend_tensor_set", tensor, blocks.data_ptr(), 0, blocks.numel())

    def call(self, requests: list[EmulationRequest]) -> Callable[[], torch.Tensor]:
        """What computes the layer for the next of several batches of one size."""
        ggml = self._ggml
        tokens, choices = requests[0].topk_ids.shape
        context = self._context()
        x = ggml.call("ggml_new_tensor_3d", context, _F32, self._hidden, 1, tokens)
        ids = ggml.call("ggml_new_tensor_3d", context, _I32, choices, tokens, 1)
        weight = ggml.call("ggml_new_tensor_3d", context, _F32, 1, choices, tokens)
        gate_up = ggml.call("ggml_mul_mat_id", context, self._weights[0], x, ids)
        activated = ggml.call("ggml_swiglu", context, gate_up)
        shares = ggml.call("ggml_mul_mat_id", context, self._weights[1], activated, ids)
        shares = ggml.call("ggml_mul", context, shares, weight)
        row = 4 * self._hidden
        total = None
        for choice in range(choices):
            arguments = (shares, self._hidden, tokens, row * choices, row * choice)
            share = ggml.call("ggml_view_2d", context, *arguments)
            total = share if total is None else ggml.call("ggml_add", context, total, share)
        if choices == 1:
            total = ggml.call("ggml_cont", context, total)
        graph = ggml.call("ggml_new_graph", context)
        ggml.call("ggml_build_forward_expand", graph, total)
        ggml.call("ggml_backend_alloc_ctx_tensors", context, self._backend)
        batches = _cycle_of_inputs(requests)
        result = torch.empty(tokens, self._hidden)

        def compute() -> torch.Tensor:
            for tensor, value in zip((x, ids, weight), next(batches), strict=True):
                ggml.call("ggml_backend_tensor_set", tensor, value.data_ptr(), 0, value.numel() * 4)
            ggml.call("ggml_backend_graph_compute", self._backend, graph)
            ggml.call("ggml_backend_tensor_get", total, result.data_ptr(), 0, result.numel() * 4)
            return result

        return compute

    def _context(self) -> int:
        return self._ggml.call("ggml_init", _InitParams(_CONTEXT_BYTES, None, True))


def _cycle_of_inputs(requests: list[EmulationRequest]) -> Iterator[tuple[torch.Tensor, ...]]:
    inputs = [
        (request.hidden_states.float().contiguous(), request.topk_ids.int().contiguous(), request.topk_weight.float())
        for request in requests
    ]
    while True:
        yield from inputs


def _ggml_blocks(codes: torch.Tensor, scales: torch.Tensor) -> torch.Tensor:
    """[..., blocks, 17] bytes: the scale, then the codes with columns 0 to 15 in the low halves and 16 to 31 above."""
    packed = codes.unflatten(-1, (-1, 16))
    columns = torch.stack((packed & 0xF, packed >> 4), dim=-1).flatten(-2)
    halves = columns[..., :16] | (columns[..., 16:] << 4)
    return torch.cat((scales.unsqueeze(-1), halves), dim=-1).contiguous()
