"""Products of files in 8-bit integers: predictors multiply the codes."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest

import argosy as paddle
from argosy import _core, inference

from .files import model, node, value
from .test_fusion import Graph, check

RNG = np.random.default_rng(0)


def codes(*shape, dtype="int8"):
    limits = np.iinfo(dtype)
    return RNG.integers(limits.min, limits.max + 1, shape).astype(dtype)


def rounded(g, x, scale=0.03, zero=np.uint8(120)):
    scale, zero = g.number(scale), g.constant(zero)
    return g("DequantizeLinear", g("QuantizeLinear", x, scale, zero), scale, zero)


def weights(g, array, scale, zero=None, axis=1):
    more = () if zero is None else (g.constant(zero),)
    return g("DequantizeLinear", g.constant(array), g.constant(np.float32(scale)), *more, axis=axis)


def integer_steps(build, shape, declared, tmp_path, tolerance=1e-4):
    steps = check(build, shape, declared, tmp_path, tolerance)
    if not has_dot_products():
        pytest.skip("a machine without 8-bit dot products")
    return steps


def has_dot_products():
    try:
        _core.ops.pack_integer_linear(paddle.ones([4, 4], "int8"), 4, 4, 0, "", 0.0, 0.0, 1.0, 0.0, "float32", 1.0, 0.0, 0.0, 255.0)  # fmt: skip
    except NotImplementedError:
        return False
    return True


def test_product_with_bias_and_activation(tmp_path):
    def build(g, x):
        w = weights(g, codes(64, 48), RNG.uniform(0.001, 0.01, 48))
        y = g("Add", g("MatMul", rounded(g, x), w), g.weights(48))
        return g("Relu", y)

    steps = integer_steps(build, (5, 64), ["n", 64], tmp_path)
    assert steps == ["quantize_affine", "integer_linear"]


@pytest.mark.parametrize("dtype, zero", [("uint8", 120), ("int8", -3)])
def test_two_layers(dtype, zero, tmp_path):
    def build(g, x):
        for size in ((64, 128), (128, 32)):
            # Steps that are powers of two: sums of numbers are exact, too, and round to the same codes.
            w = weights(g, codes(*size), np.float32(2**-8))
            x = g("MatMul", rounded(g, x, 2**-4, np.array(zero, dtype)), w)
        return x

    steps = integer_steps(build, (3, 7, 64), ["n", "t", 64], tmp_path)
    assert steps == ["quantize_affine", "integer_linear", "integer_linear"]


def convolved(g, x, cin, cout, kernel=3, **attributes):
    # Steps that are powers of two, so that sums of numbers are exact, too.
    w = weights(g, codes(cout, cin, kernel, kernel), np.full(cout, 2**-7, "float32"), axis=0)
    pads = [kernel // 2] * 4
    return g("Conv", x, w, g.weights(cout), pads=pads, kernel_shape=[kernel] * 2, **attributes)


def test_convolutions(tmp_path):
    """A block with a residual: its codes stay codes, with channels last, between the convolutions."""

    def build(g, x):
        x = g("Relu", convolved(g, rounded(g, x, 2**-5), 16, 32, strides=[2, 2]))
        x = rounded(g, x, 2.0, np.uint8(0))
        y = g("Relu", convolved(g, x, 32, 32))
        y = convolved(g, rounded(g, y, 8.0, np.uint8(0)), 32, 32, kernel=1)
        return g("GlobalAveragePool", g("Relu", g("Add", y, x)))

    steps = integer_steps(build, (2, 16, 12, 10), ["n", 16, "h", "w"], tmp_path)
    assert steps.count("integer_conv2d") == 3 and steps.count("quantize_affine") == 1
    assert steps.count("transpose") <= 2  # of what is fed and fetched


def test_convolutions_of_groups_stay_products_of_numbers(tmp_path):
    def build(g, x):
        w = weights(g, codes(64, 16, 3, 3), np.float32(0.004))
        return g("Conv", rounded(g, x), w, group=2, kernel_shape=[3, 3])

    assert "integer_conv2d" not in check(build, (2, 32, 12, 10), ["n", 32, 12, 10], tmp_path)


def test_convolutions_of_single_channels(tmp_path):
    """What stands between two products: its codes stay codes."""

    def build(g, x):
        y = g("Relu", convolved(g, rounded(g, x, 2**-5), 32, 64, kernel=1))
        w = weights(g, codes(64, 1, 3, 3), np.full(64, 2**-4, "float32"), axis=0)
        y = g("Conv", rounded(g, y, 0.5, np.uint8(0)), w, g.weights(64), group=64,
              pads=[1] * 4, strides=[2, 2], kernel_shape=[3, 3])  # fmt: skip
        return convolved(g, rounded(g, g("Relu", y), 4.0, np.uint8(0)), 64, 32, kernel=1)

    steps = integer_steps(build, (2, 32, 12, 10), ["n", 32, "h", "w"], tmp_path)
    assert steps.count("integer_conv2d") == 3 and steps.count("quantize_affine") == 1
    assert "dequantize_affine" not in steps


@pytest.mark.parametrize("bias", [False, True])
def test_qlinear_conv(bias, tmp_path):
    def build(g, x):
        def number(value, dtype="float32"):
            return g.constant(np.array(value, dtype))

        scale, zero = number(2**-5), number(120, "uint8")
        codes_of_x = g("QuantizeLinear", x, scale, zero)
        more = [g.constant(RNG.integers(-999, 999, 48).astype("int32"))] if bias else []
        w_scale, w_zero = (
            g.constant(np.full(48, 2**-7, "float32")),
            g.constant(np.zeros(48, "int8")),
        )
        y = g("QLinearConv", codes_of_x, scale, zero, g.constant(codes(48, 16, 3, 3)), w_scale, w_zero,
              number(2.0), number(100, "uint8"), *more, kernel_shape=[3, 3])  # fmt: skip
        return g("DequantizeLinear", y, number(2.0), number(100, "uint8"))

    steps = integer_steps(build, (2, 16, 9, 8), ["n", 16, 9, 8], tmp_path)
    if has_dot_products():
        assert "integer_conv2d" in steps


def test_transposed_weights(tmp_path):
    def build(g, x):
        w = weights(g, codes(48, 64), RNG.uniform(0.001, 0.01, 48), axis=0)
        return g("Gemm", rounded(g, x), w, g.weights(48), transB=1)

    assert "integer_linear" in integer_steps(build, (5, 64), ["n", 64], tmp_path)


def test_unsigned_weights_with_a_zero_point(tmp_path):
    def build(g, x):
        w = weights(g, codes(64, 48, dtype="uint8"), np.float32(0.004), np.uint8(128))
        return g("MatMul", rounded(g, x), w)

    assert "integer_linear" in integer_steps(build, (5, 64), ["n", 64], tmp_path)


def test_what_stays_a_product_of_numbers(tmp_path):
    """Weights whose zero point takes them out of 8 bits, scales for rows, activations that are not
    rounded, convolutions: the same answers, and nothing is made of codes in a run."""

    def wide(g, x):
        w = weights(g, codes(80, 64, dtype="uint8"), np.float32(0.004), np.uint8(3))
        return g("MatMul", rounded(g, x), w)

    def rows(g, x):
        return g(
            "MatMul", rounded(g, x), weights(g, codes(80, 64), RNG.uniform(0.1, 1, 80), axis=0)
        )

    def plain(g, x):
        return g("MatMul", x, weights(g, codes(80, 64), np.float32(0.01)))

    for build in (wide, rows, plain):
        steps = check(build, (5, 80), ["n", 80], tmp_path)
        assert "integer_linear" not in steps and "packed_linear" in steps
        assert steps.count("dequantize_affine") == (build is not plain)

    def convolution(g, x):
        w = weights(g, codes(16, 4, 3, 3), RNG.uniform(0.001, 0.01, 16), axis=0)
        return g("Conv", rounded(g, x), w, kernel_shape=[3, 3])

    assert "packed_conv2d" in check(convolution, (2, 4, 9, 9), ["n", 4, 9, 9], tmp_path)


def test_dynamic_codes(tmp_path):
    """As dynamic quantization writes models: rounded in the run, sums of integers, then numbers."""

    def build(g, x):
        codes_of_x, scale, zero = (g.name() + c for c in "qsz")
        g.nodes.append(node("DynamicQuantizeLinear", [x], [codes_of_x, scale, zero]))
        sums = g("MatMulInteger", codes_of_x, g.constant(codes(64, 48)), zero)
        factor = g("Mul", scale, g.number(0.01))
        return g("Add", g("Mul", g("Cast", sums, to=1), factor), g.weights(48))

    steps = integer_steps(build, (5, 64), ["n", 64], tmp_path)
    assert "integer_linear" in steps and "quantize_affine" in steps and "matmul" not in steps


@pytest.mark.parametrize("bias", [False, True])
def test_a_scale_that_a_run_makes(bias, tmp_path):
    """Of what DynamicQuantizeMatMul rounds: the product is one of codes, times that scale."""

    def build(g, x):
        scale = g.constant(RNG.uniform(0.001, 0.01, 48).astype("float32"))
        zero = g.constant(codes(48) // 4 * 0)
        more = [g.weights(48)] if bias else []
        return g("DynamicQuantizeMatMul", x, g.constant(codes(64, 48)), scale, zero, *more,
                 domain="com.microsoft")  # fmt: skip

    steps = integer_steps(build, (5, 64), ["n", 64], tmp_path)
    assert steps.count("integer_linear") == 1
    assert not {"matmul", "linear", "packed_linear", "dequantize_affine"} & set(steps)


def test_a_dynamic_lstm_multiplies_codes_in_its_loop(tmp_path):
    def build(g, x):
        one = g.constant(np.float32([0.01])), g.constant(np.zeros(1, "int8"))
        nothing = g.constant(np.zeros([1, 2, 24], "float32"))
        return g("DynamicQuantizeLSTM", x, g.constant(codes(1, 16, 96)), g.constant(codes(1, 24, 96)),
                 g.weights(1, 192), "", nothing, nothing, "", *one, *one, domain="com.microsoft",
                 hidden_size=24)  # fmt: skip

    # A state near the middle of two codes may become either.
    steps = integer_steps(build, (20, 2, 16), [20, 2, 16], tmp_path, 3e-2)
    assert steps.count("integer_linear") == 2
    assert not {"matmul", "packed_linear", "dequantize_affine"} & set(steps)


def test_sums_of_integers_that_are_read_as_such(tmp_path):
    def build(g, x):
        codes_of_x = g("QuantizeLinear", x, g.number(0.03), g.constant(np.uint8(120)))
        sums = g("MatMulInteger", codes_of_x, g.constant(codes(64, 48)))
        return g(
            "Add", g("Cast", sums, to=1), g("Cast", g("Mod", sums, g.constant(np.int32(7))), to=1)
        )

    assert "integer_linear" not in check(build, (5, 64), ["n", 64], tmp_path)


def test_a_saved_model_keeps_its_codes(tmp_path):
    g = Graph()
    w = codes(128, 256)
    y = g("MatMul", rounded(g, "x"), weights(g, w, np.float32(0.004)))
    g.nodes.append(node("Identity", [y], ["y"]))
    file = tmp_path / "net.onnx"
    inputs = [value("x", "float32", ["n", 128])]
    file.write_bytes(model(g.nodes, inputs, [value("y", "float32", None)], g.constants, opset=13))
    loaded = paddle.onnx.load(file)
    loaded.save(str(tmp_path / "ours"))
    size = sum(p.stat().st_size for p in tmp_path.glob("ours*"))
    assert w.nbytes <= size < 1.5 * w.nbytes
    x = RNG.standard_normal((3, 128)).astype("float32")
    predictor = inference.create_predictor(inference.Config(str(tmp_path / "ours")))
    (got,) = predictor.run([paddle.to_tensor(x)])
    np.testing.assert_allclose(got.numpy(), loaded(x).numpy(), 1e-4, 1e-4)


def test_a_machine_without_dot_products(tmp_path):
    g = Graph()
    y = g("MatMul", rounded(g, "x"), weights(g, codes(64, 64), np.float32(0.004)))
    g.nodes.append(node("Identity", [y], ["y"]))
    file = tmp_path / "net.onnx"
    inputs = [value("x", "float32", ["n", 64])]
    file.write_bytes(model(g.nodes, inputs, [value("y", "float32", None)], g.constants, opset=13))
    program = """
import json, sys, numpy as np, argosy as paddle
p = paddle.inference.create_predictor(paddle.inference.Config(sys.argv[1]))
(y,) = p.run([paddle.to_tensor(np.linspace(-2, 2, 320, dtype='float32').reshape(5, 64))])
print(json.dumps(y.numpy().tolist()))
"""
    answers = []
    for isa in ({}, {"ARGOSY_ISA": "avx2"}):
        done = subprocess.run(
            [sys.executable, "-c", program, str(file)], env=os.environ | isa,
            capture_output=True, text=True, timeout=300,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        answers.append(np.array(json.loads(done.stdout)))
    np.testing.assert_allclose(*answers, 1e-4, 1e-4)
