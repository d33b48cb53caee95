"""argosy.onnx.load on models made here: what a file leaves open, control flow, functions, and errors."""

import numpy as np
import pytest

import argosy as paddle

from .files import field, function, graph, model, node, tensor, tensor_type, value

X = value("x", "float32", ["n", 3])
Y = value("y", "float32", None)


def load(*args, **kwargs):
    return paddle.onnx.load(model(*args, **kwargs))


def floats(*shape):
    return np.random.default_rng(0).standard_normal(shape).astype("float32")


# --- calls ---


def test_inputs_by_place_and_by_name():
    net = load([node("Sub", ["x", "z"], ["y"])], [X, value("z", "float32", [3])], [Y])
    x, z = floats(2, 3), floats(3)
    for y in (net(x, z), net(z=z, x=x), net(paddle.to_tensor(x), z=z.tolist())):
        np.testing.assert_array_equal(y.numpy(), x - z)
    assert [p.name for p in net.inputs] == ["x", "z"] and net.inputs[0].axes == ["n", ""]
    assert net.inputs[0].shape == [-1, 3] and net.outputs[0].name == "y"


@pytest.mark.parametrize(
    ("args", "kwargs", "error", "text"),
    [
        ((), {}, TypeError, "input 'x' is missing"),
        ((floats(2, 3), 1), {}, TypeError, "has 1 inputs (x), got 2"),
        ((floats(2, 3),), {"x": 1}, TypeError, "'x' is given twice"),
        ((floats(2, 3),), {"q": 1}, TypeError, "'q' is no input: the inputs are x"),
        ((floats(2, 4),), {}, ValueError, "expected shape [-1, 3], got [2, 4]"),
        ((floats(3),), {}, ValueError, "expected shape [-1, 3], got [3]"),
        ((floats(2, 3).astype("float64"),), {}, TypeError, "expected float32, got float64"),
    ],
)
def test_wrong_arguments(args, kwargs, error, text):
    net = load([node("Relu", ["x"], ["y"])], [X], [Y])
    with pytest.raises(
        error, match=text.replace("[", r"\[").replace("(", r"\(").replace(")", r"\)")
    ):
        net(*args, **kwargs)


def test_zero_and_other_sizes_of_open_axes():
    net = load([node("Relu", ["x"], ["y"])], [X], [Y])
    for n in (0, 1, 5):
        assert net(floats(n, 3)).shape == [n, 3]


@pytest.mark.parametrize("kind", ["LSTM", "GRU", "RNN"])
@pytest.mark.parametrize("way", ["forward", "bidirectional"])
def test_sequences_of_given_lengths(kind, way):
    ways, gates = 1 + (way == "bidirectional"), {"LSTM": 4, "GRU": 3, "RNN": 1}[kind]
    weights = [floats(ways, gates * 5, 3), floats(ways, gates * 5, 5)]
    constants = [tensor(w, name) for w, name in zip(weights, "wr")]

    def net(*more):
        given = ["x", "w", "r", "", *more]
        step = node(kind, given, ["y", "h"], hidden_size=5, direction=way)
        inputs = [value("x", "float32", ["t", "n", 3])]
        inputs += [value(name, "int32", ["n"]) for name in more]
        return load([step], inputs, [Y, value("h", "float32", None)], constants)

    x, lengths = floats(6, 3, 3), np.int32([6, 2, 4])
    y, h = (t.numpy() for t in net("lengths")(x, lengths))
    alone = net()
    for i, n in enumerate(lengths):
        own_y, own_h = (t.numpy() for t in alone(x[:n, i : i + 1]))
        np.testing.assert_allclose(y[:n, :, i], own_y[:, :, 0], rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(h[:, i], own_h[:, 0], rtol=1e-5, atol=1e-6)
        assert not y[n:, :, i].any()


def test_gradients_flow_to_inputs():
    net = load([node("Mul", ["x", "x"], ["y"])], [X], [Y])
    x = paddle.to_tensor(floats(2, 3), stop_gradient=False)
    net(x).sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), 2 * x.numpy())


