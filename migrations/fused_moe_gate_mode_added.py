"""fused_moe takes gate_mode, and reads SwiGLU weights as separated where v0.1.13 read them as interleaved.

A host that shuffled weights for v0.1.13 and leaves gate_mode out gets garbage from v0.1.14 on (ROCm/aiter#3586,
vllm-project/vllm#44893); one that passes it fails on v0.1.13 with TypeError.
"""

from aiter_compat.migration_model import Migration

MIGRATION = Migration(
    kind="new keyword",
    symbol="aiter.fused_moe.fused_moe",
    detail="gate_mode",
    since="0.1.14",
    remedy="Call aiter_compat.fused_moe with the gate_mode of the weights; it refuses or emulates where AITER cannot.",
    source="ROCm/aiter v0.1.14 aiter/fused_moe.py",
)
