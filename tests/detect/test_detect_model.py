"""`Installation` as a value: comparable, printable, JSON-ready."""

from __future__ import annotations

import json
import pickle

import pytest
from packaging.version import Version

from aiter_compat.detect import Installation

PRESENT = Installation(
    "present", "0.1.14+rocm7.2", "distribution metadata", "/x/aiter", "amd-aiter", True, False, ("a warning",)
)


def test_release_leaves_the_local_part_out():
    assert PRESENT.release == Version("0.1.14")


@pytest.mark.parametrize("kind", ["foreign", "namespace", "absent"])
def test_only_aiter_has_a_release(kind):
    assert Installation(kind, version="0.13.20191203").release is None


def test_as_dict_is_json_and_carries_everything():
    plain = json.loads(json.dumps(PRESENT.as_dict()))
    assert plain.pop("release") == "0.1.14"
    assert plain.pop("warnings") == ["a warning"]
    assert plain == {
        "kind": "present",
        "version": "0.1.14+rocm7.2",
        "source": "distribution metadata",
        "location": "/x/aiter",
        "distribution": "amd-aiter",
        "editable": True,
        "imported": False,
    }


def test_installation_cannot_be_changed():
    with pytest.raises(AttributeError):
        PRESENT.version = "0.1.15"  # type: ignore[misc]


def test_installation_survives_pickling():
    assert pickle.loads(pickle.dumps(PRESENT)) == PRESENT


@pytest.mark.parametrize(
    ("found", "words"),
    [
        (Installation("absent"), ["not installed"]),
        (Installation("namespace", location="/x/aiter"), ["not AITER", "/x/aiter"]),
        (Installation("foreign", "0.13", location="/x", distribution="aiter"), ["not AITER", "aiter 0.13", "/x"]),
        (Installation("present", location="/x"), ["unknown version", "/x"]),
        (PRESENT, ["0.1.14+rocm7.2", "distribution metadata", "/x/aiter", "editable", "1 warning"]),
    ],
)
def test_text_is_one_line_that_says_what_matters(found, words):
    text = str(found)
    assert "\n" not in text
    assert all(word in text for word in words), text
