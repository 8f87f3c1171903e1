"""Where each public name lives; `aiter_compat/__init__.py` imports a module when one of its names is first touched."""

from __future__ import annotations

# public name -> (module, attribute)
EXPORTS: dict[str, tuple[str, str]] = {
    name: (f"aiter_compat.{module}", attribute)
    for module, names in {
        "detect": {"Installation": "Installation", "installation": "installation"},
        "probe": {"Surface": "Surface"},
        "features": {
            "Capability": "Capability",
            "capabilities": "capabilities",
            "supports": "supports",
            "surface": "active_surface",
        },
        "profiles": {"NumericsProfile": "NumericsProfile", "numerics": "profile"},
        "formats": {"Quantized": "Quantized", "dequantize": "dequantize", "qdq": "qdq", "quantize": "quantize"},
        "layer_config": {"MoEConfig": "MoEConfig"},
        "padding": {"Padding": "Padding", "resolve_padding": "resolve_padding"},
        "symbols": {"load": "load", "locate": "locate"},
        "weights": {"MoEWeights": "MoEWeights"},
        "moe": {
            "Decision": "Decision",
            "Rejection": "Rejection",
            "explain": "explain",
            "fused_experts": "fused_experts",
            "fused_moe": "fused_moe",
            "prepare_weights": "prepare_weights",
        },
        "companions": {
            name: name
            for name in (
                "asm_moe_tkw1",
                "biased_grouped_topk",
                "dtypes",
                "dynamic_mxfp4_quant",
                "dynamic_per_tensor_quant",
                "dynamic_per_token_scaled_quant",
                "e8m0_shuffle",
                "fused_topk",
                "get_gfx",
                "get_hip_quant",
                "get_torch_quant",
                "get_triton_quant",
                "grouped_topk",
                "moe_shuffle_scale",
                "moe_shuffle_weight",
                "moe_sorting",
                "pack_int8_to_packed_int4",
                "per_1x32_f4_quant",
                "per_1x32_f4_quant_hip",
                "per_1x32_i4_quant",
                "per_1x32_mx_quant_hip",
                "per_group_quant_hip",
                "per_tensor_quant",
                "per_tensor_quant_hip",
                "per_token_quant_hip",
                "pertoken_quant",
                "shuffle_scale",
                "shuffle_scale_a16w4",
                "shuffle_scale_for_int4",
                "shuffle_scale_moe",
                "shuffle_weight",
                "shuffle_weight_NK",
                "shuffle_weight_a16w4",
                "static_per_tensor_quant",
                "topk_gating",
                "topk_sigmoid",
                "topk_softmax",
                "topk_softplus",
            )
        },
        "refreshing": {"refresh": "refresh"},
        "errors": {
            name: name
            for name in (
                "AiterCallError",
                "AiterCompatError",
                "AiterImportError",
                "ContractChanged",
                "InvalidArgument",
                "LayoutUnknown",
                "RecordError",
                "SettingsError",
                "UnsupportedByAiter",
                "UnsupportedByEmulation",
            )
        },
        "warning_types": {"AiterCompatWarning": "AiterCompatWarning"},
        "_version": {"__version__": "__version__"},
    }.items()
    for name, attribute in names.items()
}
ENUMS = ("ActivationType", "GateMode", "QuantType")