def test_part_of_a_captured_function():
    net = load([node("Relu", ["x"], ["y"])], [X], [Y])
    f = paddle.jit.to_static(lambda x: net(x) + 1)
    x = floats(2, 3)
    np.testing.assert_array_equal(f(paddle.to_tensor(x)).numpy(), np.maximum(x, 0) + 1)


# --- what a file leaves open ---


def test_shapes_that_are_not_declared():
    net = load([node("Flatten", ["x"], ["y"])], [value("x", "float32", None)], [Y])
    assert net(floats(2, 3, 4)).shape == [2, 12]
    assert net(floats(5)).shape == [5, 1]
    with pytest.raises(ValueError, match=r"has to know more of its inputs \['x'\]"):
        net.save("/nowhere/model")


def test_values_that_decide_how_many_dimensions_there_are():
    net = load(
        [node("ReduceSum", ["x", "axes"], ["y"], keepdims=0)],
        [X, value("axes", "int64", ["k"])],
        [Y],
    )
    x = floats(2, 3)
    np.testing.assert_allclose(net(x, np.array([1])).numpy(), x.sum(1), rtol=1e-6)
    np.testing.assert_allclose(net(x, np.array([0, 1])).numpy(), x.sum(), rtol=1e-5)
    np.testing.assert_allclose(net(x, np.array([1])).numpy(), x.sum(1), rtol=1e-6)


def test_sizes_survive_being_computed_with():
    # The last axis of reshape(x, [n, 3]) is known although n is not.
    nodes = [
        node("Shape", ["x"], ["s"]),
        node("Gather", ["s", "zero"], ["n"], axis=0),
        node("Concat", ["n", "rest"], ["to"], axis=0),
        node("Reshape", ["x", "to"], ["z"]),
        node("MatMul", ["z", "w"], ["y"]),
    ]
    constants = [tensor([0], "zero"), tensor([2, 3], "rest"), tensor(floats(3, 2), "w")]
    net = load(nodes, [value("x", "float32", ["n", 6])], [Y], constants)
    assert net(floats(5, 6)).shape == [5, 2, 2]


@pytest.mark.parametrize(
    ("begin", "end", "expected"),
    [  # as ONNX's reference and ONNX Runtime have them
        (-0.2, 0.3, [6, -1, -1, -1, -1, 0, 1, 1, 1, 1, 2, 2]),
        (-0.2, 0.0, [10, -1, -1, -1, -1, -1, -1]),
        (-0.2, 0.6, [4, -1, -1, -1, 1, 1, 1, 1, 2, 2, 2]),
    ],
)
def test_ties_of_cropped_places(begin, end, expected):
    """Places that float32 tells from whole numbers, or does not, which "ceil" shows."""
    size, *expected = expected
    resize = node(
        "Resize", ["x", "region", "", "sizes"], ["y"], mode="nearest", nearest_mode="ceil",
        coordinate_transformation_mode="tf_crop_and_resize", extrapolation_value=-1.0,
    )  # fmt: skip
    constants = [
        tensor(np.float32([0, 0, 0, begin, 1, 1, 1, end]), "region"),
        tensor(np.int64([1, 1, 1, len(expected)]), "sizes"),
    ]
    net = load([resize], [value("x", "float32", [1, 1, 1, size])], [Y], constants)
    x = np.arange(size, dtype="float32").reshape(1, 1, 1, size)
    assert net(x).numpy().ravel().tolist() == expected


def test_sequences_and_optionals():
    net = load(
        [node("ConcatFromSequence", ["s"], ["y"], axis=0)],
        [value("s", "float32", ["n"], "sequence")],
        [Y],
    )
    parts = [floats(2), floats(3), floats(1)]
    for k in (1, 3):
        np.testing.assert_array_equal(net(parts[:k]).numpy(), np.concatenate(parts[:k]))
    has = load(
        [node("OptionalHasElement", ["o"], ["y"])],
        [value("o", "float32", ["n"], "optional")],
        [value("y", "bool", [])],
        opset=18,
    )
    assert not has(None) and has(floats(2))


