"""docs/companions.md: its example runs, and its tables name every companion and nothing else."""

import re
from pathlib import Path

import pytest

import aiter_compat as ac
from aiter_compat import companions

PAGE = Path(__file__).parents[2] / "docs" / "companions.md"
INTO_GIVEN_TENSORS = {"dynamic_per_tensor_quant", "dynamic_per_token_scaled_quant", "static_per_tensor_quant"}


@pytest.fixture(scope="module")
def page():
    return PAGE.read_text(encoding="utf-8")


def test_the_example_runs(page):
    namespace = {}
    for block in re.findall(r"^```python\n(.*?)^```", page, re.MULTILINE | re.DOTALL):
        exec(compile(block, str(PAGE), "exec"), namespace)
    assert namespace["codes"].shape == (5, 32)
    assert namespace["num_valid_ids"].tolist()[1] == 5


def test_the_tables_name_every_companion(page):
    firsts = [line.split("|")[1] for line in page.splitlines() if line.startswith("| `")]
    named = {name for cell in firsts for name in re.findall(r"`(\w+)`", cell)} | {"dtypes", "get_gfx"}
    assert named | INTO_GIVEN_TENSORS == set(companions.__all__)


def test_every_companion_is_public_and_documented():
    assert set(companions.__all__) <= set(ac.__all__)
    for name in companions.__all__:
        doc = getattr(ac, name).__doc__
        assert doc, name
        if name != "dtypes":
            assert "AITER's" in doc, name
