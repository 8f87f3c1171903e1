"""`aiter.ops.shuffle` and `e8m0_shuffle` on top of `memory_layouts`; each takes its caller's arguments by name."""

import torch

from . import memory_layouts as layouts


def shuffle_weight(x, layout=(16, 16), use_int4=False, is_guinterleave=False, gate_up=False, **later):
    if tuple(layout) != (16, 16) or any(later.values()):
        raise NotImplementedError(f"this stub shuffles (16, 16) only, got {layout} and {later}")
    stored = _storage(x)
    if is_guinterleave:
        shuffled = layouts.shuffle_a16w4(stored, gate_up)
    else:
        shuffled = layouts.shuffle_16x16(stored, chunk_bytes=32 if use_int4 else 16)
    return _marked(shuffled, x.dtype)


def shuffle_weight_a16w4(src, NLane, gate_up):
    if NLane != 16:
        raise NotImplementedError(f"this stub shuffles 16 lanes only, got {NLane}")
    return _marked(layouts.shuffle_a16w4(_storage(src), gate_up), src.dtype)


def shuffle_scale_a16w4(src, experts_cnt, gate_up):
    return layouts.shuffle_scale_a16w4(_storage(src), experts_cnt, gate_up).view(src.dtype)


def shuffle_scale(src, experts_cnt=None, is_guinterleave=False, gate_up=False, **later):
    if any(later.values()):
        raise NotImplementedError(f"this stub does not know {later}")
    if is_guinterleave:
        if experts_cnt is None:
            raise ValueError("interleaved scales need experts_cnt")
        return shuffle_scale_a16w4(src, experts_cnt, gate_up)
    return e8m0_shuffle(src)


def e8m0_shuffle(scale):
    if scale is None or scale.dtype == torch.float32:
        return scale
    if scale.ndim != 2:
        raise AssertionError(f"scales must be 2-dimensional, got {scale.ndim}")
    return layouts.shuffle_scale_16x16(scale)


def _storage(tensor):
    return tensor.view(torch.uint8) if tensor.element_size() == 1 else tensor


def _marked(shuffled, dtype):
    shuffled = shuffled.view(dtype)
    shuffled.is_shuffled = True  # a plain attribute in AITER too: view, clone and Parameter lose it
    return shuffled
