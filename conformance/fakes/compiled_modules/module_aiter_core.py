"""Stands for the compiled module of AITER's enums (v0.1.12 on): classes as pybind11 makes them.

Their members are those of the headers that the compiled module is built from, read from the tree that is imported.
No other compiled module is faked: a call that gets as far as a kernel fails.
"""

import re
import sys
from pathlib import Path

from stub_wheels.runtime.pybind_enum import make_enum

_ENUM = re.compile(r"enum class (\w+)\s*:\s*int\s*\{(.*?)\}", re.DOTALL)
_HEADERS = Path(sys.modules["aiter"].__path__[0]).parent / "csrc" / "include"


def _members(body):
    members = {}
    for line in re.sub(r"//[^\n]*|/\*.*?\*/", "", body, flags=re.DOTALL).split(","):
        name, _, value = line.partition("=")
        if name.strip():
            members[name.strip()] = int(value, 0) if value.strip() else max(members.values(), default=-1) + 1
    return members


for _header in (_HEADERS / "aiter_enum.h", _HEADERS / "mx_quant_utils.h"):
    for _name, _body in _ENUM.findall(_header.read_text(encoding="utf-8") if _header.exists() else ""):
        globals()[_name] = make_enum(__name__, _name, _members(_body))
        # AITER tells an enum from a function by how pybind11 documents it.
        globals()[_name].__doc__ = "Members:\n\n  " + "\n\n  ".join(globals()[_name].__members__)
