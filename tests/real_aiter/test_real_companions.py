"""On AITER's own code each companion is found where the release has it, and AITER's torch code agrees with ours."""

import pytest
from packaging.version import Version

from aiter_compat.companions.names import COMPANIONS
from conformance.companions import found_on
from conformance.runs import tags

pytestmark = pytest.mark.real_aiter

SINCE = {
    "topk_gating": "0.1.14",
    "shuffle_scale": "0.1.14",
    "per_1x32_mx_quant_hip": "0.1.15",
    "moe_shuffle_scale": "0.1.17",
    "moe_shuffle_weight": "0.1.18",
    "shuffle_scale_moe": "0.1.18",
}


@pytest.mark.parametrize("tag", tags())
def test_companions_are_found_and_agree(source, tmp_path, tag):
    told = found_on(source, tag, tmp_path)
    version = Version(tag.removeprefix("v"))
    expected = {name for name in COMPANIONS if version >= Version(SINCE.get(name, "0"))}
    assert set(told["served"]) == expected
    assert told["differing"] == []
