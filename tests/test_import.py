"""`import aiter_compat` is light, its names are lazy and complete, and `refresh()` forgets."""

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

import aiter_compat as ac

PACKAGE = Path(ac.__file__).parent
HEAVY = {"torch", "aiter", "transformers", "numpy"}


def in_new_process(code: str, *, site: Path | None = None) -> None:
    """Run `code` in a process of its own, with `site` first on the path; an assertion in it fails the test."""
    path = [str(site)] if site else []
    prelude = f"import sys; sys.path[:0] = {[*path, str(PACKAGE.parent)]!r}\n"
    done = subprocess.run([sys.executable, "-c", prelude + code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_a_bare_import_loads_next_to_nothing():
    in_new_process(
        f"import aiter_compat\n"
        f"assert not {HEAVY} & set(sys.modules)\n"
        "ours = {name for name in sys.modules if name.partition('.')[0] == 'aiter_compat'}\n"
        "assert ours == {'aiter_compat', 'aiter_compat._exports'}, ours\n"
        "assert not {'importlib.metadata', 'packaging', 'dataclasses', 'inspect', 'subprocess'} & set(sys.modules)\n"
    )


def test_every_name_resolves_without_importing_aiter_or_starting_a_process(stub_site):
    in_new_process(
        "events = []\n"
        "sys.addaudithook(lambda event, args: events.append((event, args)) if event in\n"
        "    ('subprocess.Popen', 'os.system', 'os.exec', 'os.posix_spawn', 'os.fork') else None)\n"
        "import aiter_compat as ac\n"
        "for name in ac.__all__:\n"
        "    if name not in ('GateMode', 'ActivationType', 'QuantType'):\n"
        "        assert getattr(ac, name) is not None, name\n"
        "assert not {'aiter', 'transformers'} & set(sys.modules)\n"
        "assert not events, events\n",
        site=stub_site("0.1.15.post3"),
    )


def test_looking_and_naming_import_neither_torch_nor_aiter(stub_site):
    in_new_process(
        "import aiter_compat as ac\n"
        "assert ac.installation().kind == 'present'\n"
        "assert ac.surface().has('aiter.fused_moe.fused_moe')\n"
        "assert ac.capabilities()['gate_mode'] and ac.supports('swiglu_limit')\n"
        "from aiter_compat.enums import activation_name, gate_mode_name, quant_type_name\n"
        "assert activation_name('SwiGLU') == activation_name(2) == 'swiglu'\n"
        "assert quant_type_name('PER_1X32') == quant_type_name(3) == 'per_1x32'\n"
        "assert gate_mode_name('Interleave') == 'interleave'\n"
        "assert ac.numerics('aiter-0.1.15').name == 'aiter-0.1.15'\n"
        "from aiter_compat.doctor import as_text, examine\n"
        "assert as_text(examine())\n"
        f"assert not {HEAVY} & set(sys.modules), {HEAVY} & set(sys.modules)\n",
        site=stub_site("0.1.15.post3"),
    )


def test_detection_does_without_importlib_metadata():
    in_new_process(
        "import aiter_compat as ac\nac.installation()\n"
        "assert not {'importlib.metadata', 'email', 'dataclasses'} & set(sys.modules)\n"
    )


def test_no_module_has_the_name_of_a_public_attribute():
    """Importing `aiter_compat.installation` would put a module in the place of `ac.installation`."""
    files = [path.relative_to(PACKAGE) for path in PACKAGE.rglob("*.py")]
    modules = {part for path in files for part in path.with_suffix("").parts} | {"migrations"}
    assert {"detect", "features", "moe", "loader"} <= modules
    assert not modules & set(ac.__all__)


@pytest.mark.parametrize("name", ac.__all__)
def test_every_export_resolves_and_is_listed(name):
    assert getattr(ac, name) is not None
    assert name in dir(ac)


def test_the_stub_file_lists_exactly_the_exports():
    tree = ast.parse((PACKAGE / "__init__.pyi").read_text(encoding="utf-8"))
    listed = next(
        ast.literal_eval(node.value)
        for node in tree.body
        if isinstance(node, ast.Assign) and node.targets[0].id == "__all__"
    )
    assert sorted(listed) == sorted(ac.__all__)
    bound = {node.name for node in tree.body if isinstance(node, ast.ClassDef)}
    for node in tree.body:
        if isinstance(node, ast.ImportFrom):
            bound |= {alias.asname for alias in node.names if alias.asname}
    assert bound == set(ac.__all__)


def test_the_stub_file_and_the_lazy_table_name_the_same_objects():
    from aiter_compat._exports import EXPORTS

    tree = ast.parse((PACKAGE / "__init__.pyi").read_text(encoding="utf-8"))
    stated = {
        alias.asname: (node.module, alias.name)
        for node in tree.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
        if alias.asname
    }
    assert stated == EXPORTS


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="module 'aiter_compat' has no attribute 'fused_moo'"):
        ac.fused_moo  # noqa: B018
    assert not hasattr(ac, "__wrapped__")


def test_all_has_no_name_twice():
    assert len(set(ac.__all__)) == len(ac.__all__)


def test_the_names_of_the_contract_are_there():
    contract = {
        *("installation", "surface", "capabilities", "supports", "refresh", "explain", "numerics"),
        *("GateMode", "ActivationType", "QuantType", "MoEConfig", "MoEWeights", "Padding", "Decision"),
        *("fused_moe", "fused_experts", "prepare_weights", "resolve_padding", "quantize", "dequantize", "qdq"),
        *("AiterCompatError", "UnsupportedByAiter", "LayoutUnknown", "ContractChanged"),
    }
    assert contract <= set(ac.__all__)


def test_refresh_forgets_everything(without_aiter, aiter_stub, monkeypatch):
    twin = ac.ActivationType
    before = ac.capabilities(), ac.surface(), ac.installation()
    assert (before[1], before[2].kind) == (None, "absent")
    assert twin.__module__ == "aiter_compat"
    monkeypatch.undo()  # `without_aiter` may have hidden a real one
    aiter_stub("0.1.15.post3")  # refreshes
    assert ac.installation().version == "0.1.15.post3"
    assert ac.surface() is not None
    assert ac.supports("gate_mode")
    assert ac.ActivationType is not twin
    assert ac.ActivationType is sys.modules["aiter.ops.enum"].ActivationType
    aiter_stub("0.1.13.post1")
    assert not ac.supports("gate_mode")
    assert ac.installation().version == "0.1.13.post1"


def test_without_refresh_an_answer_stays(without_aiter, stub_site, monkeypatch):
    assert ac.installation().kind == "absent"
    monkeypatch.syspath_prepend(str(stub_site("0.1.15.post3")))
    assert ac.installation().kind == "absent"
    assert ac.surface() is None
    assert not ac.supports("gate_mode")


def test_the_logger_is_silent_until_the_host_configures_logging():
    in_new_process(
        "import io, contextlib, logging\n"
        "from aiter_compat.logs import logger\n"
        "assert logger.name == 'aiter_compat'\n"
        "with contextlib.redirect_stderr(io.StringIO()) as err:\n"
        "    logger.warning('not for the screen')\n"
        "assert err.getvalue() == '', err.getvalue()\n"
        "kept = []\n"
        "handler = logging.Handler()\n"
        "handler.emit = kept.append\n"
        "logging.getLogger().addHandler(handler)\n"
        "logger.warning('for the host')\n"
        "assert [record.getMessage() for record in kept] == ['for the host']\n"
    )


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_fork_while_another_thread_imports_aiter_leaves_no_lock_behind(tmp_path):
    package = tmp_path / "aiter"
    package.mkdir()
    (package / "__init__.py").write_text(
        "import __main__\n__main__.inside.set()\nassert __main__.go_on.wait(60)\n", encoding="utf-8"
    )
    (package / "fused_moe.py").write_text("def fused_moe(hidden_states): ...\n", encoding="utf-8")
    in_new_process(
        "import os, threading, warnings\n"
        "inside, go_on = threading.Event(), threading.Event()\n"
        "from aiter_compat.native import attempt\n"
        "import aiter_compat as ac\n"
        "thread = threading.Thread(target=attempt)\n"
        "thread.start()\n"
        "assert inside.wait(60)\n"
        "warnings.simplefilter('ignore')\n"
        "child = os.fork()\n"
        "if child == 0:\n"
        "    import signal\n"
        "    signal.alarm(30)\n"
        "    from aiter_compat.native import loader\n"
        "    with loader._lock:\n"
        "        ac.capabilities(), ac.surface()\n"
        "    os._exit(0)\n"
        "assert os.waitpid(child, 0)[1] == 0, 'the child waited for a lock that nobody holds'\n"
        "go_on.set(); thread.join()\n",
        site=tmp_path,
    )