# --- control flow ---


def test_if_runs_one_branch():
    then = graph([node("Neg", ["x"], ["t"])], [], ["t"])
    other = graph([node("Add", ["x", "x"], ["e"])], [], ["e"])
    nodes = [
        node("ReduceSum", ["x"], ["sum"], keepdims=0),
        node("Greater", ["sum", "zero"], ["c"]),
        node("If", ["c"], ["y"], then_branch=then, else_branch=other),
    ]
    net = load(nodes, [X], [Y], [tensor(np.float32(0), "zero")])
    x = np.abs(floats(2, 3))
    np.testing.assert_array_equal(net(x).numpy(), -x)
    np.testing.assert_array_equal(net(-x).numpy(), -2 * x)


def loop_body(*extra):
    nodes = [
        node("Add", ["v", "x"], ["w"]),
        node("ReduceSum", ["w"], ["sum"], keepdims=0),
        node("Less", ["sum", "limit"], ["more"]),
        *extra,
    ]
    inputs = [value("i", "int64", []), value("c", "bool", []), value("v", "float32", ["n", 3])]
    return graph(nodes, inputs, ["more", "w", "sum"])


@pytest.mark.parametrize("count", [0, 1, 2, 50])
def test_loop_ends_by_count_or_condition(count):
    nodes = [node("Loop", ["m", "", "x"], ["y", "sums"], body=loop_body())]
    constants = [tensor(np.float32(7.5), "limit")]
    inputs = [X, value("m", "int64", [])]
    net = load(nodes, inputs, [Y, value("sums", "float32", None)], constants)
    x = np.ones((1, 3), "float32")
    y, sums = net(x, np.array(count))
    v, expected = x, []
    for _ in range(count):
        v = v + x
        expected.append(v.sum())
        if expected[-1] >= 7.5:
            break
    np.testing.assert_array_equal(y.numpy(), v)
    np.testing.assert_array_equal(sums.numpy(), np.array(expected, "float32"))


def test_loop_whose_value_grows():
    body = graph(
        [node("Concat", ["v", "x"], ["w"], axis=0), node("Identity", ["c"], ["more"])],
        [value("i", "int64", []), value("c", "bool", []), value("v", "float32", ["k", 3])],
        ["more", "w"],
    )
    net = load([node("Loop", ["m", "", "x"], ["y"], body=body)], [X, value("m", "int64", [])], [Y])
    assert net(floats(2, 3), np.array(20)).shape == [42, 3]


