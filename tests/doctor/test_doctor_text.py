"""The text fits one screen, and says what a person who has never seen it needs."""

import pytest

from aiter_compat.doctor import as_text, examine

LINES, COLUMNS = 45, 120
CASES = ["absent", "foreign", "namespace", "0.1.13.post1", "0.1.15.post3", "0.1.20.post1", "broken", "truncated"]


@pytest.fixture(params=CASES)
def text(request):
    if request.param == "absent":
        request.getfixturevalue("without_aiter")
    elif request.param == "foreign":
        request.getfixturevalue("fake_site")({"aiter/__init__.py": "", "aiter/azip.py": ""})
    elif request.param == "namespace":
        request.getfixturevalue("fake_site")({"aiter/readme.txt": ""})
    else:
        request.getfixturevalue("aiter_stub")(request.param)
    return as_text(examine(try_import=True))


def test_it_is_one_screen(text):
    lines = text.splitlines()
    assert len(lines) <= LINES
    assert max(map(len, lines)) <= COLUMNS
    assert not any(line != line.rstrip() for line in lines)


def test_its_sections_come_in_one_order(text):
    headings = [line.split(" (")[0] for line in text.splitlines()[1:] if not line.startswith((" ", "!"))]
    obsolete = "workarounds that this release does not need"
    order = ["aiter", "capabilities", "quirks of this release", obsolete, "calls"]
    assert headings == [heading for heading in order if heading in headings]
    assert {"aiter", "calls"} <= set(headings)


def line_of(text: str, label: str) -> str:
    return next(line.strip() for line in text.splitlines() if line.strip().startswith(label))


def test_absent(without_aiter):
    text = as_text(examine())
    assert "  AITER is not installed" in text.splitlines()
    assert "capabilities" not in text


def test_present(aiter_stub):
    folder = aiter_stub("0.1.15.post3")
    text = as_text(examine())
    assert "AITER 0.1.15.post3 (from distribution metadata) at" in text
    assert str(folder) in "".join(line.strip() for line in text.splitlines())
    assert line_of(text, "distribution") == "distribution  amd-aiter"
    assert line_of(text, "GateMode") == "GateMode      aiter.ops.flydsl.moe_common.GateMode"
    assert line_of(text, "fused_moe") == "fused_moe     24 parameters, last gate_mode"
    assert line_of(text, "no (since)").startswith("no (since)    situv2 (v0.1.19), shared_expert (v0.1.19.post1)")
    assert "import        " not in text  # not tried


def test_workarounds_that_the_release_does_not_need(aiter_stub, monkeypatch):
    monkeypatch.setenv("AITER_BF16_FP8_BOUND", "100000")
    aiter_stub("0.1.20.post1")
    lines = as_text(examine()).splitlines()
    place = next(number for number, line in enumerate(lines) if line.startswith("workarounds that"))
    told = " ".join(line.strip() for line in lines[place:])
    assert "intermediate_pad=0 (MoEConfig.intermediate_pad=0) to keep FlyDSL from skipping pads (since v0.1.15" in told
    assert "! AITER_BF16_FP8_BOUND is set: " in told
    assert len(lines) <= LINES


def test_broken(aiter_stub):
    aiter_stub("broken")
    text = as_text(examine(try_import=True))
    expected = "import        importing aiter.fused_moe failed: RuntimeError: ROCm version file not found"
    assert line_of(text, "import") == expected
    assert "the installed AITER does not import" in text


def test_warnings_of_detection_are_shown_in_full(fake_site):
    fake_site({"aiter/readme.txt": ""})
    text = " ".join(line.strip() for line in as_text(examine()).splitlines())
    assert "without an __init__.py" in text
    assert "imports as an empty namespace package" in text


def test_words_are_not_broken_at_hyphens(aiter_stub):
    aiter_stub("0.1.13.post1")
    assert not any(line.endswith("-") for line in as_text(examine()).splitlines())


def test_an_aiter_without_fused_moe(fake_site):
    fake_site({"aiter/__init__.py": "", "aiter/jit/core.py": "", "aiter/fused_moe.py": "def other(): ...\n"})
    text = as_text(examine())
    assert "GateMode      not there" in text
    assert "yes           none" in text
