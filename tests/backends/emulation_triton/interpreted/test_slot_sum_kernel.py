"""A token's slots and their parts add up; what no program computed counts as 0."""

import torch

from aiter_compat.backends.emulation.triton_path.kernels.slot_sum import sum_slots


def test_the_sum_leaves_out_what_was_not_computed():
    parts, tokens, choices, features = 2, 3, 4, 40
    random = torch.Generator().manual_seed(2)
    results = torch.randn(parts, tokens * choices, features, generator=random)  # by row, as the products write them
    row_of_slot = torch.randperm(tokens * choices, generator=random).int()
    row_of_slot[[1, 4, 5, 6, 7]] = -1
    unwritten = torch.ones(tokens * choices, dtype=torch.bool)
    unwritten[row_of_slot[row_of_slot >= 0].long()] = False
    results[:, unwritten] = float("nan")
    out = torch.full((tokens, features), -1.0)
    sum_slots[(tokens, 2)](
        results, results.stride(0), row_of_slot, out, features, CHOICES=choices, PARTS=parts, SLOT="fp32", SUM="fp32",
        BLOCK=32,
    )  # fmt: skip
    of_slot = torch.where((row_of_slot >= 0)[:, None], results.sum(0)[row_of_slot.long()], 0.0)
    torch.testing.assert_close(out, of_slot.view(tokens, choices, features).sum(1))
    assert not out[1].any()
