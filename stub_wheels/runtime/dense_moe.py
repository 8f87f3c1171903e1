"""`fused_moe` as a dense MoE in fp32 without activation QDQ, honouring every argument.

Order of operations: v0.1.15.post3, aiter/fused_moe.py, torch_moe_stage1 and torch_moe_stage2. Pads are masks: the last
`intermediate_pad` rows of each half and the last `hidden_pad` columns count as zero, which is what AITER's own test
(op_tests/test_moe_2stage.py) makes them.
"""

import torch
from aiter.ops.enum import ActivationType, QuantType

from . import activation_functions, journal, operator_schema, stored_weights
from . import number_formats as formats

_FP8_MAX = 448.0
_OUTPUT_DTYPES = (torch.float16, torch.bfloat16)


def run(arguments, rules, gate_mode_type):
    """The output [tokens, hidden] of one call.

    Args:
        arguments: every parameter of this release's `fused_moe`, by name.
        rules: `ReleaseRules` of the release.
        gate_mode_type: the release's GateMode, or None where a caller cannot name one.

    Raises:
        AttributeError: activation or quant_type is an int rather than a member.
        RuntimeError: a type that AITER's operator schema refuses.
        ValueError: a gate_mode that is no GateMode value, or arguments that contradict each other.
        AssertionError: an output dtype other than fp16 and bf16, shapes that the layout does not fit.
    """
    journal.note(arguments)
    call = dict(arguments)
    call["activation"] = call["activation"].value
    call["quant_type"] = call["quant_type"].value
    call["block_size_M"] = call["block_size_M"] or -1
    operator_schema.check(call, optional={"swiglu_limit"} if rules.limit_may_be_none else frozenset())

    activation = ActivationType(call["activation"]).name
    quant_type = QuantType(call["quant_type"]).name
    interleaved = _interleaved(call, rules, gate_mode_type, activation, quant_type)
    out_dtype = call["hidden_states"].dtype if call["dtype"] is None else call["dtype"]
    if out_dtype not in _OUTPUT_DTYPES:
        raise AssertionError(f"Fused_moe unsupported out dtype: {out_dtype}")

    w1, w2 = _logical_weights(call, rules, quant_type, interleaved)
    intermediate = w2.shape[2]
    hidden = _activations(call["hidden_states"], call["a1_scale"], quant_type, "a1_scale")
    hidden, w1, w2, bias1, bias2 = _without_pads(call, hidden, w1, w2)
    slots = _Slots(call, experts=w1.shape[0])
    out = torch.zeros(hidden.shape[0], w2.shape[1], device=hidden.device)
    for expert in range(w1.shape[0]):
        tokens, weights = slots.of(expert)
        if not tokens.numel():
            continue
        inner = hidden[tokens] @ w1[expert].T
        if call["doweight_stage1"]:
            inner = inner * weights
        if bias1 is not None:
            inner = inner + bias1[expert]
        inner = _activated(inner, activation, intermediate, call, rules)
        inner = _activations(inner, call["a2_scale"], quant_type, "a2_scale")
        outer = inner @ w2[expert].T
        if bias2 is not None:
            outer = outer + bias2[expert]
        out.index_add_(0, tokens, outer if call["doweight_stage1"] else outer * weights)
    return out.to(out_dtype)


class _Slots:
    """Which tokens each local expert serves, and with what weight."""

    def __init__(self, call, experts):
        ids, weights = call["topk_ids"], call["topk_weight"]
        if ids.dtype != torch.int32 or weights.dtype != torch.float32:
            raise TypeError(f"moe_sorting reads int32 ids and fp32 weights, got {ids.dtype} and {weights.dtype}")
        self._weights = weights
        self._local = ids.long()
        mask = call["expert_mask"]
        if mask is not None:
            if not torch.isin(mask, torch.tensor([0, 1], dtype=mask.dtype)).all() or int(mask.sum()) > experts:
                raise ValueError(f"expert_mask holds a 1 for each of the {experts} local experts, else 0; got {mask}")
            local = mask.cumsum(0) - 1
            local[mask == 0] = -1
            self._local = local[self._local]
        served = call["num_local_tokens"]
        if served is not None:
            self._local = self._local.clone()
            self._local[int(served) :] = -1

    def of(self, expert):
        """Token indices [n] and weights [n, 1] of this local expert."""
        tokens, slots = (self._local == expert).nonzero(as_tuple=True)
        return tokens, self._weights[tokens, slots].unsqueeze(1)


