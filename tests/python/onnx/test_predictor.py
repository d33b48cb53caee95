"""ONNX files as models of predictors."""

import _thread
import threading
import time

import numpy as np
import pytest

import argosy as paddle
from argosy import inference

from .files import endless, graph, model, node, tensor, value


@pytest.fixture
def path(tmp_path):
    nodes = [node("Gemm", ["x", "w", "b"], ["z"], transB=1), node("Relu", ["z"], ["y"])]
    rng = np.random.default_rng(0)
    constants = [
        tensor(rng.standard_normal((8, 4)).astype("float32"), "w"),
        tensor(rng.standard_normal(8).astype("float32"), "b"),
    ]
    file = tmp_path / "net.onnx"
    inputs, outputs = [value("x", "float32", ["n", 4])], [value("y", "float32", ["n", 8])]
    file.write_bytes(model(nodes, inputs, outputs, constants))
    return file


def test_a_predictor_runs_it(path):
    predictor = inference.create_predictor(inference.Config(str(path)))
    assert predictor.get_input_names() == ["x"] and predictor.get_output_names() == ["y"]
    for n in (1, 3):
        x = np.random.default_rng(n).standard_normal((n, 4)).astype("float32")
        handle = predictor.get_input_handle("x")
        handle.reshape([n, 4])
        handle.copy_from_cpu(x)
        predictor.run()
        y = predictor.get_output_handle("y").copy_to_cpu()
        np.testing.assert_allclose(y, paddle.onnx.load(path)(x).numpy(), rtol=1e-5, atol=1e-6)


def test_an_output_may_be_listed_twice(tmp_path):
    outputs = [value(name, "float32", [2, 3]) for name in ("y", "y", "x")]
    file = tmp_path / "net.onnx"
    file.write_bytes(model([node("Relu", ["x"], ["y"])], outputs[2:], outputs))
    predictor = inference.create_predictor(inference.Config(str(file)))
    assert predictor.get_output_names() == ["y", "y", "x"]
    x = np.random.default_rng(0).standard_normal((2, 3)).astype("float32")
    wanted = [np.maximum(x, 0), np.maximum(x, 0), x]
    np.testing.assert_array_equal(run(predictor, x), wanted)
    np.testing.assert_array_equal([y.numpy() for y in predictor.run([paddle.to_tensor(x)])], wanted)


# --- models whose Program depends on what is fed ---


def write(tmp_path, nodes, inputs, outputs, constants=(), opset=17):
    file = tmp_path / "net.onnx"
    file.write_bytes(model(nodes, inputs, outputs, constants, opset))
    return file


def run(predictor, *arrays):
    for name, array in zip(predictor.get_input_names(), arrays, strict=True):
        predictor.get_input_handle(name).copy_from_cpu(array)
    predictor.run()
    names = predictor.get_output_names()
    results = [predictor.get_output_handle(name).copy_to_cpu() for name in names]
    return results[0] if len(results) == 1 else results


def drawn(*shape):
    return np.random.default_rng(sum(shape)).standard_normal(shape).astype("float32")


@pytest.fixture
def unranked(tmp_path):
    inputs, outputs = [value("x", "float32", None)], [value("y", "float32", None)]
    return write(tmp_path, [node("Relu", ["x"], ["y"])], inputs, outputs)


def test_an_input_of_any_number_of_dimensions(unranked):
    predictor = inference.create_predictor(inference.Config(str(unranked)))
    assert predictor.get_input_handle("x").shape() == []
    assert predictor.get_output_handle("y").shape() == []
    for shape in ((3,), (2, 3), (), (2, 3, 1, 2), (3,), (0, 4)):
        x = drawn(*shape)
        np.testing.assert_array_equal(run(predictor, x), np.maximum(x, 0))
        assert predictor.get_output_handle("y").shape() == list(shape)


