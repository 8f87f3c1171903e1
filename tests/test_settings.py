"""`AITER_COMPAT_*` variables: read once, and a bad value is an error that names the allowed ones."""

import pytest

import aiter_compat as ac
from aiter_compat.settings import Settings, settings


def test_defaults():
    assert Settings.from_environment({}) == Settings(strict=False, checks="metadata")


@pytest.mark.parametrize(("text", "strict"), [("0", False), ("1", True), (" 1 ", True)])
def test_strict(text, strict):
    assert Settings.from_environment({"AITER_COMPAT_STRICT": text}).strict is strict


@pytest.mark.parametrize("text", ["off", "metadata", "debug", "DEBUG"])
def test_checks(text):
    assert Settings.from_environment({"AITER_COMPAT_CHECKS": text}).checks == text.lower()


@pytest.mark.parametrize(("text", "mebibytes"), [("0", 0), ("4096", 4096), (" 12 ", 12)])
def test_memory_for_decoded_weights(text, mebibytes):
    assert Settings.from_environment({"AITER_COMPAT_DECODED_WEIGHTS_MIB": text}).decoded_weights_mib == mebibytes


@pytest.mark.parametrize(
    ("variable", "value", "allowed"),
    [
        ("AITER_COMPAT_STRICT", "yes", "0 or 1"),
        ("AITER_COMPAT_STRICT", "", "0 or 1"),
        ("AITER_COMPAT_CHECKS", "all", "off, metadata, debug"),
        ("AITER_COMPAT_DECODED_WEIGHTS_MIB", "-1", "whole number of MiB"),
        ("AITER_COMPAT_DECODED_WEIGHTS_MIB", "1.5", "whole number of MiB"),
        ("AITER_COMPAT_DECODED_WEIGHTS_MIB", "", "whole number of MiB"),
    ],
)
def test_a_bad_value_names_variable_value_and_allowed_ones(variable, value, allowed):
    with pytest.raises(ac.SettingsError) as raised:
        Settings.from_environment({variable: value})
    for part in (variable, repr(value), allowed):
        assert part in str(raised.value)


def test_the_environment_is_read_once_and_again_after_refresh(monkeypatch):
    assert settings().strict is False
    monkeypatch.setenv("AITER_COMPAT_STRICT", "1")
    assert settings().strict is False
    ac.refresh()
    assert settings().strict is True


def test_a_bad_value_stays_an_error_at_every_use(monkeypatch):
    monkeypatch.setenv("AITER_COMPAT_CHECKS", "loud")
    ac.refresh()
    for _ in range(2):
        with pytest.raises(ac.SettingsError):
            settings()
