"""Refuses what the schema of AITER's registered `fused_moe_` operator refuses: wrong types, mostly."""

import torch

_SCHEMA = {
    **dict.fromkeys(("hidden_states", "w1", "w2", "topk_weight", "topk_ids"), ("Tensor", torch.Tensor)),
    "doweight_stage1": ("bool", bool),
    "block_size_M": ("int", int),
    "moe_sorting_dispatch_policy": ("int", int),
    "hidden_pad": ("int", int),
    "intermediate_pad": ("int", int),
    "swiglu_limit": ("float", (int, float)),
    "gate_mode": ("str", str),
    "shared_expert_id": ("int", int),
}
_OPTIONAL_TENSORS = frozenset(
    [
        "expert_mask",
        "w1_scale",
        "w2_scale",
        "a1_scale",
        "a2_scale",
        "num_local_tokens",
        "bias1",
        "bias2",
        "shared_w1",
        "shared_w2",
        "shared_w1_scale",
        "shared_w2_scale",
    ]
)
_OPTIONAL_FLOATS = frozenset(("beta", "linear_beta"))


def check(arguments, optional):
    """Raise RuntimeError for the first argument whose type the operator does not take.

    Args:
        arguments: name -> value, as passed to the operator.
        optional: names that may be None in this release although others of the table may not.
    """
    for name, value in arguments.items():
        if name in _OPTIONAL_TENSORS:
            wanted, accepted, may_be_none = "Optional[Tensor]", torch.Tensor, True
        elif name in _OPTIONAL_FLOATS:
            wanted, accepted, may_be_none = "Optional[float]", (int, float), True
        elif name in _SCHEMA:
            wanted, accepted = _SCHEMA[name]
            may_be_none = name in optional
        else:
            continue
        if not (isinstance(value, accepted) or (value is None and may_be_none)):
            raise RuntimeError(
                f"aiter::fused_moe_() Expected a value of type '{wanted}' for argument '{name}' "
                f"but instead found type '{type(value).__name__}'."
            )
