"""AITER is imported once, its own error is kept, and a failure leaves the process as it was."""

import sys
import threading

import pytest

import aiter_compat as ac
from aiter_compat.native import attempt, import_symbol

# What makes a folder called aiter AMD's: see facts on detection. Its __init__ is each test's own.
AMD = {"aiter/fused_moe.py": "def fused_moe(hidden_states): ...\n", "aiter/jit/core.py": ""}
FAILURES = {
    "RuntimeError": 'raise RuntimeError("ROCm version file not found")',
    "ImportError": 'raise ImportError("cannot import name ActivationType")',
    "ModuleNotFoundError": "import a_package_that_is_not_there",
    "ValueError": "namespace, name = 'aiter::aiter::x'.split('::')",
    "AttributeError": "import sys; sys.fmoe",
    "KeyError": "{}['gfx000']",
    "FileNotFoundError": "open('/proc/no such file')",
    "AssertionError": 'assert False, "Could not find hipconfig"',
    "SyntaxError": "def broken(:",
    "SystemExit": "import sys; sys.exit(1)",
}


@pytest.fixture
def fake_aiter(fake_site):
    """Installs AMD-like files with this __init__.py."""
    return lambda init, **files: fake_site({**AMD, "aiter/__init__.py": init + "\n", **files})


@pytest.mark.parametrize(("error", "init"), FAILURES.items())
def test_any_failure_is_kept_with_aiters_own_error(fake_aiter, error, init):
    fake_aiter(init)
    outcome = attempt()
    assert outcome.module is None
    assert type(outcome.error).__name__ == error
    assert outcome.name == "aiter.fused_moe"
    assert f"importing aiter.fused_moe failed: {error}: " in outcome.reason


def test_the_reason_is_one_line(fake_aiter):
    fake_aiter('raise RuntimeError("first\\n\\n    second")')
    assert attempt().reason == "importing aiter.fused_moe failed: RuntimeError: first second"


def test_an_error_without_text_says_so(fake_aiter):
    fake_aiter("raise RuntimeError")
    assert attempt().reason.endswith("RuntimeError: no message")


def test_an_interrupt_is_not_swallowed(fake_aiter):
    fake_aiter("raise KeyboardInterrupt")
    with pytest.raises(KeyboardInterrupt):
        attempt()


def test_the_hosts_own_wish_to_stop_is_not_swallowed(fake_aiter, monkeypatch):
    """A signal handler that calls sys.exit may run in the middle of AITER's import, which takes seconds."""
    import signal

    monkeypatch.setattr(sys, "stop_the_host", lambda: signal.raise_signal(signal.SIGUSR1), raising=False)
    before = signal.signal(signal.SIGUSR1, lambda number, frame: sys.exit(143))
    try:
        fake_aiter("import sys; sys.stop_the_host()")
        with pytest.raises(SystemExit, match="143"):
            attempt()
    finally:
        signal.signal(signal.SIGUSR1, before)


COUNTING = "import builtins\nbuiltins.imports_of_aiter = getattr(builtins, 'imports_of_aiter', 0) + 1\n"


@pytest.fixture
def imports(monkeypatch):
    """How often a COUNTING package was executed."""
    import builtins

    monkeypatch.setattr(builtins, "imports_of_aiter", 0, raising=False)
    return lambda: builtins.imports_of_aiter


def test_a_failure_is_tried_once_and_again_after_refresh(fake_aiter, imports):
    fake_aiter(COUNTING + "raise RuntimeError('no ROCm')")
    first = attempt()
    assert attempt() is first
    assert attempt("aiter.ops.enum").error is first.error  # the package failed, so what is below it failed
    with pytest.raises(ac.AiterImportError):
        import_symbol("aiter.ops.enum.QuantType")
    assert imports() == 1
    ac.refresh()
    assert attempt().error is not first.error
    assert imports() == 2


def test_what_works_after_refresh_is_found(fake_aiter, imports):
    folder = fake_aiter("raise RuntimeError('ROCm is being installed')")
    assert attempt().error is not None
    (folder / "aiter" / "__init__.py").write_text("ROCM = 'installed by now'\n", encoding="utf-8")
    assert attempt().error is not None
    ac.refresh()
    assert attempt().error is None
    assert attempt("aiter").module.ROCM == "installed by now"


