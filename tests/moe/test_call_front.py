"""What stands in front of the public functions changes nothing that a caller or a reader of signatures sees."""

import inspect
import pickle

import pytest

import aiter_compat as ac
from aiter_compat.moe.call_front import Front
from aiter_compat.moe.fronts import FUSED_EXPERTS, FUSED_MOE


@pytest.mark.parametrize(("function", "front"), [(ac.fused_moe, FUSED_MOE), (ac.fused_experts, FUSED_EXPERTS)])
def test_signature_and_documentation_are_the_functions_own(function, front):
    parameters = inspect.signature(function).parameters
    assert tuple(name for name in parameters if name != "extra") == front.form.names
    assert "Returns:" in inspect.getdoc(function)
    assert pickle.loads(pickle.dumps(function)) is function
    kinds = {name: one.kind for name, one in parameters.items()}
    assert kinds[front.form.layer] is inspect.Parameter.POSITIONAL_OR_KEYWORD
    assert kinds["backend"] is inspect.Parameter.KEYWORD_ONLY


@pytest.mark.parametrize(("function", "front"), [(ac.fused_moe, FUSED_MOE), (ac.fused_experts, FUSED_EXPERTS)])
def test_every_argument_has_one_place_in_the_form(function, front):
    form = front.form
    placed = [form.layer, *form.tensors, *form.seldom, *(name for name in form.scalars if name not in form.seldom)]
    assert sorted(placed) == sorted(form.names)
    defaults = {name: one.default for name, one in inspect.signature(function).parameters.items()}
    assert {defaults[name] for name in form.seldom} == {None}
    assert {"hidden_states", "topk_ids"} < set(form.tensors)


def test_arguments_that_python_itself_refuses(make_layer, without_aiter):
    layer = make_layer("bf16")
    arguments = [layer.call[name] for name in ("hidden_states", "w1", "w2", "topk_weight", "topk_ids")]
    for _ in range(2):  # before and after a call of the kind was prepared
        with pytest.raises(TypeError, match=r"takes from 5 to 13 positional arguments but 14 were given"):
            ac.fused_moe(*arguments, *[None] * 9)
        with pytest.raises(TypeError, match="missing 1 required positional argument: 'topk_ids'"):
            ac.fused_moe(*arguments[:-1])
        with pytest.raises(TypeError, match="multiple values for argument 'w1'"):
            ac.fused_moe(*arguments, w1=None)
        ac.fused_moe(*arguments)
    with pytest.raises(TypeError, match="missing 1 required keyword-only argument: 'config'"):
        ac.fused_experts(*arguments[:4])
    with pytest.raises(TypeError, match="unexpected keyword argument 'expert_mask'"):
        ac.fused_experts(*arguments[:4], config=None, expert_mask=None)
    with pytest.raises(TypeError, match=r"takes 4 positional arguments but 5 were given"):
        ac.fused_experts(*arguments, config=None)


def test_a_front_passes_on_what_it_was_given():
    front, seen = Front(layer="w", seldom=("t",)), []

    @front.before
    def example(h: "Tensor", w: "Tensor", s=1, *, t: "Tensor | None" = None, u, **rest):  # noqa: F821
        seen.append((h, w, s, t, u, rest))
        return len(seen)

    assert example(1, 2, u=3) == 1
    assert example(1, w=2, s=4, t=5, u=6, v=7) == 2
    assert seen == [(1, 2, 1, None, 3, {}), (1, 2, 4, 5, 6, {"v": 7})]