@pytest.mark.parametrize("length", [1, 3, 20])
def test_scan(length):
    body = graph(
        [node("Add", ["h", "e"], ["g"]), node("Mul", ["g", "g"], ["s"])],
        [value("h", "float32", [3]), value("e", "float32", [3])],
        ["g", "s"],
    )
    nodes = [node("Scan", ["h0", "x"], ["h", "y"], body=body, num_scan_inputs=1)]
    net = load(nodes, [value("h0", "float32", [3]), X], [value("h", "float32", [3]), Y])
    x = floats(length, 3)
    h, y = net(np.zeros(3, "float32"), x)
    np.testing.assert_allclose(h.numpy(), x.sum(0), rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(y.numpy(), np.cumsum(x, 0) ** 2, rtol=1e-4, atol=1e-6)


def test_functions_of_the_model():
    leaky = node("LeakyRelu", ["a"], ["b"]) + field(
        5, field(1, "alpha") + field(21, "slope") + field(20, 1)
    )
    f = function("Mine", "own", ["a"], ["b"], [leaky]) + field(6, "slope")
    net = load([node("Mine", ["x"], ["y"], "own", slope=0.5)], [X], [Y], functions=[f])
    np.testing.assert_allclose(net(-np.ones((1, 3), "float32")).numpy(), -0.5 * np.ones((1, 3)))


def test_a_function_that_calls_itself():
    f = function("Mine", "own", ["a"], ["b"], [node("Mine", ["a"], ["b"], "own")])
    net = load([node("Mine", ["x"], ["y"], "own")], [X], [Y], functions=[f])
    with pytest.raises(ValueError, match="'Mine' calls itself"):
        net(floats(1, 3))


def test_functions_that_write_out_to_too_many_nodes():
    """Each calls the next one twice: 2^30 nodes."""
    last = function("F30", "own", ["a"], ["b"], [node("Neg", ["a"], ["b"])])
    functions = [
        function(f"F{i}", "own", ["a"], ["b"], [
            node(f"F{i + 1}", ["a"], ["m"], "own"), node(f"F{i + 1}", ["m"], ["b"], "own")
        ]) for i in range(30)
    ]  # fmt: skip
    net = load([node("F0", ["x"], ["y"], "own")], [X], [Y], functions=[*functions, last])
    with pytest.raises(ValueError, match="are more than 1048576 nodes when they are written out"):
        net(floats(1, 3))


def test_a_block_whose_square_overflows():
    net = load(
        [node("DepthToSpace", ["x"], ["y"], blocksize=2**32)],
        [value("x", "float32", [1, 4, 2, 2])],
        [Y],
    )
    with pytest.raises(ValueError, match="images whose channels the block's square divides"):
        net(floats(1, 4, 2, 2))


# --- errors ---


def test_one_error_lists_all_unknown_operators():
    branch = graph([node("Deep", [], ["d"])], [], ["d"])
    nodes = [
        node("Nope", ["x"], ["a"]),
        node("Other", ["a"], ["b"], "com.example"),
        node("If", ["b"], ["y"], then_branch=branch, else_branch=branch),
    ]
    net = load(nodes, [X], [Y])
    with pytest.raises(NotImplementedError, match="not supported: Deep, Nope, com.example.Other"):
        net(floats(1, 3))


def test_an_attribute_that_nobody_reads():
    net = load([node("Relu", ["x"], ["y"], speed=3)], [X], [Y])
    with pytest.raises(
        NotImplementedError, match=r"Relu \(makes 'y'\): attribute speed is not supported"
    ):
        net(floats(1, 3))


def test_an_error_names_the_node():
    net = load([node("MatMul", ["x", "x"], ["y"])], [value("x", "float32", [2, 3])], [Y])
    with pytest.raises(ValueError, match=r"\[onnx\] MatMul \(makes 'y'\): \[matmul\]"):
        net(floats(2, 3))


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"", "no whole ONNX model"),
        (b"hello world", "no whole ONNX model"),
        (model([], [X], [])[:-9], "no whole ONNX model"),
    ],
)
def test_what_is_no_model(data, text):
    with pytest.raises(ValueError, match=text):
        paddle.onnx.load(data)


def test_names_that_are_no_text():
    y = field(1, b"\xff") + field(2, tensor_type("float32", None))
    relu = field(1, "x") + field(2, b"\xff") + field(4, "Relu")
    net = load([relu], [X], [y])
    assert net.outputs[0].name == "\ufffd" and net(floats(1, 3)).shape == [1, 3]


def test_there_is_no_such_file(tmp_path):
    with pytest.raises(OSError, match="nothing.onnx"):
        paddle.onnx.load(tmp_path / "nothing.onnx")
    with pytest.raises(TypeError, match="expected a str or bytes, got int"):
        paddle.onnx.load(3)


def test_deep_nesting_is_an_error():
    inner = graph([node("Relu", ["x"], ["d"])], [], ["d"])
    for _ in range(200):
        inner = graph(
            [node("If", ["c"], ["d"], then_branch=inner, else_branch=graph([], [], ["x"]))],
            [],
            ["d"],
        )
    data = model(
        [node("If", ["c"], ["y"], then_branch=inner, else_branch=graph([], [], ["x"]))], [X], [Y]
    )
    with pytest.raises((ValueError, NotImplementedError), match="no whole ONNX model|nested"):
        paddle.onnx.load(data)(floats(1, 3))