def test_a_submodule_that_fails_alone_does_not_condemn_the_package(fake_aiter):
    fake_aiter("VALUE = 7", **{"aiter/ops/__init__.py": "", "aiter/ops/enum.py": "raise ImportError('no .so')"})
    assert attempt("aiter.ops.enum").error is not None
    assert attempt().error is None
    assert sys.modules["aiter"].VALUE == 7
    assert "aiter.ops" in sys.modules
    assert "aiter.ops.enum" not in sys.modules


def test_threads_that_ask_at_once_import_once(fake_aiter, imports):
    fake_aiter(COUNTING + "import time\ntime.sleep(0.05)\nraise RuntimeError('no ROCm')")
    start, outcomes = threading.Barrier(8), []

    def work():
        start.wait()
        outcomes.append(attempt())

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert imports() == 1
    assert len(outcomes) == 8
    assert len({id(outcome) for outcome in outcomes}) == 1


def test_the_import_may_ask_us_itself(fake_aiter):
    fake_aiter("import aiter_compat as ac\nKIND = ac.installation().kind\nassert ac.GateMode.SEPARATED")
    outcome = attempt("aiter")
    assert outcome.reason == ""
    assert outcome.module.KIND == "present"


@pytest.mark.parametrize("site", ["absent", "foreign", "namespace"])
def test_what_is_not_aiter_is_not_imported(request, fake_site, site):
    if site == "absent":
        request.getfixturevalue("without_aiter")
    else:
        marker = {"aiter/azip.py": "", "aiter/__init__.py": "raise RuntimeError('imported')\n"}
        fake_site(marker if site == "foreign" else {"aiter/readme.txt": ""})
    assert ac.installation().kind == site
    with pytest.raises(ac.AiterImportError, match=r"not AITER|not installed"):
        attempt()
    with pytest.raises(ac.AiterImportError):
        import_symbol("aiter.ops.enum.QuantType")
    assert "aiter" not in sys.modules


class TestSymbols:
    def test_a_symbol_is_aiters_own_object(self, aiter_stub):
        aiter_stub("0.1.15.post3")
        cls = import_symbol("aiter.ops.enum.QuantType")
        assert cls is sys.modules["aiter"].QuantType

    def test_a_name_that_is_not_there_is_named(self, aiter_stub):
        aiter_stub("0.1.15.post3")
        with pytest.raises(ac.AiterImportError, match=r"module aiter.ops.enum has no 'Nothing'"):
            import_symbol("aiter.ops.enum.Nothing")

    def test_the_cause_is_aiters_error(self, aiter_stub):
        aiter_stub("broken")
        with pytest.raises(ac.AiterImportError, match="ROCm version file not found") as raised:
            import_symbol("aiter.ops.enum.QuantType")
        assert isinstance(raised.value.__cause__, RuntimeError)
        assert isinstance(raised.value.__cause__.__cause__, AssertionError)  # the whole chain of AITER's is kept


