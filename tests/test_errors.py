"""Errors of our own share one base, carry what was wrong, and survive pickling (worker processes raise them)."""

import inspect
import pickle

import pytest

import aiter_compat as ac
from aiter_compat import errors

CLASSES = [value for _, value in inspect.getmembers(errors, inspect.isclass) if issubclass(value, Exception)]


@pytest.mark.parametrize("cls", CLASSES)
def test_every_error_is_public_and_derives_from_the_base(cls):
    assert issubclass(cls, ac.AiterCompatError)
    assert getattr(ac, cls.__name__) is cls
    assert cls.__module__ == "aiter_compat"  # what a traceback prints is what a person can import


def test_value_errors_are_value_errors():
    assert issubclass(ac.InvalidArgument, ValueError)
    assert issubclass(ac.SettingsError, ValueError)
    assert issubclass(ac.AiterImportError, ac.UnsupportedByAiter)


def test_invalid_argument_names_argument_given_allowed_and_remedy():
    error = ac.InvalidArgument("gate_mode", 7, "separated or interleave", "Pass a name.")
    assert str(error) == "gate_mode: got 7; allowed: separated or interleave. Pass a name."
    assert (error.argument, error.given, error.allowed, error.remedy) == (
        "gate_mode",
        "7",
        "separated or interleave",
        "Pass a name.",
    )
    assert str(ac.InvalidArgument("dtype", "fp7", ("fp8", "bf16"))) == "dtype: got fp7; allowed: ('fp8', 'bf16')."


def test_unsupported_lists_its_reasons():
    error = ac.UnsupportedByAiter((reason for reason in ("no gate_mode", "no bias")), "Use the emulation.")
    assert error.reasons == ("no gate_mode", "no bias")
    assert str(error) == "AITER cannot serve this call: no gate_mode; no bias. Use the emulation."


@pytest.mark.parametrize(
    "error",
    [
        ac.InvalidArgument("w1", "rank 2", "rank 3", "Stack the experts."),
        ac.UnsupportedByAiter(["no gate_mode"], "Use the emulation."),
        ac.AiterImportError(["importing aiter failed"]),
        ac.LayoutUnknown("say which"),
        ac.RecordError("not recorded"),
    ],
)
def test_errors_survive_pickling(error):
    copy = pickle.loads(pickle.dumps(error))
    assert type(copy) is type(error)
    assert str(copy) == str(error)
    assert vars(copy) == vars(error)
