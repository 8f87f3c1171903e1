"""A generated adapter hands every argument to the parameter of its own name, whatever the signature looks like."""

import dataclasses
import inspect

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from packaging.version import Version

import aiter_compat as ac
from aiter_compat.adapters import ARGUMENTS, NativeArguments, adapter_for, adapter_source, sent, without_own_defaults
from aiter_compat.adapters.arguments import OPERANDS
from aiter_compat.probe import Parameter
from aiter_compat.releases import nearest_record, recorded_releases

FUSED_MOE = "aiter.fused_moe.fused_moe"
NAMES = sorted(ARGUMENTS)
KINDS = {
    "positional_only": inspect.Parameter.POSITIONAL_ONLY,
    "positional_or_keyword": inspect.Parameter.POSITIONAL_OR_KEYWORD,
    "var_positional": inspect.Parameter.VAR_POSITIONAL,
    "keyword_only": inspect.Parameter.KEYWORD_ONLY,
    "var_keyword": inspect.Parameter.VAR_KEYWORD,
}
LEFT_OUT = object()


def native_with(parameters):
    """A function with this signature that returns what each parameter got, as Python itself binds it."""
    signature = inspect.Signature(
        [
            inspect.Parameter(
                parameter.name,
                KINDS[parameter.kind],
                default=inspect.Parameter.empty if parameter.default is None else LEFT_OUT,
            )
            for parameter in parameters
        ]
    )

    def native(*args, **kwargs):
        bound = signature.bind(*args, **kwargs)
        return dict(bound.arguments)

    return native


def tagged(**extra) -> NativeArguments:
    """Arguments of which each holds its own name."""
    return NativeArguments(**{name: name for name in NAMES}, extra=extra)


def call(parameters, arguments=None):
    parameters = tuple(parameters)
    return adapter_for(parameters)(native_with(parameters), arguments or tagged())


def operands(*more: Parameter) -> list[Parameter]:
    return [*(Parameter(name, "positional_or_keyword") for name in OPERANDS), *more]


def optional(name: str, kind: str = "positional_or_keyword") -> Parameter:
    return Parameter(name, kind, "None")


@pytest.mark.parametrize("release", recorded_releases())
def test_every_recorded_release_gets_every_argument_that_it_takes(release):
    parameters = nearest_record(Version(release)).surface.parameters(FUSED_MOE)
    received = call(parameters)
    assert received == {parameter.name: parameter.name for parameter in parameters}
    assert list(received) == [parameter.name for parameter in parameters]


@pytest.mark.parametrize("release", recorded_releases())
def test_every_parameter_of_a_recorded_release_is_known(release):
    parameters = nearest_record(Version(release)).surface.parameters(FUSED_MOE)
    assert {parameter.name for parameter in parameters} <= ARGUMENTS


def test_the_newest_release_takes_every_argument_that_we_hold():
    """Another one would be dead weight, or a name typed wrong."""
    newest = nearest_record(Version(recorded_releases()[-1])).surface.parameters(FUSED_MOE)
    assert frozenset(parameter.name for parameter in newest) == ARGUMENTS


@pytest.mark.parametrize("release", recorded_releases())
def test_our_defaults_are_those_of_the_release(release):
    """What nothing sets must be what AITER would take by itself; the limit and gate mode are always set."""
    parameters = nearest_record(Version(release)).surface.parameters(FUSED_MOE)
    ours = {field.name: field.default for field in dataclasses.fields(NativeArguments)}
    for parameter in parameters:
        if ours[parameter.name] is dataclasses.MISSING or parameter.name in ("swiglu_limit", "gate_mode"):
            continue
        assert repr(ours[parameter.name]) == parameter.default, parameter.name


def test_0_1_19_inserted_parameters_before_gate_mode():
    """A positional call written for 0.1.18 would put its gate mode into beta."""
    for release in ("0.1.18", "0.1.19"):
        parameters = nearest_record(Version(release)).surface.parameters(FUSED_MOE)
        assert call(parameters)["gate_mode"] == "gate_mode"


@given(data=st.data())
@settings(max_examples=60, deadline=None)
def test_any_subset_in_any_order(data):
    names = data.draw(st.lists(st.sampled_from([n for n in NAMES if n not in OPERANDS]), unique=True), label="names")
    order = data.draw(st.permutations([*OPERANDS, *names]), label="order")
    split = data.draw(st.integers(0, len(order)), label="keyword-only from")
    unknown = data.draw(st.sets(st.sampled_from(["stage2_scatter", "no_combine", "output"])), label="unknown")
    parameters = [Parameter(name, "positional_or_keyword") for name in order[:split]]
    for index, name in enumerate(sorted(unknown)):
        place = min(index * 3, len(parameters))
        parameters.insert(place, Parameter(name, "positional_or_keyword", "None"))
    seen_default = False
    for index, parameter in enumerate(parameters):  # Python wants a default on all that follow one
        seen_default = seen_default or parameter.default is not None
        if seen_default and parameter.default is None:
            parameters[index] = optional(parameter.name)
    parameters += [Parameter(name, "keyword_only") for name in order[split:]]
    assert call(parameters) == {name: name for name in order}


