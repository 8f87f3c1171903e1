"""The AITER backend: what a release can express of a call, and the call itself."""

from aiter_compat.backends.aiter_native.architectures import device_refusal
from aiter_compat.backends.aiter_native.express import Expression, express
from aiter_compat.backends.aiter_native.invoke import NativeCall, invoke, native_call

__all__ = ["Expression", "NativeCall", "device_refusal", "express", "invoke", "native_call"]
