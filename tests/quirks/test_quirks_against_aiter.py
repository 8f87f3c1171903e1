"""The ranges and sources of quirks against AITER's real sources, tag by tag (opt-in: AITER_SOURCE)."""

import ast
import os
import re
import subprocess
from functools import cache

import pytest
from packaging.version import Version

from aiter_compat.quirks import QUIRKS, has_quirk
from aiter_compat.releases import recorded_releases

SOURCE = os.environ.get("AITER_SOURCE")
pytestmark = pytest.mark.skipif(SOURCE is None, reason="AITER_SOURCE names no checkout of ROCm/aiter with tags")

FUSED_MOE = "aiter/fused_moe.py"
QUANTISERS = "csrc/kernels/quant_kernels.cu"
ZERO_ROW = r"sorted_weights\[sorted_row\] == 0"
SHOWN: list[tuple[str, str, str, bool]] = [
    # quirk, file, pattern, whether the quirk holds where the pattern is (else where it is not)
    ("limit_ignored", FUSED_MOE, r"\bswiglu_limit\b", True),
    ("limited_silu_takes_swiglu_slope", "aiter/ops/flydsl/kernels/silu_and_mul_fq.py", r'0 and act != "swiglu"', True),
    ("situ_defaults_differ", FUSED_MOE, r"1\.0 if beta is None", True),
    ("shared_expert_loses_beta", "aiter/fhmoe.py", r"activation != ActivationType\.Silu", True),
    ("fp8_activations_unscaled", FUSED_MOE, r"fused_dynamic_mxfp8_quant_moe_sort", False),
    ("swiglu_reads_interleaved", FUSED_MOE, r"\bgate_mode: str = ", False),
    ("shuffle_mark_of_w1_only", FUSED_MOE, r'getattr\(w2, "is_shuffled"', False),
    ("a16w4_scale_columns_padded", "aiter/ops/shuffle.py", r"fill_\(0x7F\)", True),
    ("interleave_reads_a16w4", FUSED_MOE, r"\bgate_mode: str = ", True),
    ("cktile_needs_intermediate_256", FUSED_MOE, r"swiglu_mxfp4_bf16_cktile = ", True),
    ("pads_ignored_by_flydsl", FUSED_MOE, r"inter_dim_pad=intermediate_pad", False),
    ("bias_switches_pads_off", FUSED_MOE, r"def _get_padding_for_flydsl", True),
    ("hidden_pad_ignored_by_opus", FUSED_MOE, r"def _opus_a8w4_stage1_wrapper", True),
    ("intermediate_pad_doubled_inside", FUSED_MOE, r"intermediate_pad // 64 \* 64 \* \(2 if", True),
    ("pads_rounded_down_by_cktile", FUSED_MOE, r"k_pad_zeros=hidden_pad // 128 \* 128", True),
    ("zero_weight_makes_zero_row", QUANTISERS, ZERO_ROW, True),
    ("padded_tokens_spread_nan", QUANTISERS, ZERO_ROW, False),
    (
        "bias_ignored",
        FUSED_MOE,
        r"dtype in \[dtypes\.bf16, dtypes\.fp16\]\s+and quant_type == QuantType\.per_1x32",
        True,
    ),
]


@cache
def text_of(tag: str, path: str) -> str | None:
    """The file at the tag; None where there is none."""
    run = subprocess.run(["git", "-C", SOURCE, "show", f"{tag}:{path}"], capture_output=True, check=False)
    return run.stdout.decode("utf-8", "replace") if run.returncode == 0 else None


@pytest.mark.parametrize(("name", "path", "pattern", "present"), SHOWN, ids=[row[0] for row in SHOWN])
def test_a_quirk_holds_on_the_tags_whose_source_shows_it(name, path, pattern, present):
    for release in recorded_releases():
        shown = re.search(pattern, text_of(f"v{release}", path) or "") is not None
        assert has_quirk(name, Version(release)) is (shown is present), release


def test_pads_are_skipped_inaccurately_where_they_are_forwarded_and_the_grid_is_not_rounded_up():
    kernels = ("mixed_moe_gemm_2stage.py", "mixed_moe_gemm_2stage_common.py")
    for release in recorded_releases():
        tag = f"v{release}"
        forwarded = "inter_dim_pad=intermediate_pad" in (text_of(tag, FUSED_MOE) or "")
        rounded = any("tile2_pad" in (text_of(tag, f"aiter/ops/flydsl/kernels/{name}") or "") for name in kernels)
        assert has_quirk("pad_skipping_inaccurate", Version(release)) is (forwarded and not rounded), release


def test_tracing_fails_where_the_fake_takes_fewer_arguments_than_the_operator():
    for release in recorded_releases():
        functions = {
            node.name: [argument.arg for argument in node.args.args]
            for node in ast.walk(ast.parse(text_of(f"v{release}", FUSED_MOE) or ""))
            if isinstance(node, ast.FunctionDef)
        }
        alike = functions["fused_moe_fake"] == functions["fused_moe_"]
        assert has_quirk("interleave_fails_while_tracing", Version(release)) is not alike, release


@pytest.mark.parametrize("quirk", QUIRKS, ids=lambda quirk: quirk.name)
def test_the_files_that_a_quirk_was_read_in_are_there_at_the_tags_named(quirk):
    read = 0
    for part in re.split(r";|\(", quirk.source):
        tags = re.findall(r"\bv\d+\.\d+\.\d+(?:\.post\d+)?", part)
        paths = re.findall(r"\b(?:aiter|csrc|op_tests)/[\w/]+(?:\.\w+)?", part)
        for path in paths:
            for tag in tags:
                listed = subprocess.run(
                    ["git", "-C", SOURCE, "cat-file", "-e", f"{tag}:{path}"], capture_output=True, check=False
                )
                assert listed.returncode == 0, f"{tag}:{path}"
                read += 1
    assert read or re.search(r"[\w-]+/[\w-]+#\d+", quirk.source)
