"""Which modules of AITER are read, and what is wanted from each.

Adding a row makes the probe and the recorder see more; records must then be made anew. A module that a release does
not have is no problem: its absence is what the surface tells.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class WantedModule:
    """One module.

    Attributes:
        name: dotted name.
        names: what is wanted from it; None for every public function and class.
        private: names wanted beyond the public ones.
        expected: every AITER that can run a fused MoE has it, so its absence is worth a note.
    """

    name: str
    names: tuple[str, ...] | None = None
    private: tuple[str, ...] = ()
    expected: bool = False

    def wants(self, name: str) -> bool:
        """Whether the symbol of that name is wanted."""
        if self.names is not None:
            return name in self.names
        return not name.startswith("_") or name in self.private

    @property
    def files(self) -> tuple[str, ...]:
        """Where its source may be in the package's folder, in the order in which import looks."""
        stem = self.name.partition(".")[2].replace(".", "/")
        if not stem:
            return ("__init__.py",)
        return f"{stem}/__init__.py", f"{stem}.py"


ENUM_MODULE = "aiter.ops.enum"
ENUMS = ("ActivationType", "QuantType", "MlaVersion", "GateMode")

WANTED_MODULES = (
    # AITER itself only imports them there; small forks and stand-ins define them there.
    WantedModule("aiter", names=("ActivationType", "QuantType")),
    WantedModule(
        "aiter.fused_moe",
        private=(
            "_get_padding_for_flydsl",  # its presence marks the pad fix of AITER #3401
            "_normalize_bias_for_kernel",
            "_mxfp4_a4w4_stage1",
        ),
        expected=True,
    ),
    WantedModule("aiter.fhmoe", private=("_fhmoe",)),
    WantedModule(ENUM_MODULE, names=("ActivationType", "QuantType", "MlaVersion"), expected=True),
    WantedModule("aiter.ops.flydsl.moe_common"),
    # One class out of 4,500 lines, which held it in the 0.1.13 family and again in v0.1.19.
    WantedModule("aiter.ops.flydsl.kernels.mixed_moe_gemm_2stage", names=("GateMode",)),
    WantedModule("aiter.ops.flydsl.moe_kernels", names=("flydsl_moe_stage1", "flydsl_moe_stage2")),
    WantedModule("aiter.ops.flydsl.utils", names=("is_flydsl_available",)),
    WantedModule(
        "aiter.ops.quant",
        names=(
            "fused_dynamic_mxfp4_quant_moe_sort",  # their `sorted_weights` marks the padded-token fix of AITER #3677
            "fused_dynamic_mxfp8_quant_moe_sort",
            "get_hip_quant",
            "get_torch_quant",
            "get_triton_quant",
            "per_1x32_f4_quant",
        ),
    ),
    WantedModule("aiter.ops.shuffle"),
    WantedModule("aiter.utility.fp4_utils"),
)