def test_many_empty_messages_are_no_model():
    data = field(7, field(1, b"") * 3_000_000)
    with pytest.raises((ValueError, MemoryError), match=r"\[onnx\]"):
        paddle.onnx.load(data + field(8, field(2, 17)))


def test_results_that_take_too_much_memory():
    net = load(
        [node("ConstantOfShape", ["big"], ["c"]), node("Add", ["x", "c"], ["y"])],
        [X],
        [Y],
        [tensor(np.array([1 << 40]), "big")],
    )
    with pytest.raises(ValueError, match="more elements than a model may ask for"):
        net(floats(1, 3))


def test_a_tensor_of_another_size_than_it_says():
    wrong = field(1, 5) + field(2, 1) + field(8, "w") + field(9, b"1234")
    net = load([node("Add", ["x", "w"], ["y"])], [X], [Y], [wrong])
    with pytest.raises(ValueError, match=r"'w' of float32\[5\] does not have 5 elements"):
        net(floats(1, 3))


# --- weights beside the file ---


def beside(location, offset=0, length=12):
    entries = {"location": location, "offset": str(offset), "length": str(length)}
    text = field(1, 3) + field(2, 1) + field(8, "w") + field(14, 1)
    return text + b"".join(field(13, field(1, k) + field(2, v)) for k, v in entries.items())


def save_with(tmp_path, constant):
    folder = tmp_path / "model"
    folder.mkdir()
    (tmp_path / "secret").write_bytes(bytes(64))
    w = floats(3)
    (folder / "data.bin").write_bytes(b"1234" + w.tobytes())
    (folder / "link").symlink_to(tmp_path / "secret")
    path = folder / "m.onnx"
    path.write_bytes(model([node("Add", ["x", "w"], ["y"])], [X], [Y], [constant]))
    return path, w


def test_weights_in_a_file_beside(tmp_path):
    path, w = save_with(tmp_path, beside("data.bin", 4))
    x = floats(2, 3)
    np.testing.assert_array_equal(paddle.onnx.load(path)(x).numpy(), x + w)
    with pytest.raises(ValueError, match="load it by its path"):
        paddle.onnx.load(path.read_bytes())(x)


@pytest.mark.parametrize(
    ("constant", "error", "text"),
    [
        (beside("../secret"), RuntimeError, "not beneath the model's folder"),
        (beside("/etc/hostname"), RuntimeError, "not beneath the model's folder"),
        (beside("link"), RuntimeError, "not beneath the model's folder"),
        (beside("data.bin", 8), ValueError, "which has 16 bytes"),
        (beside("data.bin", 1 << 63), ValueError, "which has 16 bytes"),
        (beside("data.bin", 0, 8), ValueError, "takes 12 bytes"),
        (beside("none.bin"), OSError, "none.bin"),
    ],
)
def test_weights_that_are_not_there(tmp_path, constant, error, text):
    path, _ = save_with(tmp_path, constant)
    with pytest.raises(error, match=text):
        paddle.onnx.load(path)(floats(2, 3))


# --- convert ---


def test_convert(tmp_path, capsys):
    from argosy.cli import main

    path = tmp_path / "m.onnx"
    w = floats(3, 2)
    path.write_bytes(model([node("Gemm", ["x", "w"], ["y"])], [X], [Y], [tensor(w, "w")]))
    assert main(["convert", str(path), str(tmp_path / "out")]) == 0
    assert "input x: float32 [-1, 3]" in capsys.readouterr().out
    x = floats(4, 3)
    y = paddle.jit.load(str(tmp_path / "out"))(paddle.to_tensor(x))
    np.testing.assert_allclose(y.numpy(), x @ w, rtol=1e-5)
    for content, text in ((b"\x08\x08\xff", "no whole ONNX model"), (b"nothing", "in no format")):
        path.write_bytes(content)
        assert main(["convert", str(path), str(tmp_path / "out")]) == 1
        assert text in capsys.readouterr().err


