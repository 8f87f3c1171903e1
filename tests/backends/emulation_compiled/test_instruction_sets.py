"""Each processor gets the widest kernels that it can run."""

import pytest

from aiter_compat.backends.emulation.compiled.kernels.instruction_sets import instruction_set

AVX512 = ["+avx2", "+avx512f", "+avx512bw", "+avx512dq", "+avx512vl"]


@pytest.mark.parametrize(
    ("features", "name"),
    [
        ([], "portable"),
        (["+sse4.2", "+neon"], "portable"),
        (["+avx", "-avx2"], "portable"),
        (["+avx2", "+fma"], "AVX2"),
        (["+avx2", "+avx512f"], "AVX2"),  # Knights Landing has no byte products of 512 bits
        (AVX512, "AVX-512"),
        ([*AVX512, "-avx512vnni"], "AVX-512"),
        ([*AVX512, "+avx512vnni"], "AVX-512 VNNI"),
        ([*AVX512, "+avx512vbmi"], "AVX-512 VBMI"),
        ([*AVX512, "+avx512vnni", "+avx512vbmi"], "AVX-512 VNNI VBMI"),
    ],
)
def test_the_widest_form(features, name):
    chosen = instruction_set(features)
    assert chosen.name == name
    assert chosen.lanes * chosen.vectors == 16


def test_signs_may_be_left_out():
    assert instruction_set(["avx2"]).name == "AVX2"
