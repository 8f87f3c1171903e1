"""The changes of v0.1.5 to v0.1.20.post1 that public threads and hosts' sources tell of: `check` reports each.

Most have no migration of their own: they follow from the release records, by `checker.gaps` (something missing, a call
that does not fit), `checker.positions` (a call that fits and means something else) and `symbols/data/moves.json`.
"""

import pytest

from aiter_compat import migrations
from aiter_compat.checker.check import check
from aiter_compat.checker.specification import releases_of
from aiter_compat.hostscan import scan

MOE = "from aiter.fused_moe import fused_moe, moe_sorting"
SORTING = "moe_sorting(i, w, e, d, t"

CHANGES = [
    # what fused_moe takes, and in which order (ROCm/aiter aiter/fused_moe.py)
    (MOE, "fused_moe(x, a, b, w, i, hidden_pad=1)", "0.1.6.post1", "0.1.6.post2", "missing-keyword"),
    (MOE, "fused_moe(x, a, b, w, i, splitk=1)", "0.1.8", "0.1.9", "missing-keyword"),
    (MOE, "fused_moe(x, a, b, w, i, swiglu_limit=1.0)", "0.1.13.post1", "0.1.14", "missing-keyword"),
    (MOE, "fused_moe(x, a, b, w, i)", "0.1.13.post1", "0.1.14", "fused-moe-without-gate-mode"),
    (MOE, "fused_moe(x, a, b, w, i, linear_beta=1.0)", "0.1.18", "0.1.19", "missing-keyword"),
    (MOE, "fused_moe(x, a, b, w, i, shared_expert_id=1)", "0.1.19", "0.1.19.post1", "missing-keyword"),
    # sorting: keywords that came, went and came again
    (MOE, f"{SORTING}, return_local_topk_ids=True)", "0.1.14.post1", "0.1.15", "missing-keyword"),
    (MOE, f"{SORTING}, accumulate=False)", "0.1.15.post3", "0.1.16", "missing-keyword"),
    (MOE, f"{SORTING}, output_aux=True)", "0.1.16.post3", "0.1.16.post4", "missing-keyword"),
    (MOE, f"{SORTING}, output_aux=True)", "0.1.17", "0.1.16.post6", "missing-keyword"),
    (MOE, f"{SORTING}, output_aux=True)", "0.1.17", "0.1.18", "missing-keyword"),
    # ROCm/aiter#3677: in a post release and not in the release after it
    (
        "from aiter import fused_dynamic_mxfp8_quant_moe_sort as f",
        "f(x, sorted_weights=w)",
        "0.1.16",
        "0.1.15.post3",
        "missing-keyword",
    ),
    # modules and symbols that moved
    ("from aiter.ops.triton.moe_routing.routing import routing", "", "0.1.10", "0.1.9", "missing-module"),
    ("from aiter.ops.triton.moe.moe_routing.routing import routing", "", "0.1.9", "0.1.10", "missing-module"),
    (
        "from aiter.ops.triton.attention.pa_mqa_logits import deepgemm_fp8_paged_mqa_logits",
        "",
        "0.1.9.post1",
        "0.1.10",
        "missing-module",
    ),
    ("from aiter.ops.flydsl.moe_common import GateMode", "", "0.1.13.post1", "0.1.14", "missing-module"),
    ("from aiter.ops.triton.gluon.mla_decode_gluon import mla_decode_gluon", "", "0.1.18", "0.1.17", "missing-module"),
    ("import aiter.ops.flydsl.kernels.mqa_logits.pa_mqa_logits_fp4", "", "0.1.19.post2", "0.1.20", "missing-module"),
    # what is gone, and what is new
    (
        "from aiter.ops.flydsl.kernels.moe_gemm_2stage import compile_moe_gemm2",
        "",
        "0.1.20",
        "0.1.19.post2",
        "missing-module",
    ),
    (
        "from aiter.ops.fused_qk_norm_rope_cache_quant import fused_qk_rmsnorm",
        "",
        "0.1.14",
        "0.1.13.post1",
        "missing-symbol",
    ),
    ("from aiter import topk_gating", "", "0.1.13.post1", "0.1.14", "missing-symbol"),
    ("from aiter.ops.shuffle import shuffle_scale", "", "0.1.13.post1", "0.1.14", "missing-symbol"),
    (
        "from aiter.ops.shuffle import shuffle_weight",
        "shuffle_weight(w, is_guinterleave=True)",
        "0.1.13.post1",
        "0.1.14",
        "missing-keyword",
    ),
    (
        "from aiter.ops.shuffle import shuffle_weight",
        "shuffle_weight(w, pad_k_to=256)",
        "0.1.16.post6",
        "0.1.17",
        "missing-keyword",
    ),
    (
        "from aiter import topk_softmax",
        "topk_softmax(w, i, t, g, True, num_shared_experts=1)",
        "0.1.11.post1",
        "0.1.12",
        "missing-keyword",
    ),
    (
        "from aiter.fused_moe_bf16_asm import asm_moe",
        "asm_moe(x, a, b, w, i, local_expert_hash=h)",
        "0.1.10.post1",
        "0.1.10.post2",
        "missing-keyword",
    ),
    ("from aiter.ops.flydsl.utils import is_flydsl_available", "", "0.1.10.post3", "0.1.11", "missing-module"),
    ("import aiter.fhmoe", "", "0.1.19", "0.1.19.post1", "missing-module"),
    # parameters that must be passed
    (
        "import aiter",
        "aiter.get_mla_metadata_v1(a, b, c, d, e, f, g, h, i, j, k)",
        "0.1.10.post2",
        "0.1.10.post1",
        "changed-meaning",
    ),
]


@pytest.fixture
def codes(tmp_path):
    def found(source: str, releases: str) -> set[str]:
        path = tmp_path / "host.py"
        path.write_text(source, encoding="utf-8")
        return {one.code for one in check(scan(str(path)), releases_of(releases), migrations.discover())}

    return found


@pytest.mark.parametrize(("statement", "use", "lacks", "has", "code"), CHANGES)
def test_a_host_on_both_sides_is_told(codes, statement, use, lacks, has, code):
    source = f"{statement}\n{use}\n"
    first, last = sorted(
        (lacks, has), key=lambda release: [int(part) for part in release.replace("post", "").split(".")]
    )
    assert code in codes(source, f">={first},<={last}")
    if code != "fused-moe-without-gate-mode":
        assert code in codes(source, lacks)
    assert code not in codes(source, has)


def test_a_parameter_put_before_one_that_is_passed_by_position(codes):
    reduce = "import aiter\naiter.mla_reduce_v1(a, b, c, d, e, f, output, lse)\n"
    assert "positional-order" in codes(reduce, ">=0.1.15,<0.1.17")
    source = "from aiter import rmsnorm2d_fwd_with_add as f\nf(out, x, r, s, w, eps, model_sensitive)\n"
    assert "positional-order" in codes(source, ">=0.1.16,<0.1.18")
    assert "positional-order" not in codes(source, ">=0.1.17")
    assert "positional-order" not in codes(source.replace("model_sensitive", "0"), ">=0.1.16,<0.1.18")
    assert "positional-order" not in codes(source.replace("model_sensitive", "a=1"), ">=0.1.16,<0.1.18")
