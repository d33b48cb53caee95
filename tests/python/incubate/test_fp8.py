"""Blocks of 8-bit numbers: what turns them back gives the operands within the rounding of 3 bits."""

import numpy as np
import pytest

import argosy
from argosy.incubate.nn import functional as F

DRAW = np.random.RandomState(5)


def draw(*shape):
    return (DRAW.randn(*shape) * np.exp(DRAW.randn(*shape))).astype("float32")


def blocks_of(x, rows):
    """The largest absolute value of each block."""
    m, n = x.shape
    return np.array(
        [
            [np.abs(x[i : i + rows, j : j + 128]).max() for j in range(0, n, 128)]
            for i in range(0, m, rows)
        ]
    )


def whole(values, factors, rows):
    m, n = values.shape
    return values.astype("float32").numpy() * np.kron(factors, np.ones((rows, 128)))[:m, :n]


def close(got, want):
    """Within half a unit of the last of 3 bits, and of the least number of a block."""
    np.testing.assert_allclose(got, want, rtol=2**-4, atol=np.abs(want).max() * 2**-17)


@pytest.mark.parametrize("shape", [(4, 256), (130, 300), (1, 1)])
@pytest.mark.parametrize("method", ["1x128", "128x128"])
@pytest.mark.parametrize("pow2", [True, False])
def test_blocks_fill_the_range(shape, method, pow2):
    x, rows = draw(*shape), 1 if method == "1x128" else 128
    options = dict(quant_method=method, using_pow2_scale=pow2)
    values, factors = F.fp8_quant_blockwise(
        argosy.to_tensor(x), output_scale_transpose=False, **options
    )
    assert values.dtype == argosy.float8_e4m3fn and list(values.shape) == list(shape)
    want = blocks_of(x, rows) / 448
    if pow2:
        want = 2 ** np.ceil(np.log2(want))
    np.testing.assert_allclose(factors.numpy(), want, rtol=1e-6)
    close(whole(values, factors.numpy(), rows), x)

    turned = F.fp8_quant_blockwise(argosy.to_tensor(x), input_transpose=True, **options)
    assert len(turned) == 4
    np.testing.assert_array_equal(turned[1].numpy(), factors.numpy().T)
    close(whole(turned[2], turned[3].numpy().T, rows), x.T)
    only = F.fp8_quant_blockwise(
        argosy.to_tensor(x), input_transpose=True, return_transpose_only=True, **options
    )
    assert len(only) == 2 and only[0].shape == turned[2].shape


def test_zeros_and_tiny_numbers():
    values, factors = F.fp8_quant_blockwise(argosy.zeros([1, 4]), using_pow2_scale=False)
    assert factors.tolist() == [[1.0]] and values.astype("float32").tolist() == [[0.0] * 4]
    values, factors = F.fp8_quant_blockwise(argosy.full([1, 4], 1e-38))
    assert np.isfinite(factors.numpy()).all() and factors.tolist() == [[2.0**-127]]
    _, factors = F.fp8_quant_blockwise(argosy.full([1, 4], 0.5), epsilon=448.0)
    assert factors.tolist() == [[1.0]]


