"""What an AITER release can express of a call.

Every argument is either sent with the meaning it has in this release, or is refused with a reason. An argument that
the release lacks is left out only where its value is what the release does anyway.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import torch
from packaging.version import Version

from aiter_compat.adapters import adapter_for
from aiter_compat.backends.aiter_native.architectures import architecture
from aiter_compat.backends.aiter_native.shared_expert import against_shared_expert, has_shared_expert
from aiter_compat.backends.moe_call import MoECall
from aiter_compat.enums.names import ACTIVATIONS, QUANT_TYPES
from aiter_compat.errors import UnsupportedByAiter
from aiter_compat.features.capability import missing_for
from aiter_compat.features.paths import ACTIVATION_TYPE, FUSED_MOE, GATE_MODE, QUANT_TYPE, stated_members
from aiter_compat.features.table import BY_NAME
from aiter_compat.probe import Surface
from aiter_compat.quirks import FormatChoice, Quirk, activation_format, quirks_met

# dtypes that AITER's fused_moe_ asserts (v0.1.15.post3 aiter/fused_moe.py)
_OUTPUT_DTYPES = (torch.bfloat16, torch.float16)


@dataclass(frozen=True)
class Expression:
    """A call in the terms of one release.

    Attributes:
        refusals: why the release cannot express it, one sentence per cause, by cause; empty: it can.
        quirks: behaviour of the release behind its signature that applies to the call.
        swiglu_limit: the value to send, in this release's meaning.
        activation_format: what AITER will quantise activations to.
    """

    refusals: dict[str, str]
    quirks: tuple[Quirk, ...]
    swiglu_limit: float | None
    activation_format: FormatChoice


@dataclass(frozen=True)
class _Release:
    surface: Surface
    version: Version | None
    label: str

    def takes(self, *names: str) -> bool:
        return all(self.surface.parameter(FUSED_MOE, name) is not None for name in names)

    def lacks(self, capability: str) -> str | None:
        lacking = missing_for(capability, self.surface)
        if lacking is None:
            return None
        return f"in {self.label} {lacking} (capability {capability}, from v{BY_NAME[capability].since} on)"


def express(call: MoECall, surface: Surface, version: Version | None) -> Expression:
    """How the release with this surface would serve the call."""
    release = _Release(surface, version, f"AITER {version}" if version else "the installed AITER (version unknown)")
    chosen = activation_format(
        version=version,
        activation=call.activation.function,
        gate_mode=call.gate_mode,
        quant_type=call.quant_type,
        weights=call.weight_format,
        tokens=call.tokens,
        arch=architecture(call.hidden_states.device),
    )
    refusals = {cause: reason for check in _CHECKS for cause, reason in check(call, release)}
    refusals.update(_activation_format(call, chosen))
    quirks = quirks_met(
        call,
        version=version,
        surface=surface,
        activation=call.activation.function,
        quant_type=call.quant_type,
        activation_format=chosen.format,
    )
    return Expression(refusals, quirks, _limit_to_send(call, release), chosen)


# Not capabilities, since every recorded release takes them; a minimal fork may not.
_IN_EVERY_RECORDED_RELEASE = ("expert_mask", "doweight_stage1", "w1_scale", "w2_scale", "a1_scale", "a2_scale")

_Refusals = Iterator[tuple[str, str]]


def _entry_point(call: MoECall, release: _Release) -> _Refusals:
    lacking = release.lacks("fused_moe")
    if lacking is not None:
        yield "fused_moe", lacking
    # A release before v0.1.13 is adapted to all the same: the quirk release_too_old has auto emulate, and warns here.
    parameters = release.surface.parameters(FUSED_MOE)
    try:
        if parameters is not None:
            adapter_for(parameters)
    except UnsupportedByAiter as error:
        yield "fused_moe", f"in {release.label} {'; '.join(error.reasons)}"
    if call.dtype not in _OUTPUT_DTYPES:
        yield "dtype", f"dtype={call.dtype}: AITER writes bfloat16 or float16"


def _enums(call: MoECall, release: _Release) -> _Refusals:
    for argument, paths, member, given in (
        ("activation", ACTIVATION_TYPE, ACTIVATIONS[call.activation.function], call.activation.function),
        ("quant_type", QUANT_TYPE, QUANT_TYPES[call.quant_type], call.quant_type),
    ):
        members = stated_members(release.surface, paths) or {}
        if member is None or member not in members:
            enum = release.surface.first(paths) or paths[0]
            yield argument, f"{argument}={given}: {enum} of {release.label} has no such member ({', '.join(members)})"


def _int4_bytes(call: MoECall, release: _Release) -> _Refusals:
    del release  # no release has another dtype for MXFP4
    if call.weight_format == "int4" and call.w1.dtype == torch.uint8:
        yield "w1", "w1 holds int4 codes in uint8, which AITER reads as MXFP4"


def _activation(call: MoECall, release: _Release) -> _Refusals:
    numbers = call.activation
    if numbers.function == "situv2":
        lacking = release.lacks("situv2")
        if lacking is not None:
            yield "activation", lacking
    elif not numbers.constants_are_default:
        yield "alpha", f"alpha={numbers.alpha}, beta={numbers.beta}: AITER's SwiGLU has 1.702 and 1.0 built in"


def _limit(call: MoECall, release: _Release) -> _Refusals:
    if call.activation.limit_is_default:
        return
    lacking = release.lacks("swiglu_limit")
    if lacking is not None:
        yield "swiglu_limit", f"swiglu_limit={_shown(call.activation.limit)}: {lacking}"


def _gate_mode(call: MoECall, release: _Release) -> _Refusals:
    if release.takes("gate_mode"):
        path = release.surface.first(GATE_MODE)
        members = (release.surface.members(path) if path is not None else None) or {}
        if members and call.gate_mode not in members.values():
            yield "gate_mode", f"gate_mode={call.gate_mode}: {path} of {release.label} has no such member"
        return
    # v0.1.13 and older read SwiGLU over MXFP4 as interleaved and everything else as separated, and cannot be told
    # otherwise (aiter/fused_moe.py at v0.1.13.post1; ROCm/aiter#3586).
    implied = "interleave" if call.activation.function == "swiglu" else "separated"
    if call.gate_mode != implied or (implied == "interleave" and call.quant_type != "per_1x32"):
        reads = (
            f"reads such weights as {implied}" if call.quant_type == "per_1x32" else "does not say how it reads them"
        )
        yield (
            "gate_mode",
            f"gate_mode={call.gate_mode} with {call.activation.function}: {release.lacks('gate_mode')}; "
            f"this release {reads}",
        )


def _keywords(call: MoECall, release: _Release) -> _Refusals:
    wanted = (
        ("padding", call.hidden_pad or call.intermediate_pad),
        ("bias", call.bias1 is not None or call.bias2 is not None),
        ("num_local_tokens", call.num_local_tokens is not None),
        ("shared_expert", has_shared_expert(call)),
    )
    for capability, asked in wanted:
        lacking = release.lacks(capability) if asked else None
        if lacking is not None:
            yield capability, lacking
    if not call.expert_map_in_order:
        yield (
            "expert_map",
            "expert_map: AITER's mask numbers local experts in the order of their global ids; this map does not",
        )
    given = {name: value for name in _IN_EVERY_RECORDED_RELEASE if (value := getattr(call, name)) is not False}
    for name, value in {**given, **call.extra}.items():
        if value is not None and not release.takes(name):
            yield name, f"keyword {name}: {FUSED_MOE} of {release.label} takes no such keyword"


def _shared_expert(call: MoECall, release: _Release) -> _Refusals:
    if has_shared_expert(call) and release.lacks("shared_expert") is None:
        yield from ((f"shared_expert:{argument}", reason) for argument, reason in against_shared_expert(call))


def _layout(call: MoECall, release: _Release) -> _Refusals:
    del release
    layout = call.known_layout
    if call.quant_type == "per_1x32" and call.gate_mode == "interleave" and layout in ("logical", "shuffle_16x16"):
        yield (
            "weight_layout",
            f"weight_layout={layout}: AITER's interleave mode reads the a16w4 layout (ac.prepare_weights)",
        )


def _numerics(call: MoECall, release: _Release) -> _Refusals:
    from aiter_compat.profiles import profile, profile_for_release

    if call.numerics is not None and profile(call.numerics) != profile(profile_for_release(release.version)):
        name = call.numerics if isinstance(call.numerics, str) else call.numerics.name
        yield "numerics", f"numerics={name}: {release.label} computes by its own arithmetic"


_CHECKS: tuple[Callable[[MoECall, _Release], _Refusals], ...] = (
    _entry_point,
    _enums,
    _int4_bytes,
    _activation,
    _limit,
    _gate_mode,
    _keywords,
    _shared_expert,
    _layout,
    _numerics,
)


def _activation_format(call: MoECall, chosen: FormatChoice) -> _Refusals:
    if call.qdq_is_binding and call.activation_qdq not in ("as_aiter", chosen.format):
        yield (
            "activation_qdq",
            f"activation_qdq={call.activation_qdq}: this release would use {chosen.format} ({chosen.reason})",
        )


def _limit_to_send(call: MoECall, release: _Release) -> float | None:
    """The limit in this release's words: its own default for "the activation's own", never None or 0.0 otherwise.

    v0.1.14 to v0.1.16 refuse None at the operator's schema and read 0.0 as "not set"; from v0.1.17 on None is "not set"
    and 0.0 clamps at zero in AITER's torch paths.
    """
    if call.activation.limit_is_default:
        parameter = release.surface.parameter(FUSED_MOE, "swiglu_limit")
        if parameter is None or parameter.default is None:
            return None
        default: float | None = ast.literal_eval(parameter.default)
        return default
    return math.inf if call.activation.limit is None else float(call.activation.limit)


def _shown(limit: float | None) -> str:
    return "inf" if limit is None else str(limit)
