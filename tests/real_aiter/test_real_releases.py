"""On AITER's own code a call arrives whole or is refused before AITER; the documentation says which."""

import pytest

from conformance.page import PAGE, page_text
from conformance.runs import faults_in, older_tags, tags

pytestmark = pytest.mark.real_aiter


@pytest.mark.parametrize("tag", [*older_tags(), *tags()])
def test_every_call_arrives_whole_or_is_refused_for_a_true_reason(outcomes_of, tag):
    outcomes = outcomes_of(tag)
    assert faults_in(outcomes) == []
    assert {one.outcome for one in outcomes} == {"served", "refused"}


def test_the_page_is_what_the_run_gives(outcomes_of):
    """Otherwise: `python -m conformance --write`."""
    supported, older = ({tag: outcomes_of(tag) for tag in group} for group in (tags(), older_tags()))
    assert page_text(supported, older) == PAGE.read_text(encoding="utf-8")