@pytest.mark.parametrize("n", [1, 128, 600, 1024])
def test_exponents_are_packed_by_four(n):
    x = draw(3, n) * np.array([[1e-8], [1.0], [1e8]], "float32")
    given = argosy.to_tensor(x)
    values, factors = F.fp8_quant_blockwise(given, output_scale_transpose=False)
    again, codes = F.fp8_quant_blockwise(
        given, output_scale_transpose=False, using_ue8m0_scale=True
    )
    assert codes.dtype == argosy.int32 and codes.shape[1] == -(-factors.shape[1] // 4)
    bits = codes.numpy().view("uint8").reshape(3, -1)[:, : factors.shape[1]]
    np.testing.assert_array_equal(2.0 ** (bits.astype(int) - 127), factors.numpy())
    np.testing.assert_array_equal(
        F.fused_act_dequant(again, codes).astype("float32").numpy(),
        F.fused_act_dequant(values, factors).astype("float32").numpy(),
    )
    close(F.fused_act_dequant(values, factors).astype("float32").numpy(), x)


def test_options_of_blocks_are_checked():
    x = argosy.ones([2, 2])
    with pytest.raises(ValueError, match="quant_method: expected one of 1x128, 128x128, got '2x2'"):
        F.fp8_quant_blockwise(x, quant_method="2x2")
    with pytest.raises(ValueError, match="output_type: expected one of e4m3, got 'e5m2'"):
        F.fp8_quant_blockwise(x, output_type="e5m2")
    with pytest.raises(ValueError, match=r"x: expected a matrix, got \[2\]. Do this: reshape"):
        F.fp8_quant_blockwise(x[0])
    with pytest.raises(
        NotImplementedError, match="using_pow2_scale is not supported: expected True"
    ):
        F.fp8_quant_blockwise(x, using_pow2_scale=False, using_ue8m0_scale=True)


@pytest.mark.parametrize("square", [True, False])
def test_products(square):
    a, b = draw(5, 300), draw(140, 300)
    quantized_a = F.fp8_quant_blockwise(argosy.to_tensor(a))
    method = dict(quant_method="128x128", output_scale_transpose=False) if square else {}
    quantized_b = F.fp8_quant_blockwise(argosy.to_tensor(b), **method)
    scale = quantized_b[1].numpy() if square else quantized_b[1].numpy().T
    want = (
        whole(quantized_a[0], quantized_a[1].numpy().T, 1)
        @ whole(quantized_b[0], scale, 128 if square else 1).T
    )
    got = F.fp8_gemm_blockwise(*quantized_a, *quantized_b, "float32", is_b_1d_scaled=not square)
    np.testing.assert_allclose(got.numpy(), want, rtol=1e-4, atol=1e-3)
    out = argosy.ones([5, 140])
    sums = F.fp8_gemm_blockwise(
        *quantized_a, *quantized_b, "float32", out, accumulate=True, is_b_1d_scaled=not square
    )
    assert sums is out
    np.testing.assert_allclose(out.numpy(), want + 1, rtol=1e-4, atol=1e-3)
    assert F.fp8_gemm_blockwise(*quantized_a, *quantized_a, "bfloat16").dtype == argosy.bfloat16
    with pytest.raises(ValueError, match=r"\[fp8_gemm_blockwise\] a, b and out"):
        F.fp8_gemm_blockwise(*quantized_a, *quantized_b, "float32", accumulate=True)
    with pytest.raises(NotImplementedError, match="bias is not supported"):
        F.fp8_gemm_blockwise(*quantized_a, *quantized_b, "float32", bias=out)


@pytest.mark.parametrize("transpose", [True, False])
def test_stacked_matrices(transpose):
    x = [draw(256, 128) for _ in range(3)]
    out, factors = F.fused_stack_transpose_quant([argosy.to_tensor(one) for one in x], transpose)
    want = np.concatenate([one.T if transpose else one for one in x])
    assert list(out.shape) == list(want.shape)
    np.testing.assert_allclose(factors.numpy(), blocks_of(want, 128) / 448, rtol=1e-6)
    close(whole(out, factors.numpy(), 128), want)


def test_rows_are_split_and_transposed():
    x, counts = draw(512, 200), [128, 0, 256, 128]
    outs, factors = F.fused_transpose_split_quant(argosy.to_tensor(x), None, counts)
    assert [list(out.shape) for out in outs] == [[200, count] for count in counts]
    assert [list(one.shape) for one in factors] == [[count // 128, 200] for count in counts]
    begin = 0
    for out, one, count in zip(outs, factors, counts):
        close(whole(out, one.numpy().T, 1), x[begin : begin + count].T) if count else None
        begin += count
    values, scale = F.fp8_quant_blockwise(argosy.to_tensor(x), output_scale_transpose=False)
    again, _ = F.fused_transpose_split_quant(values, scale, counts, True)
    assert [list(out.shape) for out in again] == [list(out.shape) for out in outs]
    assert F.fused_transpose_split_quant(argosy.ones([0, 3]), None, [0]) == ([], [])
    with pytest.raises(ValueError, match="expected numbers with the sum 512"):
        F.fused_transpose_split_quant(argosy.to_tensor(x), None, [128])

    sent = draw(2, 3, 64, 5)
    outs, factors = F.fused_transpose_wlch_split_quant(argosy.to_tensor(sent), [128] * 3)
    for expert in range(3):
        close(whole(outs[expert], factors[expert].numpy().T, 1), sent[:, expert].reshape(-1, 5).T)


@pytest.mark.parametrize("weighted", [True, False])
def test_swiglu_is_quantized(weighted):
    x, weight = draw(2, 3, 280), DRAW.rand(2, 3).astype("float32")
    out, factors = F.fused_weighted_swiglu_act_quant(
        argosy.to_tensor(x), argosy.to_tensor(weight) if weighted else None
    )
    gate, up = x[..., :140], x[..., 140:]
    want = gate / (1 + np.exp(-gate)) * up * (weight[..., None] if weighted else 1)
    assert list(out.shape) == [6, 140] and list(factors.shape) == [6, 2]
    close(whole(out, factors.numpy(), 1), want.reshape(6, 140))


@pytest.mark.parametrize("last", [True, False])
def test_gradients_of_weighted_swiglu(last):
    x = argosy.to_tensor(draw(4, 10), stop_gradient=False)
    weight = argosy.to_tensor(DRAW.rand(4, 1).astype("float32"), stop_gradient=False)
    grad = argosy.to_tensor(draw(4, 5))
    value = argosy.nn.functional.swiglu(x) * weight
    value.backward(grad)
    given = weight.detach() if last else weight.detach().squeeze(-1)
    got = F.fused_swiglu_weighted_bwd(x.detach(), grad, given)
    for one, want in zip(got, (x.grad, weight.grad, value)):
        np.testing.assert_allclose(
            one.numpy().reshape(want.shape), want.numpy(), rtol=1e-5, atol=1e-6
        )
    assert got[1].shape == given.shape


@pytest.mark.parametrize("act", ["identity", "relu", "gelu"])
def test_products_of_eight_bits(act):
    x, y, bias = draw(2, 16), draw(5, 16), draw(5)
    small = [argosy.to_tensor(value).astype("float8_e4m3fn") for value in (x, y)]
    got = argosy.linalg.fp8_fp8_half_gemm_fused(
        *small,
        transpose_y=True,
        bias=argosy.to_tensor(bias),
        scale=0.5,
        output_dtype="bfloat16",
        act=act,
    )
    wide = [value.astype("float32").numpy() for value in small]
    want = argosy.to_tensor(wide[0] @ wide[1].T * 0.5 + bias)
    want = want if act == "identity" else getattr(argosy.nn.functional, act)(want)
    assert got.dtype == argosy.bfloat16
    np.testing.assert_allclose(got.astype("float32").numpy(), want.numpy(), rtol=1e-2, atol=1e-2)


def test_products_of_eight_bits_are_checked():
    x = argosy.ones([2, 2]).astype("float8_e5m2")
    product = argosy.linalg.fp8_fp8_half_gemm_fused
    with pytest.raises(TypeError, match=r"y: expected float8_e4m3fn or float8_e5m2, got float32"):
        product(x, argosy.ones([2, 2]))
    with pytest.raises(ValueError, match="act: expected one of identity, relu, gelu"):
        product(x, x, act="tanh")
    with pytest.raises(ValueError, match="output_dtype: expected one of float16, bfloat16"):
        product(x, x, output_dtype="float32")
