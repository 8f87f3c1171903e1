"""What a process has already loaded: `sys.modules`, registered editable finders, the current directory."""

from __future__ import annotations

import pytest

REAL_FINDER = """
import sys
from importlib.machinery import PathFinder
from importlib.util import spec_from_file_location

MAPPING: dict[str, str] = {mapping!r}

class _EditableFinder:
    @classmethod
    def find_spec(cls, fullname, path=None, target=None):
        raise AssertionError("a finder was asked, which runs its code")

def install():
    sys.meta_path.append(_EditableFinder)
"""
QUIET = {"__init__.py": "", "fused_moe.py": "", "ops/__init__.py": ""}
SHOW = "print(found.kind, found.version, found.location, found.editable, found.imported, found.warnings, sep='\\n')"


def _shown(output: str) -> dict[str, str]:
    return dict(
        zip(("kind", "version", "location", "editable", "imported", "warnings"), output.splitlines(), strict=True)
    )


def test_registered_finder_is_looked_at_and_not_asked(site, make_site, in_fresh_python):
    checkout = make_site("checkout")
    package = checkout.package()
    finder = "__editable___amd_aiter_0_1_14_finder"
    site.write(f"{finder}.py", REAL_FINDER.format(mapping={"aiter": str(package)}))
    site.write("__editable__.amd_aiter-0.1.14.pth", f"import {finder}; {finder}.install()\n")
    site.dist_info("0.1.14", files={}, editable=checkout.root)
    shown = _shown(in_fresh_python(SHOW, before=f"site.addsitedir({str(site)!r})"))
    assert (shown["kind"], shown["version"], shown["location"]) == ("present", "0.1.14", str(package))
    assert (shown["editable"], shown["imported"], shown["warnings"]) == ("True", "False", "()")


def test_folder_on_pythonpath_does_not_get_its_path_files_processed(site, make_site, in_fresh_python):
    checkout = make_site("checkout")
    checkout.package()
    site.write("__editable__.amd_aiter-0.1.14.pth", f"{checkout}\n")
    site.dist_info("0.1.14", files={}, editable=checkout.root)
    shown = _shown(in_fresh_python(SHOW, path=(site,)))
    assert shown["kind"] == "absent"  # as `import aiter` would find
    assert str(checkout) in shown["warnings"]


def test_clone_in_the_current_directory_is_a_namespace(site, in_fresh_python):
    site.write("aiter/aiter/__init__.py")
    shown = _shown(in_fresh_python(SHOW, cwd=site.root))  # python -c starts with "" in sys.path
    assert shown["kind"] == "namespace"
    assert "clone of the repository" in shown["warnings"]


def test_deleted_current_directory_does_no_harm(site, make_site, in_fresh_python):
    site.package(version="0.1.14")
    gone = make_site("gone").root
    before = f"os.chdir({str(gone)!r}); os.rmdir({str(gone)!r})"
    assert _shown(in_fresh_python(SHOW, path=(site,), before=before))["version"] == "0.1.14"


def test_imported_aiter_is_found_where_it_was_imported_from(make_site, in_fresh_python):
    first, second = make_site("first"), make_site("second")
    first.package({"__init__.py": "raise AssertionError", "fused_moe.py": ""}, version="0.1.13")
    package = second.package(QUIET, version="0.1.15")
    before = f"sys.path.insert(0, {str(second)!r}); import aiter; sys.path.pop(0)"
    shown = _shown(in_fresh_python(SHOW, path=(first,), before=before))
    assert (shown["kind"], shown["version"], shown["location"]) == ("present", "0.1.15", str(package))
    assert shown["imported"] == "True"


def test_imported_zipped_aiter_is_found_in_its_archive(site, tmp_path, in_fresh_python):
    site.package(QUIET, version="0.1.15")
    archive = site.zipped(tmp_path / "site.zip")
    shown = _shown(in_fresh_python(SHOW, path=(archive,), before="import aiter"))
    assert (shown["kind"], shown["version"], shown["imported"]) == ("present", "0.1.15", "True")
    assert shown["location"] == f"{archive}/aiter"


def test_imported_namespace_is_a_namespace(site, in_fresh_python):
    site.write("aiter/README.md")
    shown = _shown(in_fresh_python(SHOW, path=(site,), before="import aiter"))
    assert (shown["kind"], shown["imported"]) == ("namespace", "True")


def test_imported_foreign_package_is_foreign(site, in_fresh_python):
    site.package({"__init__.py": "", "azip.py": "", "join_aiters.py": ""})
    site.foreign_dist_info()
    shown = _shown(in_fresh_python(SHOW, path=(site,), before="import aiter"))
    assert (shown["kind"], shown["version"], shown["imported"]) == ("foreign", "0.13.20191203", "True")