def test_what_a_wrong_dtype_says_of_it(unranked):
    predictor = inference.create_predictor(inference.Config(str(unranked)))
    with pytest.raises(ValueError, match=r"expected float32 of any shape, got int64\[2\]"):
        predictor.get_input_handle("x").share_external_data(np.arange(2))
    with pytest.raises(ValueError, match="'x' has no value"):
        predictor.run()


def test_who_needs_one_program_says_so(unranked, tmp_path):
    config = inference.Config(str(unranked))
    from argosy.inference.predictor import read_model

    with pytest.raises(NotImplementedError, match="depends on the shape of 'x'"):
        read_model(config.prog_file() or str(unranked), None)


@pytest.fixture
def summing(tmp_path):
    """Sums over axes that are fed, so that their value decides how many dimensions are left."""
    nodes = [node("ReduceSum", ["x", "axes"], ["y"], keepdims=0)]
    inputs = [value("x", "float32", ["a", "b", "c"]), value("axes", "int64", ["k"])]
    return write(tmp_path, nodes, inputs, [value("y", "float32", None)])


def test_a_value_that_decides_the_program(summing):
    predictor = inference.create_predictor(inference.Config(str(summing)))
    x = drawn(3, 4, 5)
    for axes in ((0,), (1, 2), (2,), (0,), (0, 1, 2), (1, 2)):
        y = run(predictor, x, np.array(axes, "int64"))
        np.testing.assert_allclose(y, x.sum(axes), 1e-5, 1e-5)


def test_a_value_that_changes_where_it_is_read(summing):
    """share_external_data: the same memory has another value in the next run."""
    predictor = inference.create_predictor(inference.Config(str(summing)))
    x, axes = drawn(3, 4, 5), np.array([0], "int64")
    predictor.get_input_handle("x").copy_from_cpu(x)
    predictor.get_input_handle("axes").share_external_data(axes)
    for axis in (0, 2, 1, 1, 0):
        axes[0] = axis
        predictor.run()
        y = predictor.get_output_handle("y").copy_to_cpu()
        np.testing.assert_allclose(y, x.sum(axis), 1e-5, 1e-5)


def test_few_kept_programs(summing):
    config = inference.Config(str(summing))
    config.set_mkldnn_cache_capacity(1)
    predictor = inference.create_predictor(config)
    for round in range(9):
        x = drawn(2, 3, 1 + round % 4)
        y = run(predictor, x, np.array([round % 3], "int64"))
        np.testing.assert_allclose(y, x.sum(round % 3), 1e-5, 1e-5)


def test_a_value_that_decides_and_is_too_long(tmp_path):
    nodes = [node("ReduceSum", ["x", "axes"], ["y"], keepdims=0)]
    inputs = [value("x", "float32", ["a"]), value("axes", "int64", ["k"])]
    file = write(tmp_path, nodes, inputs, [value("y", "float32", None)])
    predictor = inference.create_predictor(inference.Config(str(file)))
    with pytest.raises(
        ValueError, match=r"short vector of integers is expected, got int64\[5000\]"
    ):
        run(predictor, drawn(3), np.zeros(5000, "int64"))
    np.testing.assert_allclose(run(predictor, drawn(3), np.array([0])), drawn(3).sum(), 1e-5)


