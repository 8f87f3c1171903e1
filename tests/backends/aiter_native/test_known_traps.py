"""What goes wrong when AITER is called directly, and does not through aiter_compat. One test each."""

import importlib
import inspect
import warnings

import pytest
import torch
from packaging.version import Version
from torch._subclasses import FakeTensorMode

import aiter_compat as ac

FUSED_MOE = "aiter.fused_moe.fused_moe"


@pytest.fixture
def call(journal, release, sample):
    journal(release)
    return dict(sample("unquantised silu").arguments)


@pytest.fixture
def native(call):
    """AITER's own function on the same tensors, with members of its own enums unless others are given."""
    module, package = importlib.import_module("aiter.fused_moe"), importlib.import_module("aiter")
    members = {"activation": package.ActivationType.Silu, "quant_type": package.QuantType.No}
    operands = {name: value for name, value in call.items() if name not in (*members, "weight_layout")}
    return lambda **changes: module.fused_moe(**{**operands, **members, **changes})


@pytest.fixture
def through(call):
    """The same call through aiter_compat; what its quirks warn of is tested on its own."""

    def make(**changes):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ac.AiterCompatWarning)
            return ac.fused_moe(**{**call, **changes}, backend="aiter")

    return make


def test_no_limit_is_none_from_0_1_17_on_and_zero_before(native, through):
    parameter = ac.surface().parameter(FUSED_MOE, "swiglu_limit")
    if parameter is not None and parameter.default == "0.0":
        with pytest.raises(RuntimeError, match="NoneType"):
            native(swiglu_limit=None)
    expected = native()
    for limit in (None, 0.0):
        assert torch.equal(through(swiglu_limit=limit), expected)


class Whole:
    """A whole number that is no int, as numpy's are."""

    def __index__(self):
        return 64


@pytest.mark.parametrize("pad", ["hidden_pad", "intermediate_pad"])
def test_pads_are_ints(native, through, pad):
    for value in (64.0, None):
        with pytest.raises(RuntimeError):
            native(**{pad: value})
        with pytest.raises(ac.InvalidArgument, match=f"{pad}: got {value}; allowed: a whole number"):
            through(**{pad: value})
    assert torch.equal(through(**{pad: Whole()}), native(**{pad: 64}))


def test_activation_and_quant_type_are_members(native, through):
    for argument in ("activation", "quant_type"):
        with pytest.raises(AttributeError, match="value"):
            native(**{argument: 0})
    assert torch.equal(through(activation=0, quant_type=0), native())


def test_gate_mode_stands_elsewhere_from_0_1_19_on(native, through, release):
    """A positional call for v0.1.18 puts its gate mode into beta; ours go by the signature that is installed."""
    names = list(inspect.signature(importlib.import_module("aiter.fused_moe").fused_moe).parameters)
    if "gate_mode" in names:
        assert names.index("gate_mode") == (25 if Version(release) >= Version("0.1.19") else 23)
    assert torch.equal(through(gate_mode="separated"), native())


def test_interleave_under_fake_tensors(sample, journal, release):
    """AITER's own fake lacks two of the operator's parameters on v0.1.19 to v0.1.19.post2."""
    written = journal(release)
    written.last_call = None
    mode = FakeTensorMode()
    arguments = {
        name: mode.from_tensor(value) if isinstance(value, torch.Tensor) else value
        for name, value in sample("mxfp4 interleaved swiglu with bias").arguments.items()
    }
    with mode:
        out = ac.fused_moe(**arguments | {"weight_layout": "a16w4"}, backend="aiter")
    assert (out.shape, out.dtype) == (arguments["hidden_states"].shape, torch.bfloat16)
    assert written.last_call is None