@pytest.mark.parametrize("order", [0, 1])
def test_places_of_a_dilated_pool(order):
    x = np.random.default_rng(0).standard_normal((2, 3, 7, 8)).astype("float32")
    text = node("MaxPool", ["x"], ["y", "places"], kernel_shape=[2, 3], dilations=[3, 2],
                strides=[2, 1], pads=[1, 0, 0, 1], storage_order=order)  # fmt: skip
    declared = [value("x", "float32", x.shape)]
    file = model([text], declared, [value("y", "float32", None), value("places", "int64", None)])
    y, places = (t.numpy() for t in paddle.onnx.load(file)(x))
    padded = np.pad(x, ((0, 0), (0, 0), (1, 0), (0, 1)), constant_values=-np.inf)
    for at in np.ndindex(y.shape):
        window = {}
        for i, j in np.ndindex(2, 3):
            row, column = at[2] * 2 + 3 * i, at[3] + 2 * j
            plane = (at[0] * 3 + at[1]) * 56
            place = (row - 1) * 8 + column if order == 0 else column * 7 + row - 1
            window[padded[at[0], at[1], row, column]] = plane + place
        assert y[at] == max(window) and places[at] == window[max(window)]


@pytest.mark.parametrize("pads", [[0, 0, 1, 0], [1, 0, 0, 1], [0, 0, 1, 1]])
@pytest.mark.parametrize("height", [1, 4])
def test_padding_behind_counts_in_a_mean(pads, height):
    """ONNX counts all padding, also where there is more of it behind than before."""
    x = floats(1, 2, height, 5)
    inputs = [value("x", "float32", [1, 2, height, 5])]
    net = load([node("AveragePool", ["x"], ["y"], kernel_shape=[2, 2], strides=[2, 2], pads=pads,
                     count_include_pad=1)], inputs, [Y])  # fmt: skip
    wide = np.pad(x, [(0, 0), (0, 0), (pads[0], pads[2]), (pads[1], pads[3])])
    rows, columns = wide.shape[2] // 2, wide.shape[3] // 2
    cut = wide[:, :, : 2 * rows, : 2 * columns].reshape(1, 2, rows, 2, columns, 2)
    np.testing.assert_allclose(net(x).numpy(), cut.mean((3, 5)), rtol=1e-5, atol=1e-6)


def test_same_padding_counts_in_a_mean():
    net = load([node("AveragePool", ["x"], ["y"], kernel_shape=[2], auto_pad="SAME_UPPER",
                     count_include_pad=1)], [value("x", "float32", [1, 1, "n"])], [Y])  # fmt: skip
    y = net(np.ones((1, 1, 3), "float32"))
    np.testing.assert_array_equal(y.numpy(), [[[1, 1, 0.5]]])


@pytest.mark.parametrize("mode", ["DCR", "CRD"])
def test_depth_to_space_of_channels_that_are_open(mode):
    inputs = [value("x", "float32", ["n", "c", "h", "w"])]
    net = load([node("DepthToSpace", ["x"], ["y"], blocksize=2, mode=mode)], inputs, [Y])
    x = floats(2, 12, 3, 4)
    order = [0, 3, 4, 1, 5, 2] if mode == "DCR" else [0, 1, 4, 2, 5, 3]
    parts = x.reshape((2, 2, 2, 3, 3, 4) if mode == "DCR" else (2, 3, 2, 2, 3, 4))
    wanted = parts.transpose(order).reshape(2, 3, 6, 8)
    np.testing.assert_array_equal(net(x).numpy(), wanted)
    with pytest.raises(ValueError, match="reshape"):
        net(floats(2, 6, 3, 4))
