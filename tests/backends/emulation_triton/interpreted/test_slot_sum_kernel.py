"""A token's slots and their parts add up; what no program computed counts as 0."""

import torch

from aiter_compat.backends.emulation.triton_path.kernels.slot_sum import sum_slots


def test_the_sum_leaves_out_what_was_not_computed():
    parts, tokens, choices, features = 2, 3, 4, 40
    results = torch.randn(parts, tokens * choices, features, generator=torch.Generator().manual_seed(2))
    row_of_slot = torch.arange(tokens * choices, dtype=torch.int32)
    row_of_slot[[1, 4, 5, 6, 7]] = -1
    results[:, row_of_slot < 0] = float("nan")
    out = torch.full((tokens, features), -1.0)
    sum_slots[(tokens, 2)](
        results, results.stride(0), row_of_slot, out, features, CHOICES=choices, PARTS=parts, SLOT="fp32", SUM="fp32",
        BLOCK=32,
    )  # fmt: skip
    counted = results.sum(0).view(tokens, choices, features).nan_to_num(nan=0.0)
    torch.testing.assert_close(out, counted.sum(1))
    assert not out[1].any()
