"""`python -m conformance`: run every supported release, print what became of the calls, write the page."""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from pathlib import Path

from conformance.page import PAGE, page_text
from conformance.runs import SOURCE, Outcome, faults_in, older_tags, outcomes_on, tags


def main() -> int:
    """Run; 1 when anything was found at fault, 2 when there is no checkout."""
    parser = argparse.ArgumentParser(prog="python -m conformance", description=__doc__)
    parser.add_argument("--write", action="store_true", help=f"write {PAGE.name} when nothing is at fault")
    parser.add_argument("tags", nargs="*", help="tags to run; default: every recorded release")
    arguments = parser.parse_args()
    source = os.environ.get(SOURCE)
    if not source:
        print(f"{SOURCE} must name a checkout, or git directory, of ROCm/aiter with its tags", file=sys.stderr)
        return 2
    if arguments.write and arguments.tags:
        parser.error("--write needs every release")
    results: dict[str, list[Outcome]] = {}
    for tag in arguments.tags or (*tags(), *older_tags()):
        with tempfile.TemporaryDirectory() as folder:
            outcomes = outcomes_on(Path(source), tag, Path(folder))
        results[tag] = outcomes
        faults = faults_in(outcomes)
        served = sum(one.outcome == "served" for one in outcomes)
        print(f"{tag}: {len(outcomes)} calls, {served} served, {len(faults)} at fault", flush=True)
        for fault in faults:
            print(f"  {fault}")
    if any(faults_in(outcomes) for outcomes in results.values()):
        return 1
    if arguments.write:
        supported, older = ({tag: results[tag] for tag in group} for group in (tags(), older_tags()))
        PAGE.write_text(page_text(supported, older), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
