"""Call the `fused_moe` of any AITER release: an adapter is generated once per signature."""

from aiter_compat.adapters.arguments import ARGUMENTS, NativeArguments
from aiter_compat.adapters.generate import Adapter, adapter_for, adapter_source, sent, without_own_defaults

__all__ = ["ARGUMENTS", "Adapter", "NativeArguments", "adapter_for", "adapter_source", "sent", "without_own_defaults"]
