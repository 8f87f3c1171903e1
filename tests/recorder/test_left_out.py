"""A release that nobody has recorded yet: record its sources, and calls are adapted to it with no change of code."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from conformance.left_out import copy_without, record_into

FIRST_LEFT_OUT = "0.1.19.post1"  # with it came the shared expert, so no record that is left has such a signature
RELEASE = "0.1.20.post1"

CALL = """
import importlib, json, sys
import torch
import aiter_compat as ac
from aiter_compat.adapters import ARGUMENTS, NativeArguments, adapter_for
from aiter_compat.releases import record, recorded_releases

parameters = record({release!r}).surface.parameters("aiter.fused_moe.fused_moe")
arguments = NativeArguments(**{{name: name for name in ARGUMENTS}})
adapted = adapter_for(parameters)(lambda *given: dict(zip((one.name for one in parameters), given)), arguments)

torch.set_num_threads(1)
tokens, experts, hidden, inter = 4, 2, 64, 64
asked = dict(block_size_M=64, hidden_pad=32, intermediate_pad=32, swiglu_limit=2.0, doweight_stage1=True)
ac.fused_moe(
    torch.ones(tokens, hidden).bfloat16(), torch.ones(experts, 2 * inter, hidden).bfloat16(),
    torch.ones(experts, hidden, inter).bfloat16(), torch.ones(tokens, 1), torch.zeros(tokens, 1).int(),
    weight_layout="logical", backend="aiter", **asked,
)
arrived = importlib.import_module("aiter.stub_runtime.journal").last_call
print(json.dumps({{
    "package": ac.__path__[0], "recorded": recorded_releases(), "adapted": adapted,
    "arrived": {{name: arrived[name] for name in asked}}, "asked": asked,
}}))
"""


@pytest.fixture(scope="module")
def package(tmp_path_factory) -> Path:
    return copy_without(FIRST_LEFT_OUT, tmp_path_factory.mktemp("left_out"))


def run(package: Path, code: str, *more: Path) -> subprocess.CompletedProcess[str]:
    path = os.pathsep.join(map(str, (package.parent, *more)))
    environment = {**os.environ, "PYTHONPATH": path, "PYTHONWARNINGS": "ignore"}
    return subprocess.run(
        [sys.executable, "-c", code],
        check=False,
        cwd=package.parent,
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
    )


def test_a_release_left_out_is_recorded_from_its_sources_and_calls_go_through(package, stub_site):
    site = stub_site(RELEASE)
    asked_for = f"from aiter_compat.releases import record; record({RELEASE!r})"
    before = run(package, asked_for)
    assert "RecordError" in before.stderr
    assert f"AITER {RELEASE} is not recorded" in before.stderr

    written = record_into(package, site, RELEASE)
    assert json.loads(written.read_text())["release"] == RELEASE

    done = run(package, CALL.format(release=RELEASE), site)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["package"] == str(package)
    assert told["recorded"][-2:] == ["0.1.19", RELEASE]
    assert told["adapted"] == {name: name for name in told["adapted"]}
    assert {"shared_w1", "shared_expert_id", "linear_beta", "gate_mode"} <= set(told["adapted"])
    assert told["arrived"] == told["asked"]