class TestSharedExpert:
    """AITER's route for a shared expert has a contract of its own, and drops what it does not expect."""

    @pytest.fixture
    def release(self):
        return "0.1.20.post1"

    @pytest.fixture
    def call(self, journal, release, sample):
        journal(release)
        call = dict(sample("mxfp4 logical").arguments)
        experts, rows, columns = call["w1"].shape[0], call["w1"].shape[1], call["w2"].shape[2] * 2
        hidden = call["w2"].shape[1]
        shared = {
            "shared_w1": torch.ones(1, rows, hidden).to(torch.float8_e4m3fn),
            "shared_w2": torch.ones(1, hidden, columns).to(torch.float8_e4m3fn),
            "shared_w1_scale": torch.full((rows, hidden // 32), 121, dtype=torch.uint8),
            "shared_w2_scale": torch.full((hidden, columns // 32), 121, dtype=torch.uint8),
        }
        return call | shared | {"shared_expert_id": experts - 1}

    @pytest.mark.parametrize(
        ("changes", "told"),
        [
            ({"activation": "situv2", "beta": 2.0}, "computes SiLU with an up half, and gets no beta"),
            ({"activation": "swiglu"}, "computes SiLU"),
            ({"shared_expert_id": 0}, "must be 3"),
            ({"shared_expert_id": -1}, "must be 3"),
            ({"shared_w2": None}, "shared_w2: .* takes all of"),
            ({"shared_w1": None, "shared_w2": None, "shared_w1_scale": None, "shared_w2_scale": None}, "all of"),
            ({"expert_mask": torch.ones(4, dtype=torch.int32)}, "expert_mask: .* takes none"),
            ({"bias2": torch.zeros(4, 256)}, "bias1 and bias2: .* takes none"),
            ({"gate_mode": "mock_gate_only"}, "takes separated and interleave"),
        ],
    )
    def test_what_its_route_does_not_take_is_refused(self, through, changes, told):
        with pytest.raises(ac.UnsupportedByAiter, match=told):
            through(**changes)

    def test_routed_experts_must_be_mxfp4_and_the_shared_one_mxfp8(self, through, call):
        with pytest.raises(ac.UnsupportedByAiter, match="takes MXFP8 there only"):
            through(shared_w1=call["w1"][:1], shared_w2=call["w2"][:1])

    def test_unquantised_routed_experts(self, through, call, sample):
        plain = {name: sample("unquantised silu").arguments[name] for name in ("w1", "w2")}
        with pytest.raises(ac.UnsupportedByAiter, match="takes routed experts in MXFP4"):
            through(**plain, quant_type="no", w1_scale=None, w2_scale=None)


NEWER = """
from aiter import ActivationType, QuantType

last_call = None

def fused_moe(
    hidden_states, w1, w2, topk_weight, topk_ids, expert_mask=None, activation=ActivationType.Silu,
    quant_type=QuantType.No, doweight_stage1=False, w1_scale=None, w2_scale=None, a1_scale=None, a2_scale=None,
    quant_dtype_a=None, block_size_M=None, num_local_tokens=None, moe_sorting_dispatch_policy=0, dtype=None,
    hidden_pad=0, intermediate_pad=0, bias1=None, bias2=None, swiglu_limit=None, beta=None, linear_beta=None,
    gate_mode="separated", quant_dtype_a2=None, quant_type_a=None, *, output=None, stage2_scatter=None,
):
    global last_call
    last_call = dict(locals())
    return hidden_states
"""
ENUMS = """
import enum

class ActivationType(enum.Enum):
    Silu = 0
    Swiglu = 2

class QuantType(enum.Enum):
    No = 0
"""


class TestNewerThanEveryRecord:
    """Keywords that came after v0.1.20 (ROCm/aiter#4617, #5439), some put between those that were there."""

    @pytest.fixture
    def call(self, fake_site, sample, aiter_stub):
        aiter_stub("0.1.15.post3")
        call = dict(sample("unquantised silu").arguments)
        files = {"__init__.py": ENUMS, "jit/core.py": "", "fused_moe.py": NEWER, "_version.py": "__version__='0.1.99'"}
        fake_site({f"aiter/{name}": text for name, text in files.items()})
        return call

    @pytest.fixture
    def arrived(self):
        return lambda: importlib.import_module("aiter.fused_moe").last_call

    def test_what_every_release_has_goes_to_its_new_place(self, through, arrived):
        through(hidden_pad=64, block_size_M=32, gate_mode="interleave", weight_layout="logical", swiglu_limit=2.0)
        got = arrived()
        named = ("hidden_pad", "block_size_M", "gate_mode", "swiglu_limit", "quant_dtype_a", "output")
        assert [got[name] for name in named] == [64, 32, "interleave", 2.0, None, None]

    def test_new_keywords_are_handed_on(self, through, arrived, call):
        new = {"quant_dtype_a": torch.float8_e4m3fn, "quant_dtype_a2": "fp4x2", "quant_type_a": "per_1x32"}
        through(**new, output=call["hidden_states"])
        got = arrived()
        assert {name: got[name] for name in new} == new
        assert got["output"] is call["hidden_states"]
        assert ac.supports("quant_dtype_a")
        assert ac.supports("output_buffer")

    def test_one_that_it_does_not_have_is_refused(self, through):
        with pytest.raises(ac.UnsupportedByAiter, match=r"no_combine: .* takes no such keyword"):
            through(no_combine=True)