def test_extra_keywords_are_forwarded():
    parameters = operands(optional("stage2_scatter"), optional("bias1"))
    assert call(parameters, tagged(stage2_scatter="given")) == {
        **{name: name for name in OPERANDS},
        "bias1": "bias1",
        "stage2_scatter": "given",
    }


def test_an_optional_parameter_that_nobody_knows_is_left_to_its_default():
    received = call(operands(optional("stage2_scatter"), optional("bias1")))
    assert "stage2_scatter" not in received
    assert received["bias1"] == "bias1"


def test_keyword_only_parameters():
    assert call(operands(Parameter("gate_mode", "keyword_only"), optional("bias1", "keyword_only"))) == {
        **{name: name for name in OPERANDS},
        "gate_mode": "gate_mode",
        "bias1": "bias1",
    }


def test_var_positional_and_var_keyword_swallow_nothing():
    parameters = operands(
        Parameter("rest", "var_positional"), optional("gate_mode", "keyword_only"), Parameter("more", "var_keyword")
    )
    assert call(parameters) == {**{name: name for name in OPERANDS}, "gate_mode": "gate_mode"}
    assert call(parameters, tagged(no_combine=True))["more"] == {"no_combine": True}


def test_positional_only_operands():
    parameters = [Parameter(name, "positional_only") for name in OPERANDS] + [optional("bias1")]
    assert call(parameters) == {**{name: name for name in OPERANDS}, "bias1": "bias1"}


@pytest.mark.parametrize(
    ("parameters", "named"),
    [
        (operands(Parameter("stage2_scatter", "positional_or_keyword")), "stage2_scatter"),
        (operands(Parameter("stage2_scatter", "keyword_only")), "stage2_scatter"),
        ([Parameter("stream", "positional_only"), *operands()], "stream"),
        ([Parameter("args", "var_positional"), Parameter("kwargs", "var_keyword")], "hidden_states and no w1"),
        (operands()[:-1], "topk_ids"),
    ],
    ids=["required", "required keyword-only", "required positional-only", "decorated", "an operand is missing"],
)
def test_a_signature_that_nothing_is_known_to_satisfy_is_refused(parameters, named):
    with pytest.raises(ac.UnsupportedByAiter, match=named):
        adapter_for(tuple(parameters))


def test_an_optional_positional_only_stranger_is_skipped_with_what_follows_it_by_position():
    parameters = [
        *(Parameter(name, "positional_only") for name in OPERANDS),
        optional("stream", "positional_only"),
        optional("bias1", "positional_only"),
        optional("bias2"),
    ]
    assert call(parameters) == {**{name: name for name in OPERANDS}, "bias2": "bias2"}


def test_the_adapter_is_generated_once_per_signature():
    parameters = tuple(operands(optional("bias1")))
    assert adapter_for(parameters) is adapter_for(tuple(operands(optional("bias1"))))


def test_the_source_can_be_read():
    sent = "a.hidden_states, a.w1, a.w2, a.topk_weight, a.topk_ids, gate_mode=a.gate_mode"
    assert adapter_source(tuple(operands(optional("new"), optional("gate_mode")))) == (
        "def adapter(native, a):\n"
        "    if a.extra:\n"
        f"        return native({sent}, **a.extra)\n"
        f"    return native({sent})\n"
    )


def test_what_native_raises_comes_through():
    def native(*args, **kwargs):
        raise RuntimeError("hipErrorNoBinaryForGpu")

    with pytest.raises(RuntimeError, match="hipErrorNoBinaryForGpu"):
        adapter_for(tuple(operands()))(native, tagged())


class NotPrintable:
    """A tensor on a GPU, whose text would have to wait for it."""

    def __repr__(self):
        pytest.fail("asked for its text")


def test_the_end_of_the_list_is_left_out_where_the_function_says_the_same():
    defaults = {"bias1": "None", "splitk": "0", "swiglu_limit": "0.0", "gate_mode": "'separated'", "hidden_pad": "0"}
    parameters = tuple(operands(*(Parameter(name, "positional_or_keyword", text) for name, text in defaults.items())))
    own = {"bias1": None, "splitk": 0, "swiglu_limit": 0.0, "gate_mode": "separated", "hidden_pad": 0}

    def kept(**changes):
        arguments = dataclasses.replace(tagged(), **own | changes)
        return [name for name, _ in without_own_defaults(parameters, arguments)][len(OPERANDS) :]

    assert kept() == []
    assert kept(splitk=1) == ["bias1", "splitk"]
    assert kept(hidden_pad=False) == list(defaults)
    assert kept(hidden_pad=0.0) == list(defaults)
    assert kept(gate_mode=NotPrintable()) == ["bias1", "splitk", "swiglu_limit", "gate_mode"]
    assert kept(swiglu_limit=None) == ["bias1", "splitk", "swiglu_limit"]


@pytest.mark.parametrize("release", recorded_releases())
def test_what_no_default_says_is_never_left_out(release):
    parameters = nearest_record(Version(release)).surface.parameters(FUSED_MOE)
    assert without_own_defaults(parameters, tagged()) == sent(parameters)
