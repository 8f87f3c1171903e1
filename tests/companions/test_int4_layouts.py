"""Int4 codes and scales in the order of AITER's int4 MoE kernels, as vLLM makes them from MXFP4 checkpoints."""

import pytest
import torch

import aiter_compat as ac


@pytest.fixture
def codes(vectors):
    return torch.from_numpy(vectors("shuffles")["int4"]["codes"])


@pytest.fixture
def scales(vectors):
    return torch.from_numpy(vectors("shuffles")["int4"]["scales"]).view(torch.bfloat16)


@pytest.mark.parametrize("dtype", [torch.int8, torch.uint8])
def test_codes_are_packed_as_aiter_does(vectors, same, codes, dtype):
    before = codes.clone()
    assert same(ac.pack_int8_to_packed_int4(codes.view(dtype)), vectors("shuffles")["int4_packed"]["out"])
    assert torch.equal(codes, before)


def test_codes_of_any_strides_are_read_in_their_order(codes):
    transposed = codes.transpose(1, 2)
    assert torch.equal(ac.pack_int8_to_packed_int4(transposed), ac.pack_int8_to_packed_int4(transposed.contiguous()))


def test_bf16_scales_are_paired_as_aiter_does(vectors, same, scales):
    assert same(ac.shuffle_scale_for_int4(scales, group_size=32), vectors("shuffles")["int4_scales"]["out"])


def test_scales_of_one_row_are_copied_as_well(scales):
    one = scales[:, :2, :1].contiguous()
    paired = ac.shuffle_scale_for_int4(one)
    assert paired.shape == (2, 1, 1, 2)
    assert paired.data_ptr() != one.data_ptr()


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16])
def test_other_scales_are_only_made_contiguous(scales, dtype):
    plain = scales.to(dtype)
    assert ac.shuffle_scale_for_int4(plain) is plain
    strided = plain.transpose(1, 2)
    assert torch.equal(ac.shuffle_scale_for_int4(strided), strided)
    assert ac.shuffle_scale_for_int4(strided).is_contiguous()


def test_what_the_int4_quantiser_returns_is_taken():
    weight = torch.randn(2, 32, 128, generator=torch.Generator().manual_seed(0)).bfloat16()
    codes, scales = ac.per_1x32_i4_quant(weight)
    packed = ac.pack_int8_to_packed_int4(ac.shuffle_weight(codes)).view(2, 32, 64)
    nibbles = torch.stack((packed << 4 >> 4, packed >> 4), -1).view(-1, 4, 2).transpose(1, 2).reshape(codes.shape)
    assert torch.equal(nibbles, ac.shuffle_weight(codes))
    paired = ac.shuffle_scale_for_int4(scales)
    assert torch.equal(paired[:, :, :, 1], scales[:, 1::2])


@pytest.mark.parametrize(
    ("call", "argument"),
    [
        (lambda codes, scales: ac.pack_int8_to_packed_int4(codes.view(-1)[:12]), "x_shuf_i8"),
        (lambda codes, scales: ac.pack_int8_to_packed_int4(scales), "x_shuf_i8"),
        (lambda codes, scales: ac.pack_int8_to_packed_int4(3), "x_shuf_i8"),
        (lambda codes, scales: ac.shuffle_scale_for_int4(scales, 64), "group_size"),
        (lambda codes, scales: ac.shuffle_scale_for_int4(scales[:, :3]), "scale"),
        (lambda codes, scales: ac.shuffle_scale_for_int4(scales[0]), "scale"),
        (lambda codes, scales: ac.shuffle_scale_for_int4(codes), "scale"),
    ],
)
def test_what_does_not_fit_is_named(codes, scales, call, argument):
    with pytest.raises(ac.InvalidArgument) as raised:
        call(codes, scales)
    assert raised.value.argument == argument
