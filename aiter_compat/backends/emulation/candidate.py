"""What the fast paths look at when they are asked whether they serve a call."""

from __future__ import annotations

from typing import Protocol

import torch


class Candidate(Protocol):
    """A call, as far as its form goes; `EmulationRequest` has it, and so has the call that a request is made from."""

    @property
    def hidden_states(self) -> torch.Tensor: ...  # noqa: D102
    @property
    def w1(self) -> torch.Tensor: ...  # noqa: D102
    @property
    def w2(self) -> torch.Tensor: ...  # noqa: D102
    @property
    def topk_ids(self) -> torch.Tensor: ...  # noqa: D102
    @property
    def w1_scale(self) -> torch.Tensor | None: ...  # noqa: D102
    @property
    def w2_scale(self) -> torch.Tensor | None: ...  # noqa: D102
    @property
    def a1_scale(self) -> torch.Tensor | None: ...  # noqa: D102
    @property
    def a2_scale(self) -> torch.Tensor | None: ...  # noqa: D102
    @property
    def bias1(self) -> torch.Tensor | None: ...  # noqa: D102
    @property
    def bias2(self) -> torch.Tensor | None: ...  # noqa: D102
    @property
    def shared_w1(self) -> torch.Tensor | None: ...  # noqa: D102
    @property
    def shared_w2(self) -> torch.Tensor | None: ...  # noqa: D102
    @property
    def shared_w1_scale(self) -> torch.Tensor | None: ...  # noqa: D102
    @property
    def shared_w2_scale(self) -> torch.Tensor | None: ...  # noqa: D102
    @property
    def num_local_tokens(self) -> torch.Tensor | int | None: ...  # noqa: D102
    @property
    def weight_format(self) -> str: ...  # noqa: D102
