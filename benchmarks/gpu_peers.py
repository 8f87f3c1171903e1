"""The contenders of the GPU benchmark: built once a layer, each on its own, so that one that fails stops no other."""

from __future__ import annotations

import traceback
from argparse import Namespace
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import torch

from aiter_compat.backends.emulation import EmulationRequest

OURS = "aiter_compat"
PEERS = ("triton_kernels", "vllm", "bf16", "aiter")
"""What `--peers` takes, the closest first."""


@dataclass(frozen=True)
class Peer:
    """One way to compute the layer.

    Attributes:
        call: the work, from a request to [M, H].
        prepare: what may be done for a batch before the time is taken; None for nothing.
        rounds_activations: False where the activations stay bf16, which is less work than the request asks for.
        in_graph: False for what waits for the device, and cannot be captured.
        most_tokens: above it the peer is left out, for its memory or its time.
    """

    call: Callable[[EmulationRequest], torch.Tensor]
    prepare: Callable[[EmulationRequest], None] | None = None
    rounds_activations: bool = True
    in_graph: bool = True
    most_tokens: int = 1 << 30


def build(layer: EmulationRequest, options: Namespace) -> tuple[dict[str, Peer], dict[str, str]]:
    """Ours and the peers of `options.peers`.

    Args:
        layer: the weights.
        options: `peers`, and `triton_kernels`, the path of that library or None.

    Returns:
        What could be built, by the name that the tables show; and the errors of the rest.
    """
    # Several peers share the decoded weights of one layer, and the memory for them.
    makers: Mapping[str, Callable[[], dict[str, Peer]]] = {
        OURS: _ours,
        "triton_kernels": lambda: _triton_kernels(layer, options),
        "vllm": lambda: _bf16(layer, "vllm" in options.peers, "bf16" in options.peers),
        "aiter": _aiter,
    }
    built: dict[str, Peer] = {}
    failed: dict[str, str] = {}
    for name, make in makers.items():
        wanted = name == OURS or name in options.peers or (name == "vllm" and "bf16" in options.peers)
        if not wanted:
            continue
        try:
            built.update(make())
        except Exception as error:  # noqa: BLE001 - a peer that cannot be had must not stop the others
            traceback.print_exc()
            failed[name] = f"{type(error).__name__}: {error}"
    return built, failed


def _ours() -> dict[str, Peer]:
    from aiter_compat.backends.emulation.triton_path import run_triton

    return {OURS: Peer(run_triton)}


def _triton_kernels(layer: EmulationRequest, options: Namespace) -> dict[str, Peer]:
    from benchmarks.peers_gpu.openai_triton_kernels import OpenaiTritonKernels

    if options.triton_kernels is None:
        raise FileNotFoundError("no --triton-kernels PATH")
    peer = OpenaiTritonKernels(layer, options.triton_kernels)
    return {peer.name: Peer(peer.call, peer.prepare, rounds_activations=False)}


def _bf16(layer: EmulationRequest, decoded_in_each_call: bool, kept: bool) -> dict[str, Peer]:
    from benchmarks.peers_gpu.bf16_experts import Bf16Experts
    from benchmarks.peers_gpu.vllm_emulation import VllmEmulation

    experts = Bf16Experts(layer)
    emulation = VllmEmulation(experts)
    peers = {}
    if decoded_in_each_call:
        peers[emulation.name] = Peer(emulation.call)
    if kept:
        peers[experts.name] = Peer(experts.call)
    return peers


def _aiter() -> dict[str, Peer]:
    from benchmarks.peers_gpu.aiter_reference import AiterReference

    reference = AiterReference()
    return {reference.name: Peer(reference.call, in_graph=False, most_tokens=4096)}
