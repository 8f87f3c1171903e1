"""Make every call on one release of AITER and write down what became of each.

    python -m conformance.witness TREE RESULTS

runs in a process of its own, because AITER cannot be imported twice. TREE is a release's tree, RESULTS the JSON file to
write. The fakes are installed first, then AITER's own `fused_moe` is imported through aiter_compat; only the
implementation behind AITER's registered operators is replaced, so that its wrapper, the schema of the operator and the
dispatcher are AITER's and torch's own.
"""

from __future__ import annotations

import importlib
import importlib.util
import json
import sys
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch
from packaging.version import Version

import aiter_compat as ac
from conformance.calls import Call, Member, calls
from conformance.fakes.machine import install_gpu
from conformance.fakes.operator_names import accept_doubled_namespace
from conformance.release import Release
from conformance.traps import Aiter, check

_OPERATORS = ("fused_moe_", "fhmoe_")


class Recorder:
    """Stands behind AITER's operators and keeps what they were given."""

    def __init__(self) -> None:
        self.reached: list[tuple[str, dict[str, Any], dict[str, Any]]] = []
        self._library = torch.library.Library("aiter", "IMPL")

    def replace(self, operator: str) -> None:
        """Take the place of the implementation of `aiter::<operator>`."""
        schema = getattr(torch.ops.aiter, operator).default._schema
        names = [argument.name for argument in schema.arguments]
        defaults = {one.name: one.default_value for one in schema.arguments if one.has_default_value()}

        def implementation(*given: Any, **named: Any) -> torch.Tensor:
            arrived = {**defaults, **dict(zip(names, given, strict=False)), **named}
            self.reached.append((operator, arrived, defaults))
            return torch.empty(arrived["hidden_states"].shape[0], arrived["w2"].shape[1], dtype=arrived["dtype"])

        self._library.impl(operator, implementation, "CPU", allow_override=True)


def main(tree: str, results: str) -> None:
    """Run."""
    sys.path.insert(0, tree)
    torch.set_num_threads(1)
    accept_doubled_namespace()
    install_gpu()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # AITER's own, and ours about kernels that drop what they are given
        ac.ActivationType.Silu  # noqa: B018 - imports AITER
        moe = importlib.import_module("aiter.fused_moe")
        recorder = Recorder()
        for operator in _OPERATORS:
            if operator == "fused_moe_" or importlib.util.find_spec("aiter.fhmoe") is not None:
                importlib.import_module({"fhmoe_": "aiter.fhmoe"}.get(operator, moe.__name__))
                recorder.replace(operator)
        package = importlib.import_module("aiter")
        release = Release(moe, package)
        outcomes = [_outcome(call, release, recorder) for call in calls()]
        installed = Aiter(moe, package, ac.installation().release or Version("0"))
        outcomes += [_told(kind, "served", faults=faults) for kind, faults in check(installed)]
    said = {"installation": str(ac.installation()), "outcomes": outcomes}
    Path(results).write_text(json.dumps(said, indent=1), encoding="utf-8")


def _told(kind: str, outcome: str, reasons: Sequence[str] = (), faults: Sequence[str] = ()) -> dict[str, Any]:
    return {"kind": kind, "outcome": outcome, "reasons": list(reasons), "faults": list(faults)}


def _outcome(call: Call, release: Release, recorder: Recorder) -> dict[str, Any]:
    against = release.against(call)
    recorder.reached.clear()
    told = _told(call.kind, "served")
    try:
        out = ac.fused_moe(**_materialised(call.arguments), backend="aiter")
    except ac.UnsupportedByAiter as refusal:
        told |= {"outcome": "refused", "reasons": list(refusal.reasons)}
        told["faults"] = [f"nothing was said of {word}" for word in sorted(against) if word not in str(refusal)]
        if not against:
            told["faults"].append("the release can express it")
    except Exception as error:  # noqa: BLE001 - whatever AITER or aiter_compat raised is the finding
        told |= {"outcome": "failed", "faults": [f"{type(error).__name__}: {error}"]}
    else:
        told["faults"] = [f"the release cannot express {word}" for word in sorted(against)]
        told["faults"] += _wrong_in_what_arrived(call, release, recorder, out)
    if told["outcome"] != "served" and recorder.reached:
        told["faults"].append("AITER was reached")
    return told


def _wrong_in_what_arrived(call: Call, release: Release, recorder: Recorder, out: torch.Tensor) -> list[str]:
    if len(recorder.reached) != 1:
        return [f"AITER was reached {len(recorder.reached)} times"]
    operator, arrived, defaults = recorder.reached[0]
    wrong = release.wrong_in(call, operator, arrived, defaults)
    asked = call.arrives["dtype"]
    return wrong if out.dtype == asked else [*wrong, f"the result is in {out.dtype} instead of {asked}"]


def _materialised(arguments: Any) -> dict[str, Any]:
    made: dict[str, Callable[..., Any] | Any] = dict(arguments)
    for name, value in made.items():
        if isinstance(value, Member):
            made[name] = getattr(getattr(ac, value.enum), value.name)
    return made


if __name__ == "__main__":
    main(*sys.argv[1:])