def test_branches_with_results_of_other_dimensions(tmp_path):
    """As exporters write squeeze(): an If on a size."""
    nodes = [
        node("Shape", ["x"], ["shape"]),
        node("Gather", ["shape", "last"], ["size"]),
        node("Equal", ["size", "one"], ["is_one"]),
        node(
            "If", ["is_one"], ["y"],
            then_branch=graph([node("Squeeze", ["x", "axes"], ["s"])], [], ["s"]),
            else_branch=graph([node("Identity", ["x"], ["t"])], [], ["t"]),
        ),
        node("Gemm", ["y", "w"], ["z"]),
    ]  # fmt: skip
    weights = np.random.default_rng(0).standard_normal((300, 200)).astype("float32")
    constants = [tensor(np.int64(2), "last"), tensor(np.int64(1), "one")]
    constants += [tensor(np.array([2]), "axes"), tensor(weights, "w")]
    inputs, outputs = [value("x", "float32", ["n", 300, "t"])], [value("z", "float32", ["n", 200])]
    file = write(tmp_path, nodes, inputs, outputs, constants)
    predictor = inference.create_predictor(inference.Config(str(file)))
    for rows in (2, 5, 1):
        x = drawn(rows, 300, 1)
        np.testing.assert_allclose(run(predictor, x), x[:, :, 0] @ weights, 1e-3, 1e-3)
    with pytest.raises((ValueError, NotImplementedError), match="Gemm"):
        run(predictor, drawn(2, 300, 3))
    x = drawn(2, 300, 1)  # and it runs on
    np.testing.assert_allclose(run(predictor, x), x[:, :, 0] @ weights, 1e-3, 1e-3)