class TestDebris:
    @pytest.mark.parametrize("name", ["broken", "incompatible"])
    def test_a_failed_import_leaves_modules_and_path_as_they_were(self, aiter_stub, name):
        import torch  # noqa: F401 - AITER imports it, and it is none of its debris

        folder = aiter_stub(name)
        modules, path = dict(sys.modules), list(sys.path)
        assert attempt().error is not None
        assert sys.path == path
        left = {key: module for key, module in sys.modules.items() if key not in modules}
        assert not [key for key in left if key.partition(".")[0] in ("aiter", "aiter_meta")]
        assert not [key for key, module in left.items() if str(folder) in str(getattr(module, "__file__", ""))]
        assert not {"hipify", "file_baton", "chip_info", "_cpp_extension_versioner", "torch_guard"} & set(sys.modules)
        assert {key: sys.modules.get(key) for key in modules} == modules

    def test_seven_retries_leave_no_entry_on_the_path(self, aiter_stub):
        aiter_stub("broken")
        path = list(sys.path)
        for _ in range(7):
            attempt()
            ac.refresh()
        assert sys.path == path

    def test_what_the_host_put_there_stays(self, fake_aiter, tmp_path):
        theirs = str(tmp_path / "theirs")
        folder = fake_aiter(
            "import sys, types\n"
            f"sys.path.append({theirs!r})\n"
            "sys.modules['module_of_the_host'] = types.ModuleType('module_of_the_host')\n"
            "sys.path.insert(0, __path__[0] + '/jit/utils/')\n"
            "raise RuntimeError('no ROCm')"
        )
        path = list(sys.path)
        try:
            assert attempt().error is not None
            assert sys.path == [*path, theirs]
            assert "module_of_the_host" in sys.modules
        finally:
            sys.modules.pop("module_of_the_host", None)
        assert str(folder) in sys.path

    def test_the_folder_above_aiter_is_not_moved_to_the_front(self, fake_aiter):
        """AITER puts its own root at the head when it finds no aiter_meta: site-packages, for an installed one."""
        folder = fake_aiter(
            "import os, sys\nsys.path.insert(0, os.path.dirname(__path__[0]))\nraise RuntimeError('no')"
        )
        sys.path.remove(str(folder))
        sys.path.append(str(folder))
        path = list(sys.path)
        assert attempt().error is not None
        assert sys.path == path

    @pytest.mark.parametrize("variable", ["AITER_JIT_DIR", "AITER_META_DIR"])
    def test_folders_that_a_variable_names_for_aiter_go_too(self, fake_aiter, tmp_path, monkeypatch, variable):
        monkeypatch.setenv(variable, str(tmp_path / "cache"))
        fake_aiter(f"import os, sys\nsys.path.insert(0, os.environ['{variable}'])\nraise RuntimeError('no')")
        path = list(sys.path)
        assert attempt().error is not None
        assert sys.path == path

    def test_odd_things_in_modules_and_path_do_no_harm(self, fake_aiter, tmp_path, monkeypatch):
        class Lazy:
            def __getattr__(self, name):
                raise AssertionError(f"{name} was touched")

        fake_aiter("import __main__, sys\nsys.modules['lazy_one'] = __main__.lazy_one\nraise RuntimeError('no')")
        monkeypatch.setattr("__main__.lazy_one", Lazy(), raising=False)
        monkeypatch.setitem(sys.modules, "blocked_one", None)
        sys.path.append(tmp_path)  # a Path object, which import ignores
        try:
            assert attempt().error is not None
        finally:
            sys.modules.pop("lazy_one", None)
        assert tmp_path in sys.path


class TestTruncated:
    """v0.1.14 without ROCm imports and lacks most of its names."""

    def test_the_package_imports_and_fused_moe_does_not(self, aiter_stub):
        aiter_stub("truncated")
        assert attempt("aiter").error is None
        outcome = attempt()
        assert isinstance(outcome.error, ImportError)
        assert "cannot import name 'ActivationType'" in outcome.reason

    def test_the_package_stays_because_it_was_imported(self, aiter_stub):
        aiter_stub("truncated")
        attempt()
        package = sys.modules["aiter"]
        assert not hasattr(package, "ActivationType")
        assert import_symbol("aiter.ops.flydsl.moe_common.GateMode").SEPARATED.value == "separated"
        assert sys.modules["aiter"] is package


class TestHostImportedIt:
    def test_its_modules_are_used(self, aiter_stub):
        aiter_stub("0.1.15.post3")
        import aiter.fused_moe

        assert attempt().module is aiter.fused_moe
        assert ac.installation().imported

    def test_a_failing_submodule_does_not_take_the_hosts_package_away(self, fake_aiter):
        failing = "import aiter.helper\nraise ValueError('torch 2.13')\n"
        fake_aiter("HOST = 'uses me'", **{"aiter/fused_moe.py": failing, "aiter/helper.py": ""})
        import aiter  # noqa: A004

        assert attempt().error is not None
        assert sys.modules["aiter"] is aiter
        assert aiter.HOST == "uses me"
        assert "aiter.helper" in sys.modules
        assert aiter.helper is sys.modules["aiter.helper"]

    def test_a_package_that_failed_for_the_host_is_tried_by_us_and_cleaned(self, aiter_stub):
        """The host's own failed attempt left debris before us; only ours is taken away."""
        aiter_stub("broken")
        with pytest.raises(RuntimeError):
            __import__("aiter")
        path = list(sys.path)
        assert "hipify" in sys.modules
        assert attempt().error is not None
        assert sys.path == path
        assert "hipify" in sys.modules
