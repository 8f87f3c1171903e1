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