def test_clones_on_several_threads(summing):
    original = inference.create_predictor(inference.Config(str(summing)))
    wrong = []

    def work(predictor, seed):
        random = np.random.default_rng(seed)
        for _ in range(30):
            x, axis = drawn(*random.integers(1, 4, 3)), int(random.integers(3))
            y = run(predictor, x, np.array([axis], "int64"))
            if not np.allclose(y, x.sum(axis), 1e-4, 1e-4):
                wrong.append((x.shape, axis))

    threads = [threading.Thread(target=work, args=(original.clone(), i)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_an_output_that_is_a_sequence_is_refused(tmp_path):
    nodes = [node("SequenceConstruct", ["x", "x"], ["s"])]
    outputs = [value("s", "float32", [2], "sequence")]
    file = write(tmp_path, nodes, [value("x", "float32", [2])], outputs)
    with pytest.raises(NotImplementedError, match="output 's' of the ONNX model is a sequence"):
        inference.create_predictor(inference.Config(str(file)))


# --- windows over sizes that only a run knows: no Program for each ---

WINDOWS = [
    ("Conv", {"auto_pad": "SAME_UPPER", "kernel_shape": [3, 2], "strides": [2, 3]}),
    ("Conv", {"auto_pad": "SAME_UPPER", "kernel_shape": [4, 2]}),
    ("Conv", {"auto_pad": "SAME_LOWER", "kernel_shape": [4, 2]}),
    ("Conv", {"auto_pad": "SAME_LOWER", "kernel_shape": [2, 2], "dilations": [3, 2]}),
    ("ConvTranspose", {"auto_pad": "SAME_UPPER", "kernel_shape": [3, 4], "strides": [2, 2]}),
    ("ConvTranspose", {"auto_pad": "SAME_LOWER", "kernel_shape": [3, 4], "strides": [2, 3]}),
    ("MaxPool", {"auto_pad": "SAME_UPPER", "kernel_shape": [2, 2]}),
    ("MaxPool", {"auto_pad": "SAME_UPPER", "kernel_shape": [3, 2], "strides": [2, 3]}),
    ("MaxPool", {"kernel_shape": [3, 2], "strides": [2, 2], "ceil_mode": 1}),
    ("MaxPool", {"kernel_shape": [3, 3], "strides": [2, 2], "pads": [1, 1, 1, 1], "ceil_mode": 1}),
    ("AveragePool", {"auto_pad": "SAME_UPPER", "kernel_shape": [2, 3], "strides": [2, 2]}),
    ("AveragePool", {"kernel_shape": [3, 2], "strides": [2, 2], "ceil_mode": 1}),
]
# What our ops do not round as ONNX does needs the sizes.
NEED_SIZES = [
    ("Conv", {"auto_pad": "SAME_LOWER", "kernel_shape": [3, 2], "strides": [2, 3]}),
    ("MaxPool", {"kernel_shape": [2, 2], "strides": [3, 3], "ceil_mode": 1}),
    ("MaxPool", {"kernel_shape": [2, 2], "strides": [2, 2], "pads": [1, 1, 1, 1], "ceil_mode": 1}),
]


def windowed(tmp_path, op, attributes, sizes):
    kernel = attributes["kernel_shape"]
    weight = drawn(2, 2, *kernel)
    inputs = ["x", "w"] if op.startswith("Conv") else ["x"]
    nodes = [node(op, inputs, ["y"], **attributes)]
    ports = [value("x", "float32", [1, 2, *sizes])], [value("y", "float32", None)]
    file = write(tmp_path, nodes, *ports, [tensor(weight, "w")] if len(inputs) > 1 else [])
    return inference.create_predictor(inference.Config(str(file)))


@pytest.mark.parametrize(("op", "attributes"), WINDOWS + NEED_SIZES)
def test_windows_over_open_sizes(tmp_path, op, attributes):
    predictor = windowed(tmp_path, op, attributes, ["h", "w"])
    for sizes in ((7, 9), (8, 8), (5, 6), (6, 11)):
        x = drawn(1, 2, *sizes)
        wanted = run(windowed(tmp_path, op, attributes, sizes), x)
        np.testing.assert_allclose(run(predictor, x), wanted, 1e-4, 1e-5)


@pytest.mark.parametrize(("op", "attributes"), WINDOWS)
def test_windows_that_need_no_sizes(tmp_path, op, attributes):
    windowed(tmp_path, op, attributes, ["h", "w"])
    assert paddle.onnx.load(tmp_path / "net.onnx").program() is not None


# --- runs that would never end ---


@pytest.fixture(params=["Sin", "Identity"])
def endless_run(request, tmp_path):
    """(predictor of a loop whose rounds have steps or none, with a limit of seconds) -> its run."""
    file = tmp_path / "endless.onnx"
    file.write_bytes(endless(request.param))

    def make(seconds):
        config = inference.Config(str(file))
        config.set_run_time_limit(seconds)
        predictor = inference.create_predictor(config)
        x = paddle.to_tensor(np.float32([0, 1, 2, 3]))
        return predictor, lambda more: predictor.run([x, paddle.to_tensor(more)])

    return make


def test_a_run_ends_at_its_time_limit(endless_run):
    predictor, run_it = endless_run(0.2)
    for run_again in (run_it, run_it):
        begin = time.monotonic()
        with pytest.raises(TimeoutError, match="takes longer than its limit.*raise time_limit"):
            run_again(True)
        assert 0.2 <= time.monotonic() - begin < 20
        np.testing.assert_array_equal(run_again(False)[0].numpy(), [0, 1, 2, 3])
    clone = predictor.clone()
    with pytest.raises(TimeoutError):
        clone.run([paddle.ones([4]), paddle.to_tensor(True)])


def test_another_thread_ends_a_run(endless_run):
    predictor, run_it = endless_run(60)
    predictor.interrupt()  # of no run: the next one is not concerned
    np.testing.assert_array_equal(run_it(False)[0].numpy(), [0, 1, 2, 3])
    timer = threading.Timer(0.3, predictor.interrupt)
    timer.start()
    with pytest.raises(RuntimeError, match="interrupted by another thread"):
        run_it(True)
    timer.join()
    np.testing.assert_array_equal(run_it(False)[0].numpy(), [0, 1, 2, 3])


def test_ctrl_c_ends_a_run(endless_run):
    run_it = endless_run(60)[1]
    timer = threading.Timer(0.3, _thread.interrupt_main)
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        run_it(True)
    timer.join()


@pytest.mark.parametrize("seconds", [-1, float("nan"), "1", True])
def test_time_limits_that_are_none(seconds):
    with pytest.raises(ValueError, match="set_run_time_limit.*0 or more seconds, got"):
        inference.Config().set_run_time_limit(seconds)