@pytest.mark.parametrize("with_spec", [True, False])
def test_module_object_with_only_a_file_is_found_by_it(site, in_fresh_python, with_spec):
    package = site.package(version="0.1.14")
    before = f"""
        import types
        module = types.ModuleType("aiter")
        module.__file__ = {str(package / "__init__.py")!r}
        {"pass" if with_spec else "del module.__spec__"}
        sys.modules["aiter"] = module
    """
    shown = _shown(in_fresh_python(SHOW, before=before))
    assert (shown["kind"], shown["version"], shown["location"]) == ("present", "0.1.14", str(package))


def test_module_object_with_only_a_path_is_found_by_it(site, in_fresh_python):
    package = site.package(version="0.1.14")
    before = f"""
        import types
        sys.modules["aiter"] = types.ModuleType("aiter")
        sys.modules["aiter"].__path__ = [{str(package)!r}]
    """
    shown = _shown(in_fresh_python(SHOW, before=before))
    assert (shown["kind"], shown["location"]) == ("present", str(package))


@pytest.mark.parametrize(("part", "kind"), [("fused_moe", "present"), ("azip", "foreign")])
def test_module_made_in_memory_is_told_by_its_parts(in_fresh_python, part, kind):
    before = f"""
        import types
        sys.modules["aiter"] = types.ModuleType("aiter")
        sys.modules["aiter"].{part} = None
    """
    shown = _shown(in_fresh_python(SHOW, before=before))
    assert (shown["kind"], shown["location"], shown["imported"]) == (kind, "None", "True")
    assert "in memory" in shown["warnings"]


def test_attributes_of_an_imported_module_are_not_touched(site, in_fresh_python):
    site.package({"__init__.py": "def __getattr__(name): raise SystemExit(name)", "fused_moe.py": ""})
    shown = _shown(in_fresh_python(SHOW, path=(site,), before="import aiter"))
    assert shown["kind"] == "present"


def test_lazy_module_stays_unloaded(site, in_fresh_python):
    site.package({"__init__.py": "raise SystemExit('loaded')", "fused_moe.py": ""}, version="0.1.14")
    before = """
        import importlib.util
        spec = importlib.util.find_spec("aiter")
        spec.loader = importlib.util.LazyLoader(spec.loader)
        module = importlib.util.module_from_spec(spec)
        sys.modules["aiter"] = module
        spec.loader.exec_module(module)
    """
    assert _shown(in_fresh_python(SHOW, path=(site,), before=before))["version"] == "0.1.14"


def test_object_without_attributes_in_place_of_the_module_is_foreign(in_fresh_python):
    assert _shown(in_fresh_python(SHOW, before="sys.modules['aiter'] = 7"))["kind"] == "foreign"


def test_blocked_import_is_absent_and_told(site, in_fresh_python):
    site.package()
    shown = _shown(in_fresh_python(SHOW, path=(site,), before="sys.modules['aiter'] = None"))
    assert (shown["kind"], shown["imported"]) == ("absent", "False")
    assert "blocks every import" in shown["warnings"]


def test_remains_of_a_failed_import_do_not_count_as_imported(site, in_fresh_python):
    site.package({"__init__.py": "import aiter.jit; raise RuntimeError('no ROCm')", "jit/__init__.py": ""})
    before = """
        try:
            import aiter
        except RuntimeError:
            assert "aiter.jit" in sys.modules
    """
    shown = _shown(in_fresh_python(SHOW, path=(site,), before=before))
    assert (shown["kind"], shown["imported"]) == ("present", "False")


def test_detection_and_probe_execute_nothing_and_start_nothing(site, tmp_path, in_fresh_python):
    marker = tmp_path / "executed"
    trap = f"open({str(marker)!r}, 'w').close()\n"
    site.package(dict.fromkeys(("__init__.py", "fused_moe.py", "ops/__init__.py", "ops/enum.py"), trap))
    site.dist_info("0.1.14", files=None)
    before = """
        def forbid(event, arguments):
            if event in ("subprocess.Popen", "os.system", "os.fork", "os.exec", "os.posix_spawn", "ctypes.dlopen"):
                raise SystemExit(f"{event} {arguments}")
        sys.addaudithook(forbid)
    """
    code = """
        from aiter_compat.probe import probe
        probe(found.location)
        unwanted = {"aiter", "torch", "transformers", "subprocess", "importlib.metadata"}
        print(found.kind, sorted(unwanted & set(sys.modules)), [name for name in sys.modules if name[:6] == "aiter."])
    """
    assert in_fresh_python(code, path=(site,), before=before) == "present [] []"
    assert not marker.exists()
