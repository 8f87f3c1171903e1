"""`Decision`: which backend serves a call and why."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Rejection:
    """A backend that does not serve the call, with every reason."""

    backend: str
    reasons: tuple[str, ...]


@dataclass(frozen=True)
class Decision:
    """Which backend serves a call and why; `str()` is what a person reads.

    Attributes:
        backend: "aiter" or "emulation".
        path: "aiter.fused_moe.fused_moe", or the emulation's path ("torch", "compiled",
            "triton").
        reason: why this backend, in one sentence.
        rejected: the other backends with their reasons.
        release: version of the installed AITER; None without one.
        numerics: name of the numerics profile that the result follows.
        activation_format: format that activations are quantised to before both GEMMs ("none": not at all).
        activation_format_reason: who chose it.
        weight_layout: memory layout that w1 and w2 are read in.
        gate_mode: canonical gate mode.
        hidden_pad: as passed to AITER; the emulation computes over the full size.
        intermediate_pad: likewise.
        notes: quirks of the release, and choices that a person should know of.
        path_reason: why the emulation takes this path, and in which form where it has several; "" when AITER serves the
            call.
        quirks: names of the installed AITER's quirks that apply to the call, whichever backend serves it.
    """

    backend: str
    path: str
    reason: str
    rejected: tuple[Rejection, ...]
    release: str | None
    numerics: str
    activation_format: str
    activation_format_reason: str
    weight_layout: str
    gate_mode: str
    hidden_pad: int = 0
    intermediate_pad: int = 0
    notes: tuple[str, ...] = ()
    path_reason: str = ""
    quirks: tuple[str, ...] = ()

    def __str__(self) -> str:
        lines = [f"{self.backend} ({self.path}): {self.reason}"]
        for rejection in self.rejected:
            lines.append(f"  not {rejection.backend}:")
            lines.extend(f"    - {reason}" for reason in rejection.reasons)
        if self.path_reason:
            lines.append(f"  path: {self.path}, {self.path_reason}")
        lines.append(f"  numerics: {self.numerics}")
        lines.append(f"  activations: {self.activation_format} ({self.activation_format_reason})")
        lines.append(f"  weights: {self.weight_layout}, gate_mode {self.gate_mode}")
        if self.hidden_pad or self.intermediate_pad:
            lines.append(f"  pads: hidden {self.hidden_pad}, intermediate {self.intermediate_pad}")
        lines.extend(f"  note: {note}" for note in self.notes)
        if self.quirks and self.backend != "aiter":
            lines.append(f"  quirks of AITER {self.release} for such a call: {', '.join(self.quirks)}")
        return "\n".join(lines)

    def as_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON."""
        plain = {name: getattr(self, name) for name in self.__dataclass_fields__}
        plain["rejected"] = {rejection.backend: list(rejection.reasons) for rejection in self.rejected}
        plain["notes"] = list(self.notes)
        plain["quirks"] = list(self.quirks)
        return plain