def _interleaved(call, rules, gate_mode_type, activation, quant_type):
    if not rules.has_gate_mode:
        return activation == "Swiglu" and quant_type == "per_1x32"
    mode = gate_mode_type(call["gate_mode"])
    if mode is gate_mode_type.GATE_ONLY:
        raise NotImplementedError("gate_only is reserved upstream")
    if mode is gate_mode_type.INTERLEAVE and quant_type != "per_1x32":
        raise ValueError(f"no kernel reads interleaved {quant_type} weights")
    return mode is gate_mode_type.INTERLEAVE  # mock_gate_only differs from separated in its launch grid alone


def _logical_weights(call, rules, quant_type, interleaved):
    w1, w2 = call["w1"], call["w2"]
    intermediate = w2.shape[2] * (2 if formats.is_packed_e2m1(w2) else 1)
    if w1.shape[1] not in (intermediate, 2 * intermediate):
        raise AssertionError(f"Invalid MoE weight: {tuple(w1.shape)} beside {tuple(w2.shape)}")
    marked = getattr(w1, "is_shuffled", False) or (rules.has_gate_mode and getattr(w2, "is_shuffled", False))
    layout = "a16w4" if interleaved else "shuffle_16x16" if marked else "logical"
    logical = (
        stored_weights.decode(w1, call["w1_scale"], quant_type, layout, gate_up=w1.shape[1] != intermediate),
        stored_weights.decode(w2, call["w2_scale"], quant_type, layout, gate_up=False),
    )
    return _with_shared_expert(call, *logical, quant_type, layout)


def _with_shared_expert(call, w1, w2, quant_type, layout):
    """Put the shared expert, which comes in a format of its own, in the place of its dummy routed one."""
    names = ("shared_w1", "shared_w2", "shared_w1_scale", "shared_w2_scale")
    given = [call[name] for name in names if call.get(name) is not None]
    expert = call.get("shared_expert_id", -1)
    if not given and expert == -1:
        return w1, w2
    if quant_type != "per_1x32" or len(given) != len(names) or expert != w1.shape[0] - 1:
        raise ValueError(f"a per_1x32 shared expert needs {', '.join(names)} and the last id; got id {expert}")
    shared_w1, shared_w2, scale1, scale2 = given
    w1[expert] = stored_weights.decode(shared_w1, scale1, quant_type, layout, gate_up=True)[0]
    w2[expert] = stored_weights.decode(shared_w2, scale2, quant_type, layout, gate_up=False)[0]
    return w1, w2


def _without_pads(call, hidden_states, w1, w2):
    """Everything with its pads zeroed: filled rather than multiplied, since a pad may hold Inf or NaN."""
    hidden, intermediate = w2.shape[1:]
    dead_hidden = torch.arange(hidden, device=w2.device) >= hidden - call["hidden_pad"]
    dead_inner = torch.arange(intermediate, device=w2.device) >= intermediate - call["intermediate_pad"]
    dead_rows = dead_inner.repeat(w1.shape[1] // intermediate)
    bias1, bias2 = call["bias1"], call["bias2"]
    return (
        hidden_states.masked_fill(dead_hidden, 0.0),
        w1.masked_fill(dead_rows[:, None] | dead_hidden, 0.0),
        w2.masked_fill(dead_hidden[:, None] | dead_inner, 0.0),
        None if bias1 is None else bias1.float().masked_fill(dead_rows, 0.0),
        None if bias2 is None else bias2.float().masked_fill(dead_hidden, 0.0),
    )


def _activated(inner, activation, intermediate, call, rules):
    if inner.shape[1] == intermediate:
        return activation_functions.plain(activation, inner)
    limit = call.get("swiglu_limit")
    if not rules.limit_may_be_none and limit == 0.0:
        limit = None
    gate, up = inner.split(intermediate, dim=1)
    return activation_functions.gated(activation, gate, up, limit, call.get("beta"), call.get("linear_beta"))


def _activations(values, scale, quant_type, name):
    """fp32 activations: dequantised when they come quantised, cut to the range of a static scale otherwise."""
    if scale is None:
        return formats.elements_to_fp32(values)
    if formats.is_packed_e2m1(values) or values.element_size() == 1:
        decoded = formats.elements_to_fp32(values)
        if quant_type == "per_1x32":
            blocks = formats.as_bytes(scale).reshape(decoded.shape[0], -1)
            return formats.scale_blocks(decoded, formats.e8m0_to_fp32(blocks))
        rows = scale.float().reshape(-1, 1) if scale.numel() in (1, decoded.shape[0]) else scale.float()
        return decoded * (rows if rows.shape[-1] == 1 else rows.repeat_interleave(128, dim=-1))
    if quant_type == "per_Tensor":
        bound = float(scale) * _FP8_MAX
        return values.float().clamp(-bound, bound)
    raise ValueError(f"{name}: a scale for {quant_type} activations that are not quantised would be ignored")
