"""The machine that AITER looks for at import: ROCm's command-line tools, and a GPU as Triton's driver reports it."""

from __future__ import annotations

from pathlib import Path

ARCHITECTURE = "gfx950"
_TOOLS = {
    "hipconfig": "7.2.0",
    "rocminfo": f"Agent 1\n  Name: {ARCHITECTURE}\n  Device Type: GPU\n  Compute Unit: 256",
}


def install_rocm_tools(folder: Path) -> dict[str, str]:
    """Write the tools below `folder`; the environment variables by which AITER finds them."""
    for name, output in _TOOLS.items():
        tool = folder / "bin" / name
        tool.parent.mkdir(parents=True, exist_ok=True)
        tool.write_text(f"#!/bin/sh\ncat <<'END'\n{output}\nEND\n", encoding="utf-8")
        tool.chmod(0o755)
    (folder / ".info").mkdir(exist_ok=True)
    (folder / ".info" / "version").write_text("7.2.0\n", encoding="utf-8")
    return {"ROCM_HOME": str(folder)}


def install_gpu() -> None:
    """Have Triton name the architecture, as its driver for ROCm does; it launches nothing."""
    import triton
    from triton.backends.compiler import GPUTarget

    class Driver:
        def get_current_target(self) -> GPUTarget:
            return GPUTarget("hip", ARCHITECTURE, 64)

        def get_current_device(self) -> int:
            return 0

    triton.runtime.driver.set_active(Driver())
