"""README's Python blocks run as they stand, one after the other, and its table of decisions is true."""

import re
from pathlib import Path

import pytest

README = Path(__file__).resolve().parents[1] / "README.md"


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", README.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)


def without_path(decision: str) -> str:
    """The text without what depends on whether numba is installed."""
    lines = [line for line in decision.splitlines() if not line.startswith("  path: ")]
    return "\n".join(lines).replace("emulation (compiled)", "emulation (torch)")


def test_python_blocks_run_in_order(capsys):
    pytest.importorskip("torch")
    namespace: dict[str, object] = {}
    for block in blocks("python"):
        exec(compile(block, str(README), "exec"), namespace)
    assert tuple(namespace["out"].shape) == (3, 128)
    printed = without_path(capsys.readouterr().out)
    shown = without_path(blocks("text")[0].strip())
    assert shown in printed, "the decision shown in README is what explain prints without AITER"


def test_the_two_commands_stand_in_the_first_screen():
    first_screen = README.read_text(encoding="utf-8").splitlines()[:30]
    setup = "python -m pip install tox && python -m tox run"
    for command in (f"{setup} -e demo", f"{setup} "):
        assert any(line.startswith(command) for line in first_screen)


def test_relative_links_lead_to_files():
    for target in re.findall(r"\]\(([^)#:]+)\)", README.read_text(encoding="utf-8")):
        assert (README.parent / target).exists(), target
