"""Calls made through aiter_compat on AITER's own code, release by release: a development tool, never shipped.

    AITER_SOURCE=<checkout of ROCm/aiter with tags> python -m conformance [--write]

takes each supported release from the checkout and, in a process of its own, imports AITER's own `fused_moe` with only
the machine faked (`conformance.fakes`), makes a grid of calls through `ac.fused_moe(backend="aiter")` and sees what
arrives behind AITER's registered operators. A call is served with every argument in the meaning asked for, or refused
before AITER is reached, for a reason that the release's own objects confirm.

Needs git and the dependency group `real-aiter`, what AITER's Python files import themselves.
"""
