"""Where AITER's kernels expect each element of a weight and of a scale, as flat positions.

Each layout is one function that returns, for every logical (row, column), its position in memory. Shuffling scatters to
those positions and unshuffling gathers from them, so the two cannot drift apart.
Formulas: aiter/ops/shuffle.py and aiter/utility/fp4_utils.py at v0.1.13.post1, v0.1.14 and v0.1.15.post3.
"""

import torch

_ROWS_PADDED_TO, _COLUMNS_PADDED_TO = 256, 8
_UNWRITTEN = 255
"""AITER leaves the pads of a shuffled scale uninitialised; NaN (as e8m0) makes a reader of them visible."""


def shuffle_16x16(weight, chunk_bytes=16):
    """The 16x16 shuffle of [..., N, K] storage elements: 16 rows by 32 elements a tile, `chunk_bytes` a lane."""
    chunk = max(1, chunk_bytes // weight.element_size())
    return _scatter(weight, _positions_16x16(weight.shape[-2], weight.shape[-1], chunk))


def unshuffle_16x16(weight):
    """Inverse of `shuffle_16x16` for 16-byte lanes."""
    chunk = max(1, 16 // weight.element_size())
    return _gather(weight, _positions_16x16(weight.shape[-2], weight.shape[-1], chunk))


def shuffle_a16w4(weight, gate_up):
    """The a16w4 shuffle of [E, N, K/2] bytes; with `gate_up`, 16 gate rows alternate with 16 up rows."""
    return _scatter(weight, _positions_a16w4(weight.shape[-2], weight.shape[-1], gate_up))


def unshuffle_a16w4(weight, gate_up):
    """Inverse of `shuffle_a16w4`."""
    return _gather(weight, _positions_a16w4(weight.shape[-2], weight.shape[-1], gate_up))


def shuffle_scale_a16w4(scales, experts, gate_up):
    """The scales [E*N, C] that go with `shuffle_a16w4`, same shape."""
    rows, columns = scales.shape[0] // experts, scales.shape[1]
    shuffled = _scatter(scales.view(experts, rows, columns), _positions_scale_a16w4(rows, columns, gate_up))
    return shuffled.view(scales.shape)


def unshuffle_scale_a16w4(scales, experts, rows, columns, gate_up):
    """Inverse of `shuffle_scale_a16w4`: [E, rows, columns]."""
    return _gather(scales.reshape(experts, rows, columns), _positions_scale_a16w4(rows, columns, gate_up))


def shuffle_scale_16x16(scales):
    """The scales [M, C] that go with `shuffle_16x16`: padded to [256m, 8c], then shuffled."""
    rows, columns = scales.shape
    padded = torch.full(_padded(rows, columns), _UNWRITTEN, dtype=torch.uint8, device=scales.device)
    padded[:rows, :columns] = scales.view(torch.uint8)
    return _scatter(padded, _positions_scale_16x16(*padded.shape)).view(scales.dtype)


def unshuffle_scale_16x16(scales, rows, columns):
    """Inverse of `shuffle_scale_16x16`, cut to [rows, columns]."""
    padded = _padded(rows, columns)
    if scales.numel() != padded[0] * padded[1]:
        raise AssertionError(f"shuffled scales of {rows} x {columns} hold {padded} bytes, got {scales.numel()}")
    return _gather(scales.reshape(padded), _positions_scale_16x16(*padded))[:rows, :columns]


def _padded(rows, columns):
    return (-(-rows // _ROWS_PADDED_TO) * _ROWS_PADDED_TO, -(-columns // _COLUMNS_PADDED_TO) * _COLUMNS_PADDED_TO)


def _scatter(logical, positions):
    flat = logical.reshape(-1, positions.numel())
    stored = torch.empty_like(flat)
    stored[:, positions.flatten().to(flat.device)] = flat
    return stored.view(logical.shape)


def _gather(stored, positions):
    flat = stored.reshape(-1, positions.numel())
    return flat[:, positions.flatten().to(flat.device)].view(stored.shape)


def _grid(rows, columns, row_multiple, column_multiple):
    if rows % row_multiple or columns % column_multiple:
        raise AssertionError(
            f"{rows} rows must divide by {row_multiple} and {columns} columns by {column_multiple} for this layout"
        )
    return torch.arange(rows)[:, None], torch.arange(columns)[None, :]


def _positions_16x16(rows, columns, chunk):
    n, k = _grid(rows, columns, 16, 32)
    return (n // 16) * 16 * columns + (k // 32) * 512 + ((k % 32) // chunk) * 16 * chunk + (n % 16) * chunk + k % chunk


def _positions_a16w4(rows, columns, gate_up):
    n, k = _grid(rows, columns, 32 if gate_up else 16, 64)
    row_tile = n // 16
    if gate_up:
        half = rows // 2
        row_tile = ((n % half) // 16) * 2 + n // half
    return ((row_tile * (columns // 64) + k // 64) * 4 + (k % 64) // 16) * 256 + (n % 16) * 16 + k % 16


def _positions_scale_a16w4(rows, columns, gate_up):
    n, k = _grid(rows, columns, 32, 8)
    if gate_up:
        half = rows // 2
        row_tile, pair = (n % half) // 16, n // half
    else:
        row_tile, pair = n // 32, (n % 32) // 16
    tile = (row_tile * (columns // 8) + k // 8) * 256
    return tile + (k % 4) * 64 + (n % 16) * 4 + ((k % 8) // 4) * 2 + pair


def _positions_scale_16x16(rows, columns):
    m, n = _grid(rows, columns, 32, 8)
    tile = (m // 32) * columns * 32 + (n // 8) * 256
    return tile + (n % 4) * 64 + (m % 16) * 4 + ((n % 8) // 4) * 2 + (m % 32) // 16
