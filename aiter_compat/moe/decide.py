"""Decide which backend serves a call, with every reason."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import TYPE_CHECKING

from packaging.version import Version

from aiter_compat.backends.aiter_native import Expression, device_refusal, express
from aiter_compat.backends.aiter_native.architectures import architecture
from aiter_compat.backends.emulation import form_reason, refusals, triton_refusals
from aiter_compat.backends.moe_call import MoECall
from aiter_compat.detect import installation
from aiter_compat.errors import (
    AiterImportError,
    InvalidArgument,
    LayoutUnknown,
    UnsupportedByAiter,
    UnsupportedByEmulation,
)
from aiter_compat.features import active_surface
from aiter_compat.moe.checks import FLOATING
from aiter_compat.moe.decision import Decision, Rejection
from aiter_compat.native import ImportOutcome, attempt
from aiter_compat.profiles import NumericsProfile, profile, profile_for_release
from aiter_compat.quirks import activation_format
from aiter_compat.releases import record
from aiter_compat.settings import settings
from aiter_compat.warning_types import warn_once

if TYPE_CHECKING:
    import torch

_MODULE = "aiter.fused_moe"
_EMULATION_NAMES = ("emulation", "torch", "compiled", "triton")
_FAST_PATHS = {"compiled": refusals, "triton": triton_refusals}
_PREFIX = "aiter-"
_CALLER = 6  # frames from who warns to the user: the decision, `plan_call`, `serve`, the public function, its front


@dataclass(frozen=True)
class Plan:
    """A decision with what running it needs.

    Attributes:
        decision: what a person reads.
        expression: the call in AITER's terms, when AITER serves it.
        profile: the arithmetic, when the emulation serves it.
        token_bounds: numbers of tokens at which the decision may change. Whatever makes a decision depend on M puts
            its bound here: between two bounds a prepared call serves every M.
    """

    decision: Decision
    expression: Expression | None = None
    profile: NumericsProfile | None = None
    token_bounds: tuple[int, ...] = ()


@dataclass(frozen=True)
class _Native:
    """What stands between the call and the installed AITER, if one is installed."""

    label: str
    version: Version | None = None
    expression: Expression | None = None
    outcome: ImportOutcome | None = None
    device: str | None = None
    absent: str | None = None


def plan_call(call: MoECall, *, quiet: bool = False) -> Plan:
    """Decide.

    Args:
        call: a checked call.
        quiet: issue no warning (for `explain`).

    Raises:
        UnsupportedByAiter: AITER was asked for (or strict mode is on) and this release cannot express the call.
        AiterImportError: AITER was asked for and is absent, or fails to import.
        LayoutUnknown: the weights' layout decides the result and nothing states it.
        UnsupportedByEmulation: the emulation serves the call and does not have what it asks for.
    """
    _refuse_unknown_interleave(call)
    if call.backend in _EMULATION_NAMES:
        return _emulate(call, f"backend={call.backend!r} was asked for", (), None)
    native = _examine(call)
    if call.backend == "aiter":
        return _aiter_by_word(call, native, quiet)
    reasons = _reasons_against(native)
    if not reasons:
        return _serve_natively(call, native, f"{native.label} can express the call and this device runs it")
    return _fall_back(call, native, reasons, quiet)


def _examine(call: MoECall) -> _Native:
    found = installation()
    surface = active_surface()
    if surface is None:
        return _Native("AITER", absent=str(found))
    version = found.release
    label = f"AITER {found.version}" if found.version else "the installed AITER (version unknown)"
    return _Native(
        label,
        version,
        express(call, surface, version),
        attempt(_MODULE),
        device_refusal(call.hidden_states.device, call.quant_type),
    )


def _aiter_by_word(call: MoECall, native: _Native, quiet: bool) -> Plan:
    if native.absent is not None or native.expression is None or native.outcome is None:
        raise AiterImportError([native.absent or native.label], 'Install AITER, or use backend="auto".')
    if native.expression.refusals:
        raise UnsupportedByAiter(native.expression.refusals.values(), 'backend="auto" computes it by emulation.')
    if native.outcome.error is not None:
        raise AiterImportError(
            [native.outcome.reason], 'backend="auto" computes it by emulation.'
        ) from native.outcome.error
    if not quiet:
        for quirk in (quirk for quirk in native.expression.quirks if quirk.warns and quirk.outcome != "note"):
            message = f"{native.label}: {quirk.effect}. To be sure, {quirk.remedy}. ({quirk.source})"
            warn_once(f"quirk:{quirk.name}", message, stacklevel=_CALLER)
    return _serve_natively(call, native, 'backend="aiter" was asked for')


def _reasons_against(native: _Native) -> tuple[str, ...]:
    if native.absent is not None or native.expression is None or native.outcome is None:
        return (native.absent or native.label,)
    reasons = list(native.expression.refusals.values())
    if native.outcome.error is not None:
        reasons.append(native.outcome.reason)
    if native.device is not None:
        reasons.append(native.device)
    reasons += [str(quirk) for quirk in native.expression.quirks if not quirk.harmless]
    return tuple(reasons)


def _serve_natively(call: MoECall, native: _Native, reason: str) -> Plan:
    expression = native.expression
    assert expression is not None  # noqa: S101 - both callers have looked
    decision = Decision(
        backend="aiter",
        path="aiter.fused_moe.fused_moe",
        reason=reason,
        rejected=(Rejection("emulation", ("AITER serves the call",)),),
        release=_version_text(),
        numerics=profile_for_release(native.version),
        activation_format=expression.activation_format.format,
        activation_format_reason=expression.activation_format.reason,
        weight_layout=call.known_layout or "as given (not stated)",
        gate_mode=call.gate_mode,
        hidden_pad=call.hidden_pad,
        intermediate_pad=call.intermediate_pad,
        notes=(*call.notes, *(quirk.note for quirk in expression.quirks)),
        quirks=tuple(quirk.name for quirk in expression.quirks),
    )
    return Plan(decision, expression=expression, token_bounds=(expression.activation_format.bound,))


def _fall_back(call: MoECall, native: _Native, reasons: tuple[str, ...], quiet: bool) -> Plan:
    imports = native.outcome is not None and native.outcome.error is None
    refusals = dict(native.expression.refusals) if native.expression is not None and imports else {}
    if native.device is not None:
        # prepare_weights leaves weights in rows exactly because this device is not AITER's: nothing to complain of
        refusals.pop("weight_layout", None)
    if refusals and settings().strict:
        raise UnsupportedByAiter(refusals.values(), "AITER_COMPAT_STRICT=1 forbids the emulation of such a call.")
    if imports and native.device is None and call.known_layout is None:
        raise LayoutUnknown(
            f"weight_layout: {native.label} is usable, so these weights were probably shuffled for it, but it cannot "
            f"serve this call ({'; '.join(reasons)}) and nothing says how they lie in memory. "
            "Pass weight_layout='logical', 'shuffle_16x16' or 'a16w4'."
        )
    if not quiet:
        for cause, reason in refusals.items():
            warn_once(f"fallback:{cause}", f"emulating: {reason}", stacklevel=_CALLER)
    return _emulate(call, native.device or reasons[0], reasons, native)


def _emulate(call: MoECall, reason: str, against_aiter: tuple[str, ...], native: _Native | None) -> Plan:
    unknown = sorted(name for name, value in call.extra.items() if value is not None)
    if unknown:
        raise UnsupportedByEmulation(
            f"{', '.join(unknown)}: no recorded AITER release has this keyword, so the emulation does not know what it "
            f"means{_and_aiter(against_aiter)}. Leave it out or pass None."
        )
    if call.gate_mode == "gate_only":
        raise UnsupportedByEmulation('gate_mode="gate_only" is reserved in AITER and has no meaning to emulate.')
    arithmetic, release = _arithmetic(call, native)
    chosen, why = call.activation_qdq, f"{call.qdq_asked_by} asks for it"
    bounds = [] if native is None or native.expression is None else [native.expression.activation_format.bound]
    if chosen == "as_aiter":
        choice = activation_format(
            version=release,
            activation=call.activation.function,
            gate_mode=call.gate_mode,
            quant_type=call.quant_type,
            weights=call.weight_format,
            tokens=call.tokens,
            arch=architecture(call.hidden_states.device),
        )
        chosen, why = choice.format, f"{choice.reason}; as v{release}"
        bounds.append(choice.bound)
    if call.quant_type not in _EMULATED:
        raise UnsupportedByEmulation(
            f"quant_type={call.quant_type}: the emulation has {', '.join(_EMULATED)}{_and_aiter(against_aiter)}."
        )
    layout = call.known_layout or "logical"
    path, path_reason = _emulation_path(call, layout, chosen, arithmetic)
    decision = Decision(
        backend="emulation",
        path=path,
        reason=reason,
        rejected=(Rejection("aiter", against_aiter),) if against_aiter else (),
        release=_version_text(),
        numerics=_label(arithmetic),
        activation_format=chosen,
        activation_format_reason=why,
        weight_layout=layout,
        gate_mode=call.gate_mode,
        hidden_pad=call.hidden_pad,
        intermediate_pad=call.intermediate_pad,
        notes=(*call.notes, *_emulation_notes(call)),
        path_reason=path_reason,
        quirks=() if native is None or native.expression is None else tuple(q.name for q in native.expression.quirks),
    )
    return Plan(decision, profile=arithmetic, token_bounds=tuple(bounds))


_EMULATED = ("no", "per_tensor", "per_token", "per_1x32", "per_1x128", "per_128x128")


@dataclass(frozen=True, eq=False)
class _Operands:
    """What the forms of the Triton path depend on, before there is a request."""

    hidden_states: torch.Tensor
    w2: torch.Tensor
    topk_ids: torch.Tensor
    weight_format: str
    weight_layout: str
    shared_w1: torch.Tensor | None
    qdq_first: str
    qdq_second: str
    profile: NumericsProfile
    out_dtype: torch.dtype


def _emulation_path(call: MoECall, layout: str, qdq: str, arithmetic: NumericsProfile) -> tuple[str, str]:
    """The emulation's path and why: the fast one of the tensors' device where it serves the call, else "torch".

    Raises:
        UnsupportedByEmulation: a path was asked for by name and does not serve the call.
    """
    if call.backend == "torch":
        return "torch", "asked for by name"
    asked = call.backend if call.backend in _FAST_PATHS else None
    path = asked or ("compiled" if call.hidden_states.device.type == "cpu" else "triton")
    against = _FAST_PATHS[path](call, layout, qdq, qdq)
    if not against:
        why = "asked for by name" if asked else "the fastest that serves the call"
        return path, f"{why}; {_form_reason(call, layout, qdq, arithmetic)}" if path == "triton" else why
    if asked:
        raise UnsupportedByEmulation(
            f"the {path} path does not serve this call: {'; '.join(against)}. backend='torch' computes it."
        )
    return "torch", f"not {path}: {'; '.join(against)}"


def _form_reason(call: MoECall, layout: str, qdq: str, arithmetic: NumericsProfile) -> str:
    """Which of its kernels the Triton path takes, and why not faster ones."""
    first = qdq if call.hidden_states.dtype in FLOATING else "none"
    return form_reason(
        _Operands(
            hidden_states=call.hidden_states,
            w2=call.w2,
            topk_ids=call.topk_ids,
            weight_format=call.weight_format,
            weight_layout=layout,
            shared_w1=call.shared_w1,
            qdq_first=first,
            qdq_second=qdq,
            profile=arithmetic,
            out_dtype=call.dtype,
        )
    )


def _arithmetic(call: MoECall, native: _Native | None) -> tuple[NumericsProfile, Version]:
    """The profile to follow, and the release whose own choices "as_aiter" stands for."""
    version = native.version if native is not None else installation().release
    name = call.numerics if call.numerics is not None else profile_for_release(version)
    arithmetic = profile(name)
    if call.numerics is None and version is not None:
        return arithmetic, version
    stated = arithmetic.name if arithmetic.name.startswith(_PREFIX) else profile(None).name
    return arithmetic, _release_called(stated.removeprefix(_PREFIX))


@functools.cache
def _release_called(name: str) -> Version:
    return Version(record(name).release)


def _label(arithmetic: NumericsProfile) -> str:
    try:
        overridden = arithmetic != profile(arithmetic.name)
    except InvalidArgument:  # a profile of the caller's own making
        return arithmetic.name
    return f"{arithmetic.name} with overrides" if overridden else arithmetic.name


def _emulation_notes(call: MoECall) -> tuple[str, ...]:
    if call.hidden_pad or call.intermediate_pad:
        return ("pads change nothing here: the emulation computes over the full padded size",)
    return ()


def _refuse_unknown_interleave(call: MoECall) -> None:
    if call.gate_mode == "interleave" and call.known_layout is None and call.activation.gated:
        raise LayoutUnknown(
            'weight_layout: gate_mode="interleave" over weights that are not marked is_shuffled is ambiguous. Pass '
            "weight_layout='a16w4' for weights shuffled for AITER, or 'logical' for rows [gate; up]."
        )


def _and_aiter(reasons: tuple[str, ...]) -> str:
    return f", and AITER cannot serve the call ({'; '.join(reasons)})" if reasons else ""


def _version_text() -> str | None:
    found = installation()
    return found.version if found.kind == "present" else None
