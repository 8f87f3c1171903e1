"""What a stub of AITER runs on: enums as pybind11 makes them, weight layouts, and a dense MoE in fp32."""
