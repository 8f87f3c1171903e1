"""Which files are read, how names travel between them, and what unreadable ones do."""

import os

import pytest

from aiter_compat.errors import InvalidArgument
from aiter_compat.hostscan import scan


def uses(found):
    return {(file.file, use.kind, target.path) for file in found.files for use in file.uses for target in use.targets}


def test_files_without_the_word_are_not_parsed(scan_host):
    found = scan_host({"a.py": "from aiter import f", "b.py": "this is no python, it only has a waiter"})
    assert (found.seen, found.read, [file.error for file in found.files]) == (2, 1, [""])


def test_a_file_that_does_not_parse_is_reported_and_the_others_are_read(scan_host):
    found = scan_host({"a.py": "import aiter\nif:", "b.py": "from aiter import f"})
    assert {file.file: bool(file.error) for file in found.files} == {"a.py": True, "b.py": False}
    assert "line 2" in found.files[0].error


@pytest.mark.parametrize("deep", ["(" * 5000, "x = " + "-" * 100_000 + "1"])
def test_a_file_nested_too_deeply_is_reported(scan_host, deep):
    assert scan_host(f"import aiter\n{deep}").files[0].error


class TestNamesFromOtherFiles:
    def test_a_name_that_another_file_took_from_aiter(self, scan_host):
        found = scan_host(
            {
                "pkg/__init__.py": "",
                "pkg/ops.py": "from aiter import QuantType as Q",
                "pkg/layer.py": "from pkg.ops import Q\nQ.per_1x32",  # without the word
                "pkg/other.py": "from .ops import Q as K\nK.per_1x128",
            }
        )
        assert ("pkg/layer.py", "attribute", "aiter.QuantType.per_1x32") in uses(found)
        assert ("pkg/other.py", "attribute", "aiter.QuantType.per_1x128") in uses(found)
        assert ("pkg/layer.py", "import", "aiter.QuantType") not in uses(found)

    def test_through_a_package_and_a_star(self, scan_host):
        found = scan_host(
            {
                "pkg/__init__.py": "from .ops import fused_moe  # aiter",
                "pkg/ops.py": "from aiter.fused_moe import fused_moe",
                "use_one.py": "from pkg import fused_moe\nfused_moe(x, gate_mode=1)",
                "use_two.py": "import pkg.ops\npkg.ops.fused_moe(x, gate_mode=1)  # aiter",
                "use_three.py": "from pkg.ops import *\nfused_moe(x, gate_mode=1)",
            }
        )
        for name in ("use_one.py", "use_two.py", "use_three.py"):
            assert (name, "call", "aiter.fused_moe.fused_moe") in uses(found)

    def test_what_a_function_of_another_file_returns(self, scan_host):
        found = scan_host(
            {
                "loader.py": "def load():\n    from aiter.fused_moe import fused_moe\n    return fused_moe",
                "use.py": "from loader import load  # aiter\nload()(x, gate_mode=1)",
            }
        )
        assert ("use.py", "call", "aiter.fused_moe.fused_moe") in uses(found)

    def test_what_a_base_class_of_another_file_holds(self, scan_host):
        found = scan_host(
            {
                "base.py": "from aiter.fused_moe import fused_moe\nclass Base:\n    def __init__(self):\n"
                "        self.op = fused_moe",
                "use.py": "from base import Base  # aiter\nclass A(Base):\n    def go(self):\n"
                "        self.op(x, gate_mode=1)",
            }
        )
        assert ("use.py", "call", "aiter.fused_moe.fused_moe") in uses(found)

    def test_files_that_take_from_each_other_in_a_circle(self, scan_host):
        found = scan_host({"a.py": "from b import f  # aiter\nf.x(k=1)", "b.py": "from a import f  # aiter\nf.y(k=1)"})
        assert uses(found) == set()

    def test_the_hosts_own_module_called_aiter_is_not_aiter(self, scan_host):
        found = scan_host(
            {"pkg/__init__.py": "", "pkg/aiter.py": "USE = 1", "pkg/b.py": "from pkg.aiter import USE\nUSE.x"}
        )
        assert uses(found) == set()


class TestTree:
    def test_names_are_relative_with_forward_slashes(self, scan_host):
        assert [file.file for file in scan_host({"a/b/c.py": "import aiter"}).files] == ["a/b/c.py"]

    def test_one_file(self, write_host):
        path = write_host("import aiter") / "host.py"
        assert [file.file for file in scan(str(path)).files] == ["host.py"]

    def test_a_path_that_is_not_there(self, tmp_path):
        with pytest.raises(InvalidArgument, match="PATH"):
            scan(str(tmp_path / "nothing"))

    def test_environments_and_links_out_of_the_tree_are_left_out(self, write_host, tmp_path):
        root = write_host({"a.py": "import aiter", "env/pyvenv.cfg": "", "env/x.py": "import aiter"})
        (tmp_path / "outside.py").write_text("import aiter")
        (root / "link.py").symlink_to(tmp_path / "outside.py")
        (root / "loop").symlink_to(root)
        assert [file.file for file in scan(str(root)).files] == ["a.py"]

    def test_excluded_patterns(self, write_host):
        root = write_host({"a.py": "import aiter", "tests/b.py": "import aiter", "c_test.py": "import aiter"})
        found = scan(str(root), exclude=("tests/", "*_test.py"))
        assert [file.file for file in found.files] == ["a.py"]

    def test_several_processes_find_the_same(self, write_host):
        root = write_host({f"m{i}.py": f"from aiter import a{i}" for i in range(120)})
        done = []
        several = scan(str(root), workers=2, progress=lambda *numbers: done.append(numbers))
        assert several == scan(str(root))
        assert done == [(i, 120) for i in range(1, 121)]

    @pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
    def test_a_file_that_cannot_be_read_is_reported(self, write_host):
        root = write_host("import aiter")
        (root / "host.py").chmod(0)
        assert scan(str(root)).files[0].error == "cannot be read"
