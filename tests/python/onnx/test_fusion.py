"""What predictors make of formulas that ONNX files say in several nodes."""

import re

import numpy as np

import argosy as paddle
from argosy import _core, inference

from .files import model, node, tensor, value

RNG = np.random.default_rng(0)


class Graph:
    """Nodes of a file, whose constants and names come by themselves."""

    def __init__(self):
        self.nodes, self.constants = [], []

    def name(self):
        return f"v{len(self.nodes)}_{len(self.constants)}"

    def constant(self, array):
        name = "c" + self.name()
        self.constants.append(tensor(np.asarray(array), name))
        return name

    def number(self, v):
        return self.constant(np.float32(v))

    def weights(self, *shape):
        return self.constant((RNG.uniform(-1, 1, shape) / np.sqrt(shape[-1])).astype("float32"))

    def __call__(self, op, *inputs, **attributes):
        out = self.name()
        self.nodes.append(node(op, inputs, [out], **attributes))
        return out


def check(build, shape, declared, tmp_path, tolerance=1e-4):
    """The steps of the plan for a graph, whose answers are those of its nodes one by one."""
    g = Graph()
    result = build(g, "x")
    g.nodes.append(node("Identity", [result], ["y"]))
    file = tmp_path / "net.onnx"
    inputs = [value("x", "float32", declared)]
    file.write_bytes(model(g.nodes, inputs, [value("y", "float32", None)], g.constants, opset=13))
    predictor = inference.create_predictor(inference.Config(str(file)))
    x = RNG.standard_normal(shape).astype("float32")
    predictor.get_input_handle("x").copy_from_cpu(x)
    predictor.run()
    got = predictor.get_output_handle("y").copy_to_cpu()
    wanted = paddle.onnx.load(file)(x).numpy()
    np.testing.assert_allclose(got, wanted, tolerance, tolerance * np.abs(wanted).max())
    return re.findall(r"(?:kernel|dispatch|view) (\w+):", _core.infer_plan(predictor._handle))


def convolution(g, x, cin, cout, kernel=3, groups=1):
    w = g.weights(cout, cin // groups, kernel, kernel)
    pads = [kernel // 2] * 4
    return g("Conv", x, w, g.weights(cout), pads=pads, group=groups)


def hardswish(g, x):
    gate = g("Clip", g("Add", x, g.number(3)), g.number(0), g.number(6))
    return g("Div", g("Mul", x, gate), g.number(6))


def test_blocks_of_mobile_nets(tmp_path):
    """As converters write them: numbers before and after, squeeze and excitation."""

    def build(g, x):
        for cin, cout, kernel, groups in ((4, 16, 3, 1), (16, 16, 5, 16), (16, 24, 1, 1)):
            x = convolution(g, x, cin, cout, kernel, groups)
            x = g("Add", g("Mul", g.number(1.5), x), g.number(-0.25))
            x = hardswish(g, x)
            x = g("Add", g("Mul", g.number(0.7), x), g.number(0.1))
        s = g("GlobalAveragePool", x)
        s = g("Relu", convolution(g, s, 24, 8, 1))
        s = convolution(g, s, 8, 24, 1)
        gate = g("Clip", g("Add", s, g.number(3)), g.number(0), g.number(6))
        return g("Mul", x, g("Div", gate, g.number(6)))

    ops = check(build, (2, 4, 10, 12), ["n", 4, "h", "w"], tmp_path)
    assert ops.count("packed_conv2d") + ops.count("packed_linear") == 5
    assert set(ops) <= {"packed_conv2d", "packed_linear", "transpose", "mean", "multiply"}
    assert ops.count("transpose") == 2 and ops.count("multiply") == 1


def test_parameters_of_channels(tmp_path):
    """A scale and a shift of each channel, as normalizations become outside of nets."""

    def build(g, x):
        x = convolution(g, x, 4, 16)
        x = g("Mul", x, g.weights(16, 1, 1))
        x = g("Add", x, g.weights(1, 16, 1, 1))
        x = g("Relu", x)
        # After an activation it is an operation of its own, but still with channels last.
        return g("Relu", convolution(g, g("Mul", x, g.weights(16, 1, 1)), 16, 16))

    ops = check(build, (1, 4, 9, 9), [1, 4, 9, 9], tmp_path)
    assert ops.count("packed_conv2d") == 2 and ops.count("multiply") == 1
    assert not {"add", "relu", "conv2d"} & set(ops)


def layer_norm(g, x, size):
    d = g("Sub", x, g("ReduceMean", x, axes=[-1]))
    variance = g("ReduceMean", g("Pow", d, g.number(2)), axes=[-1])
    y = g("Div", d, g("Sqrt", g("Add", variance, g.number(1e-5))))
    return g("Add", g("Mul", y, g.weights(size)), g.weights(size))


def gelu(g, x):
    half = g("Mul", x, g.number(0.5))
    return g("Mul", half, g("Add", g("Erf", g("Div", x, g.number(np.sqrt(2)))), g.number(1)))


def gelu_tanh(g, x):
    cube = g("Mul", x, g("Mul", x, g("Mul", g.number(0.044715), x)))
    inner = g("Mul", g.number(np.sqrt(2 / np.pi)), g("Add", x, cube))
    return g("Mul", x, g("Mul", g.number(0.5), g("Add", g.number(1), g("Tanh", inner))))


def attention(g, x, heads, size):
    def split(bias):
        y = g("Add", g("MatMul", x, g.weights(heads * size, heads * size)), g.weights(bias))
        return g("Reshape", y, g.constant(np.int64([0, 0, heads, size])))

    q, k, v = (split(heads * size) for _ in range(3))
    q, v = (g("Transpose", t, perm=[0, 2, 1, 3]) for t in (q, v))
    scores = g("Div", g("MatMul", q, g("Transpose", k, perm=[0, 2, 3, 1])), g.number(size**0.5))
    mixed = g("MatMul", g("Softmax", scores, axis=-1), v)
    flat = g.constant(np.int64([0, 0, heads * size]))
    return g("Reshape", g("Transpose", mixed, perm=[0, 2, 1, 3]), flat)


def encoder(activation):
    def build(g, x):
        size = 64
        y = g("Add", x, g("MatMul", attention(g, layer_norm(g, x, size), 4, 16), g.weights(64, 64)))
        z = g("Add", g("MatMul", layer_norm(g, y, size), g.weights(64, 128)), g.weights(128))
        z = activation(g, z)
        return layer_norm(g, g("Add", y, g("MatMul", z, g.weights(128, 64))), size)

    return build


def test_encoders(tmp_path):
    for activation in (gelu, gelu_tanh, lambda g, x: g("Mul", x, g("Sigmoid", x))):
        ops = check(encoder(activation), (2, 7, 64), ["n", "t", 64], tmp_path)
        assert ops.count("packed_linear") == 6 and ops.count("layer_norm") == 3
        assert ops.count("tiled_attention") == 1
        computed = set(ops) - {"reshape", "transpose", "assign"}
        assert computed == {"packed_linear", "layer_norm", "tiled_attention"}


def test_passes_can_be_left_out(tmp_path):
    g = Graph()
    g.nodes.append(node("Identity", [hardswish(g, "x")], ["y"]))
    file = tmp_path / "net.onnx"
    ports = [value("x", "float32", ["n", 4])], [value("y", "float32", None)]
    file.write_bytes(model(g.nodes, *ports, g.constants, opset=13))
    config = inference.Config(str(file))
    config.delete_pass("recognize_activations")
    predictor = inference.create_predictor(config)
    assert "hardswish" not in _core.program_print(_core.infer_program(predictor._handle))
