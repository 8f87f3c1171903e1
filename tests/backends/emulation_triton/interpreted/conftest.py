"""Kernels run in Triton's interpreter, which must be asked for before Triton is imported (test_in_the_interpreter)."""

import os
from dataclasses import replace

import pytest

collect_ignore_glob = []
if os.environ.get("TRITON_INTERPRET") != "1":
    collect_ignore_glob.append("test_*.py")
else:
    pytest.importorskip("triton")


@pytest.fixture
def at_the_edges():
    """Puts Inf, NaN and huge values into a request of four tokens or more, and a small scale into its weights."""

    def changed(request):
        hidden = request.hidden_states.clone()
        hidden[0, 7], hidden[1, 100], hidden[2, 3] = float("inf"), float("nan"), float("-inf")
        hidden[3] *= 2.0**60
        scale = request.w1_scale.clone()
        scale[:, 5, 1] = 100
        return replace(request, hidden_states=hidden, w1_scale=scale)

    return changed


@pytest.fixture
def with_scales_of_nan():
    """Gives some of a request's weights the scale NaN, and some the smallest."""

    def changed(request):
        scale = request.w2_scale.clone()
        scale[0, 5, 1], scale[:, 7] = 255, 0
        return replace(request, w2_scale=scale)

    return changed
