"""What can serve a fused MoE call: AITER itself, or our emulation of it. Nothing is imported here."""
