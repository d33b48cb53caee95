"""paddle.nn.quant: weights of few bits, and layers that act as if they had them."""

import numpy as np
import pytest

import argosy as paddle
from argosy.nn.quant import lsq, quant_layers
from argosy.nn.quant.format import LinearDequanter, LinearQuanter, LinearQuanterDequanter

quant = paddle.nn.quant
RNG = np.random.default_rng(5)


def weight_of(rows, columns, dtype="float32"):
    return paddle.to_tensor(RNG.standard_normal((rows, columns)), dtype=dtype)


def grouped(x, group):
    """Largest size of each group of rows, for each column, spread over the rows."""
    rows = x.shape[0] if group == -1 else group
    return np.concatenate(
        [np.repeat(np.abs(x[i : i + rows]).max(0)[None], len(x[i : i + rows]), 0)
         for i in range(0, x.shape[0], rows)]
    )  # fmt: skip


@pytest.mark.parametrize("group", [-1, 64, 128])
@pytest.mark.parametrize("algo, steps", [("weight_only_int8", 127), ("weight_only_int4", 7)])
@pytest.mark.parametrize("rows", [128, 150, 1])
def test_weights_come_back_within_half_a_step(algo, steps, group, rows):
    x = weight_of(rows, 6)
    codes, scale = quant.weight_quantize(x, algo, group_size=group)
    assert codes.dtype == paddle.int8
    assert list(codes.shape) == ([6, rows] if steps == 127 else [3, rows])
    assert list(scale.shape) == ([6] if group == -1 else [-(-rows // group), 6])
    back = quant.weight_dequantize(codes, scale, algo, group_size=group)
    step = grouped(x.numpy(), group) / steps
    assert (np.abs(back.numpy() - x.numpy()) <= step * 0.5001).all()


def test_codes_of_four_bits_share_bytes_by_pairs_of_columns():
    x = paddle.to_tensor([[7.0, -7.0, 1.0, 3.0], [-3.0, 5.0, 7.0, -7.0]])
    codes, scale = quant.weight_quantize(x, "weight_only_int4")
    assert scale.tolist() == [1, 1, 1, 1]
    low, high = codes.numpy().view("uint8") & 15, codes.numpy().view("uint8") >> 4
    signed = np.array([0, 1, 2, 3, 4, 5, 6, 7, -8, -7, -6, -5, -4, -3, -2, -1])
    assert signed[low].tolist() == [[7, -3], [1, 7]]
    assert signed[high].tolist() == [[-7, 5], [3, -7]]


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_scales_have_the_dtype_of_the_weight(dtype):
    x = weight_of(64, 4, dtype)
    codes, scale = quant.weight_quantize(x)
    assert scale.dtype == x.dtype
    assert quant.weight_dequantize(codes, scale).dtype == x.dtype
    _, scale = quant.weight_quantize(x, "llm.int8")
    assert scale.dtype == paddle.float32


def test_columns_of_zeros_stay_zeros():
    x = paddle.zeros([64, 2])
    for algo in ("weight_only_int8", "weight_only_int4", "llm.int8"):
        codes, scale = quant.weight_quantize(x, algo)
        assert not codes.numpy().any()
        assert not quant.weight_dequantize(codes, scale, algo).numpy().any()


@pytest.mark.parametrize("group", [-1, 64])
@pytest.mark.parametrize("bits", ["int8", "int4"])
@pytest.mark.parametrize("bias", [False, True])
def test_products_with_quantized_weights(bits, group, bias):
    x, weight = paddle.randn([2, 3, 128]), weight_of(128, 8)
    bias = paddle.randn([8]) if bias else None
    codes, scale = quant.weight_quantize(weight, f"weight_only_{bits}", group_size=group)
    out = quant.weight_only_linear(x, codes, bias, scale, bits, group_size=group)
    whole = quant.weight_dequantize(codes, scale, f"weight_only_{bits}", group_size=group).numpy()
    wanted = x.numpy() @ whole + (0 if bias is None else bias.numpy())
    np.testing.assert_allclose(out.numpy(), wanted, rtol=1e-4, atol=1e-4)


def test_products_give_gradients_to_the_other_operand():
    x, weight = paddle.randn([3, 64]), weight_of(64, 4)
    x.stop_gradient = False
    codes, scale = quant.weight_quantize(weight)
    quant.weight_only_linear(x, codes, weight_scale=scale).sum().backward()
    wanted = quant.weight_dequantize(codes, scale).numpy().sum(1)
    np.testing.assert_allclose(x.grad.numpy(), np.tile(wanted, (3, 1)), rtol=1e-5, atol=1e-5)


def test_products_in_a_captured_function():
    weight = weight_of(64, 4)
    codes, scale = quant.weight_quantize(weight, "weight_only_int4")

    @paddle.jit.to_static
    def product(x):
        return quant.weight_only_linear(x, codes, weight_scale=scale, weight_dtype="int4")

    for rows in (2, 5):
        x = paddle.randn([rows, 64])
        eager = quant.weight_only_linear(x, codes, weight_scale=scale, weight_dtype="int4")
        np.testing.assert_allclose(product(x).numpy(), eager.numpy(), rtol=1e-5, atol=1e-6)


def llm_int8(x, codes, scale, threshold):
    large = (np.abs(x) > threshold).reshape(-1, x.shape[-1]).any(0)
    small = np.where(large, 0, x)
    step = np.abs(small).max(-1, keepdims=True) / 127
    rows = np.round(small / np.where(step == 0, 1, step))
    columns = codes.astype("float64").T
    return (rows @ columns * step + np.where(large, x, 0) @ columns) * scale


@pytest.mark.parametrize("shape", [(64,), (3, 64), (2, 3, 64), (0, 64)])
def test_large_columns_are_multiplied_as_they_are(shape):
    x = RNG.standard_normal(shape).astype("float32")
    if x.size:
        x[..., 5] *= 50
    codes, scale = quant.weight_quantize(weight_of(64, 4), "llm.int8")
    bias = paddle.randn([4])
    out = quant.llm_int8_linear(paddle.to_tensor(x), codes, bias, scale, threshold=6.0)
    wanted = llm_int8(x.astype("float64"), codes.numpy(), scale.numpy(), 6.0) + bias.numpy()
    np.testing.assert_allclose(out.numpy(), wanted, rtol=1e-4, atol=1e-4)


def test_scales_for_channels():
    x, scales = paddle.randn([2, 3]), paddle.to_tensor([1.0, 2.0, 0.5])
    out = quant.apply_per_channel_scale(x, scales)
    np.testing.assert_allclose(out.numpy(), x.numpy() * scales.numpy())


@pytest.mark.parametrize(
    "call, error, text",
    [
        (lambda: quant.weight_quantize(paddle.ones([64, 4]), group_size=32), AssertionError, "-1, 64, 128"),
        (lambda: quant.weight_quantize(paddle.ones([64, 4]), "int8"), ValueError, "algo: expected one of"),
        (lambda: quant.weight_quantize(paddle.ones([64, 4]), "w4a8"), NotImplementedError, "w4a8"),
        (lambda: quant.weight_quantize(paddle.ones([64])), ValueError, "expected a matrix of"),
        (lambda: quant.weight_quantize(paddle.ones([4, 4], "int32")), ValueError, "expected a matrix of"),
        (lambda: quant.weight_quantize(paddle.ones([64, 3]), "weight_only_int4"), ValueError, "even number"),
        (lambda: quant.weight_dequantize(paddle.ones([4, 4]), paddle.ones([4])), ValueError, "int8"),
        (lambda: quant.weight_only_linear(paddle.ones([1, 4]), paddle.ones([4, 4], "int8")),
         ValueError, "weight_scale: expected the scales"),
        (lambda: quant.weight_only_linear(paddle.ones([1, 4]), paddle.ones([4, 4], "int8"), None,
                                          paddle.ones([4]), "int2"), ValueError, "weight_dtype"),
        (lambda: quant.llm_int8_linear(paddle.ones([1, 4]), paddle.ones([4, 4], "int8")),
         ValueError, "weight_scale"),
        (lambda: quant_layers.FakeQuantChannelWiseAbsMax(channel_num=2), AssertionError, "quant_on_weight"),
        (lambda: quant_layers.FakeQuantAbsMax(reduce_type="max"), NotImplementedError, "reduce_type"),
        (lambda: quant_layers.QuantizedLinear(paddle.nn.Linear(2, 2), weight_quantize_type="abs"),
         ValueError, "[QuantizedLinear] weight_quantize_type: expected one of"),
        (lambda: quant_layers.QuantizedLinear(
            paddle.nn.Linear(2, 2), activation_quantize_type="channel_wise_abs_max"),
         ValueError, "[QuantizedLinear] activation_quantize_type: expected one of"),
        (lambda: LinearQuanter([1.0], bit_length=(3, 4)), NotImplementedError, "bit_length"),
    ],
)  # fmt: skip
def test_bad_arguments(call, error, text):
    with pytest.raises(error) as caught:
        call()
    assert text in str(caught.value)


# --- layers that round ---


def rounded(x, scale, bits=8):
    steps = 2 ** (bits - 1) - 1
    codes = np.clip(x, -scale, scale) * (steps / scale)
    return np.sign(codes) * np.floor(np.abs(codes) + 0.5) * scale / steps


def test_rounding_by_the_largest_size():
    x = RNG.standard_normal((4, 5)).astype("float32")
    layer = quant_layers.FakeQuantAbsMax(quant_bits=4, quant_on_weight=True)
    out = layer(paddle.to_tensor(x))
    np.testing.assert_allclose(out.numpy(), rounded(x, np.abs(x).max(), 4), atol=1e-6)
    np.testing.assert_allclose(layer._scale.numpy(), [np.abs(x).max()])


@pytest.mark.parametrize("axis", [0, 1])
def test_rounding_by_the_largest_size_of_a_channel(axis):
    x = RNG.standard_normal((4, 5, 2)).astype("float32")
    layer = quant_layers.FakeQuantChannelWiseAbsMax(
        channel_num=x.shape[axis], quant_bits=4, quant_axis=axis, quant_on_weight=True
    )
    scale = np.abs(x).max(tuple(i for i in range(3) if i != axis), keepdims=True)
    np.testing.assert_allclose(layer(paddle.to_tensor(x)).numpy(), rounded(x, scale, 4), atol=1e-6)
    np.testing.assert_allclose(layer._scale.numpy(), scale.reshape(-1))


def test_moving_averages():
    layer = quant_layers.FakeQuantMovingAverageAbsMax(moving_rate=0.8, quant_bits=4)
    stub = quant.QuantStub(moving_rate=0.8)
    state = accum = 1.0
    stub_state = stub_accum = 0.0
    for _ in range(4):
        x = RNG.standard_normal((4, 5)).astype("float32")
        largest = np.abs(x).max()
        state, accum = state * 0.8 + 1, accum * 0.8 + largest
        stub_state, stub_accum = stub_state * 0.8 + 1, stub_accum * 0.8 + largest
        out = layer(paddle.to_tensor(x))
        np.testing.assert_allclose(out.numpy(), rounded(x, accum / state, 4), atol=1e-5)
        assert (stub(paddle.to_tensor(x)).numpy() == x).all()
        np.testing.assert_allclose(float(stub._scale), stub_accum / stub_state, rtol=1e-5)
    layer.eval()
    layer(paddle.to_tensor(x * 100))
    np.testing.assert_allclose(float(layer._scale), accum / state, rtol=1e-5)


def test_moving_averages_move_in_captured_functions():
    layer = quant_layers.FakeQuantMovingAverageAbsMax()
    captured = paddle.jit.to_static(quant_layers.FakeQuantMovingAverageAbsMax())
    for _ in range(3):
        x = paddle.randn([4, 5])
        np.testing.assert_allclose(captured(x).numpy(), layer(x).numpy(), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(captured._scale.numpy(), layer._scale.numpy(), rtol=1e-6)


@pytest.mark.parametrize("kind", ["abs_max", "channel_wise_abs_max", "moving_average_abs_max",
                                  "lsq_weight", "channel_wise_lsq_weight"])  # fmt: skip
@pytest.mark.parametrize(
    "make, wrap, shape",
    [
        (lambda: paddle.nn.Linear(4, 6), quant_layers.QuantizedLinear, [5, 4]),
        (lambda: paddle.nn.Conv2D(4, 6, 3, padding=1, groups=2), quant_layers.QuantizedConv2D, [2, 4, 5, 5]),
        (lambda: paddle.nn.Conv2D(4, 6, 3, padding=1, padding_mode="reflect"),
         quant_layers.QuantizedConv2D, [2, 4, 5, 5]),
        (lambda: paddle.nn.Conv2DTranspose(4, 6, 3, stride=2),
         quant_layers.QuantizedConv2DTranspose, [2, 4, 5, 5]),
    ],
)  # fmt: skip
def test_sixteen_bits_change_next_to_nothing(kind, make, wrap, shape):
    if kind == "channel_wise_lsq_weight" and wrap is quant_layers.QuantizedConv2DTranspose:
        pytest.skip("its channels are the second axis")
    layer = make()
    layer.eval()
    x = paddle.randn(shape)
    quantized = wrap(layer, weight_bits=16, activation_bits=16, weight_quantize_type=kind)
    out, wanted = quantized(x), layer(x)
    assert list(out.shape) == list(wanted.shape)
    if "lsq" not in kind:  # their first steps do not reach as far as the weights
        np.testing.assert_allclose(out.numpy(), wanted.numpy(), rtol=2e-2, atol=2e-2)
    out.sum().backward()
    assert layer.weight.grad is not None and np.isfinite(layer.weight.grad.numpy()).all()


def test_products_of_rounded_tensors():
    x, y = paddle.randn([2, 3]), paddle.randn([4, 3])
    out = quant_layers.QuantizedMatmul()(x, y, transpose_y=True)
    wanted = (
        rounded(x.numpy(), np.abs(x.numpy()).max()) @ rounded(y.numpy(), np.abs(y.numpy()).max()).T
    )
    np.testing.assert_allclose(out.numpy(), wanted, rtol=1e-4, atol=1e-5)


def test_scales_of_results():
    layer = paddle.nn.Linear(3, 4)
    x = paddle.randn([2, 3])
    scaled = quant_layers.MAOutputScaleLayer(layer)
    assert (scaled(x).numpy() == layer(x).numpy()).all()
    np.testing.assert_allclose(
        float(scaled._ma_output_scale._scale), np.abs(layer(x).numpy()).max()
    )
    out = quant_layers.FakeQuantMAOutputScaleLayer(layer)(x)
    assert list(out.shape) == [2, 4]


def test_functions_as_layers():
    x, y = paddle.randn([2, 3]), paddle.randn([2, 3])
    for name in ("add", "subtract", "multiply", "divide"):
        assert (getattr(quant, name)()(x, y).numpy() == getattr(paddle, name)(x, y).numpy()).all()
    assert list(quant.reshape()(x, [3, 2]).shape) == [3, 2]
    assert list(quant.transpose()(x, [1, 0]).shape) == [3, 2]
    assert list(quant.concat()([x, y], 1).shape) == [2, 6]
    assert list(quant.flatten()(x).shape) == [6]
    assert list(quant.matmul()(x, y, transpose_y=True).shape) == [2, 2]


# --- learned scales ---


def numeric_lsq(x, step, low, high, dy, factor):
    """The gradients that the papers define."""
    q = x / step
    below, above = q < low, q > high
    inside = ~below & ~above
    nearest = np.sign(q) * np.floor(np.abs(q) + 0.5)
    of_step = np.where(below, low, np.where(above, high, nearest - q))
    return inside * dy, (of_step * dy).sum() * factor, (~inside * dy).sum() * factor


def test_learned_steps_have_the_gradients_of_the_paper():
    x = RNG.standard_normal((6, 7)).astype("float32") * 3
    dy = RNG.standard_normal((6, 7)).astype("float32")
    given = paddle.to_tensor(x, stop_gradient=False)
    layer = lsq.FakeQuantActLSQPlus(3, symmetric=True, batch_init=0)
    layer.s.set_value(paddle.to_tensor(0.7))
    out = layer(given)
    (out * paddle.to_tensor(dy)).sum().backward()
    factor = 1 / np.sqrt(x.size * 3)
    dx, ds, _ = numeric_lsq(x, np.float32(0.7), -4, 3, dy, factor)
    np.testing.assert_allclose(given.grad.numpy(), dx, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(float(layer.s.grad), ds, rtol=1e-4)
    nearest = np.sign(x / 0.7) * np.floor(np.abs(np.clip(x / 0.7, -4, 3)) + 0.5) * 0.7
    np.testing.assert_allclose(out.numpy(), nearest, rtol=1e-5, atol=1e-6)


def test_learned_shifts_have_the_gradients_of_the_paper():
    x = RNG.standard_normal((6, 7)).astype("float32") * 3
    dy = RNG.standard_normal((6, 7)).astype("float32")
    layer = lsq.FakeQuantActLSQPlus(3, all_positive=True, batch_init=0)
    layer.s.set_value(paddle.to_tensor(0.7))
    layer.beta.set_value(paddle.to_tensor(-0.4))
    (layer(paddle.to_tensor(x)) * paddle.to_tensor(dy)).sum().backward()
    factor = 1 / np.sqrt(x.size * 7)
    _, ds, dbeta = numeric_lsq(x + np.float32(0.4), np.float32(0.7), 0, 7, dy, factor)
    np.testing.assert_allclose(float(layer.s.grad), ds, rtol=1e-4)
    np.testing.assert_allclose(float(layer.beta.grad), dbeta, rtol=1e-4)


def test_steps_follow_the_first_batches():
    layer = lsq.FakeQuantActLSQPlus(8, symmetric=True, batch_init=2)
    layer(paddle.to_tensor([-1.0, 1.55]))
    np.testing.assert_allclose(float(layer.s), 0.01, rtol=1e-5)
    layer(paddle.to_tensor([-2.0, 3.1]))
    np.testing.assert_allclose(float(layer.s), 0.009 + 0.002, rtol=1e-5)
    layer(paddle.to_tensor([-200.0, 310.0]))
    np.testing.assert_allclose(float(layer.s), 0.011, rtol=1e-5)


# --- steps of deployed models ---


def test_codes_and_back():
    x = np.array([[-3.0, 0.5], [1.27, 0.004]], "float32")
    codes = LinearQuanter([1.27])(paddle.to_tensor(x))
    assert codes.tolist() == [[-128, 50], [127, 0]]
    np.testing.assert_allclose(
        LinearDequanter([1.27])(codes).numpy(), codes.numpy() * 0.01, rtol=1e-5
    )


def test_codes_of_channels_and_zero_points():
    x = np.array([[1.0, 10.0], [0.5, -5.0]], "float32")
    step = dict(scales=[1.0, 10.0], zero_point=[0.0, 3.0], quant_axis=1)
    codes = LinearQuanter(**step)(paddle.to_tensor(x))
    assert codes.tolist() == [[127, 127], [64, -61]]
    back = LinearDequanter(**step)(codes)
    np.testing.assert_allclose(back.numpy(), [[1, 124 / 12.7], [64 / 127, -64 / 12.7]], rtol=1e-5)


@pytest.mark.parametrize("bits, largest", [((4, 3), 448), ((5, 2), 57344)])
def test_codes_of_8_bit_floats(bits, largest):
    x = paddle.to_tensor([-2.0, 0.3, 1.0, 5.0])
    codes = LinearQuanter([1.0], bit_length=bits)(x)
    assert codes.tolist()[0] == -largest and codes.tolist()[3] == largest
    back = LinearDequanter([1.0], bit_length=bits)(codes).numpy()
    np.testing.assert_allclose(back, [-1, 0.3, 1, 1], rtol=0.13)


def test_either_step_may_be_missing():
    x = paddle.to_tensor([0.5])
    assert LinearQuanterDequanter(None, None)(x).tolist() == [0.5]
    assert LinearQuanterDequanter(LinearQuanter([1.0]), None)(x).tolist() == [64.0]
