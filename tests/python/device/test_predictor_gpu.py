"""Predictors whose model runs on a device: on the streamed test device, and with `--device gpu` on a GPU."""

import ctypes
import pathlib
import threading

import numpy as np
import pytest
from tests.python.device.where import FIRST, NAME, STREAMED, strict, two_devices
from tests.python.onnx import files as onnx_files

import argosy as paddle
from argosy import _core, inference, static
from argosy.inference import Config, PrecisionType, create_predictor

gpu = pytest.mark.skipif(STREAMED, reason="needs a GPU")
pytestmark = [
    pytest.mark.adds_device(unless="gpu"),
    pytest.mark.usefixtures("streamed"),
]


@pytest.fixture(autouse=True)
def made_on_the_host(streamed):
    """Models are made and saved on the CPU; what a test makes on the device says so."""
    paddle.device.set_device("cpu")


def on_device(config, precision=PrecisionType.Float32, index=0, pool=0):
    if NAME == "gpu":
        config.enable_use_gpu(pool, index, precision)
    else:
        config.enable_custom_device(NAME, index, precision)
    return config


class Net(paddle.nn.Layer):
    def __init__(self):
        super().__init__()
        self.conv = paddle.nn.Conv2D(3, 16, 3, padding=1)
        self.norm = paddle.nn.BatchNorm2D(16)
        self.first = paddle.nn.Linear(16, 300)
        self.second = paddle.nn.Linear(300, 7)

    def forward(self, x):
        y = paddle.nn.functional.hardswish(self.norm(self.conv(x)))
        y = y.mean([2, 3])
        return self.second(paddle.nn.functional.gelu(self.first(y)))


def save(net, tmp_path, shape, name="net"):
    net.eval()
    spec = [static.InputSpec(shape, "float32", "x")]
    paddle.jit.save(net, str(tmp_path / name), input_spec=spec)
    return str(tmp_path / name)


@pytest.fixture
def images(tmp_path):
    """(prefix of a saved net, the net) for images of any size."""
    paddle.seed(3)
    net = Net()
    return save(net, tmp_path, [None, 3, None, None]), net


def draw(*shape):
    return np.random.RandomState(sum(shape)).randn(*shape).astype("float32")


def answer(predictor, x):
    predictor.get_input_handle(predictor.get_input_names()[0]).copy_from_cpu(x)
    assert predictor.run() is True
    return predictor.get_output_handle(predictor.get_output_names()[0]).copy_to_cpu()


def assert_near(got, want, tolerance=1e-4):
    assert got.shape == want.shape and got.dtype == want.dtype
    np.testing.assert_allclose(got, want, tolerance, tolerance)


def test_answers_are_those_of_the_cpu_and_of_eager_calls(images):
    prefix, net = images
    there, here = create_predictor(on_device(Config(prefix))), create_predictor(Config(prefix))
    for shape in (
        (2, 3, 8, 8),
        (1, 3, 9, 5),
        (2, 3, 8, 8),
        (0, 3, 4, 4),
        (5, 3, 6, 6),
        (1, 3, 9, 5),
    ):
        x = draw(*shape)
        got = answer(there, x)
        if shape[0]:
            assert_near(got, answer(here, x))
        assert_near(got, net(paddle.to_tensor(x)).numpy())
    handle = there.get_output_handle(there.get_output_names()[0])
    assert handle.shape() == [1, 7] and handle.type() is inference.DataType.FLOAT32


def test_without_passes_bits_are_those_of_the_program(images):
    prefix, net = images
    config = on_device(Config(prefix))
    config.switch_ir_optim(False)
    x = draw(2, 3, 8, 8)
    assert_near(answer(create_predictor(config), x), net(paddle.to_tensor(x)).numpy())


def test_nothing_is_packed_for_the_cpu(images):
    prefix, _ = images
    config = on_device(Config(prefix))
    assert "pack_products" not in config.pass_builder().all_passes()
    predictor = create_predictor(config)
    answer(predictor, draw(2, 3, 8, 8))
    plan = _core.infer_plan(predictor._handle)
    assert "packed" not in plan and "batch_norm" not in plan and "conv2d" in plan
    if not STREAMED:
        assert "host" not in plan


def test_steady_shapes_are_graphs(images):
    predictor = create_predictor(on_device(Config(images[0])))
    x = draw(2, 3, 8, 8)
    want = answer(predictor, x)
    answer(predictor, x)
    before = _core.graph_launches()
    for k in range(4):
        assert_near(answer(predictor, x + k), answer(predictor, x + k))
    assert _core.graph_launches() >= before + 8
    assert_near(answer(predictor, x), want)


def test_weights_are_there_once_for_all_clones(tmp_path):
    net = paddle.nn.Linear(700, 1000)
    prefix = save(net, tmp_path, [None, 700])
    before = paddle.device.memory_allocated(FIRST)
    predictor = create_predictor(on_device(Config(prefix)))
    clones = [predictor.clone() for _ in range(3)]
    taken = paddle.device.memory_allocated(FIRST) - before
    weights = 4 * (700 + 1) * 1000
    assert weights < taken + 8192 < 1.1 * weights
    x = draw(2, 700)
    want = net(paddle.to_tensor(x)).numpy()
    for one in [predictor, *clones]:
        assert_near(answer(one, x), want)
    assert paddle.device.memory_allocated(FIRST) - before < 1.5 * weights
    del predictor, clones, one
    assert paddle.device.memory_allocated(FIRST) - before < 0.1 * weights


def test_clones_in_threads(images):
    prefix, net = images
    first = create_predictor(on_device(Config(prefix)))
    wrong = []

    def work(predictor, number):
        try:
            for k in range(6):
                x = draw(1 + (k + number) % 3, 3, 8, 8) + number
                want = net(paddle.to_tensor(x, place="cpu")).numpy()
                assert_near(answer(predictor, x), want)
        except BaseException as error:
            wrong.append(error)

    threads = [threading.Thread(target=work, args=(first.clone(), i)) for i in range(3)]
    [t.start() for t in threads]
    [t.join() for t in threads]
    assert not wrong, wrong[0]


def test_tensors_of_the_device_are_read_where_they_are(images):
    prefix, net = images
    predictor = create_predictor(on_device(Config(prefix)))
    x = draw(2, 3, 8, 8)
    want = net(paddle.to_tensor(x)).numpy()
    with paddle.device_guard(FIRST):
        there = paddle.to_tensor(x) * 1.0  # work of the current stream, which the run waits for
    for _ in range(3):
        predictor.get_input_handle("x").share_external_data(there)
        predictor.run()
        there.scale_(2.0)  # after the run has read it
        got = predictor.get_output_handle(predictor.get_output_names()[0]).copy_to_cpu()
        assert_near(got, want)
        there.scale_(0.5)
    (out,) = predictor.run([there])
    assert str(out.place) == str(there.place)
    more = out + 1.0
    (again,) = predictor.run([there * 0.0])
    assert_near(more.numpy(), want + 1.0)
    assert_near(out.numpy(), want)
    assert_near(again.numpy(), net(paddle.zeros([2, 3, 8, 8])).numpy())
    del there, out, more
    (host,) = predictor.run([paddle.to_tensor(x, place="cpu")])
    assert_near(host.numpy(), want)


def test_an_input_is_written_again_at_once(images):
    prefix, net = images
    predictor = create_predictor(on_device(Config(prefix)))
    handle = predictor.get_input_handle("x")
    for k in range(5):  # the copy of the run before may be under way
        handle.copy_from_cpu(draw(2, 3, 8, 8) + k)
        predictor.run()
    want = net(paddle.to_tensor(draw(2, 3, 8, 8) + 4)).numpy()
    assert_near(predictor.get_output_handle(predictor.get_output_names()[0]).copy_to_cpu(), want)
    np.testing.assert_array_equal(handle.copy_to_cpu(), draw(2, 3, 8, 8) + 4)
    handle.share_external_data(np.asfortranarray(draw(2, 3, 8, 8)))
    predictor.run()
    want = net(paddle.to_tensor(draw(2, 3, 8, 8))).numpy()
    assert_near(predictor.get_output_handle(predictor.get_output_names()[0]).copy_to_cpu(), want)


@pytest.mark.parametrize("precision", [PrecisionType.Half, PrecisionType.Bfloat16])
def test_products_in_16_bits(tmp_path, precision):
    paddle.seed(1)
    net = paddle.nn.Sequential(
        paddle.nn.Linear(600, 900), paddle.nn.ReLU(), paddle.nn.Linear(900, 5)
    )
    prefix = save(net, tmp_path, [None, 600])
    before = paddle.device.memory_allocated(FIRST)
    predictor = create_predictor(on_device(Config(prefix), precision))
    taken = paddle.device.memory_allocated(FIRST) - before
    assert taken < 2 * 600 * 900 * 1.3  # weights of 16 bits
    x = draw(3, 600)
    got = answer(predictor, x)
    assert got.dtype == np.float32
    want = net(paddle.to_tensor(x)).numpy()
    assert_near(got, want, 0.05)
    assert np.abs(got - want).max() > 0
    name = "float16" if precision is PrecisionType.Half else "bfloat16"
    assert name in _core.infer_plan(predictor._handle)
    config = on_device(Config(prefix), precision)
    config.exp_disable_mixed_precision_ops({"linear", "matmul"})
    assert_near(answer(create_predictor(config), x), want)


def test_convolutions_in_16_bits(images):
    prefix, net = images
    predictor = create_predictor(on_device(Config(prefix), PrecisionType.Bfloat16))
    x = draw(2, 3, 16, 16)
    assert_near(answer(predictor, x), net(paddle.to_tensor(x)).numpy(), 0.05)
    plan = _core.infer_plan(predictor._handle)
    assert "bfloat16" in plan and "batch_norm" not in plan


def test_clones_share_what_a_model_writes(tmp_path):
    class Counter(paddle.nn.Layer):
        def __init__(self):
            super().__init__()
            self.register_buffer("count", paddle.zeros([1]))

        def forward(self, x):
            self.count.add_(paddle.ones([1]))
            return x + self.count

    predictor = create_predictor(on_device(Config(save(Counter(), tmp_path, [None]))))
    clone = predictor.clone()
    x = draw(4)
    for k in range(4):
        np.testing.assert_allclose(answer([predictor, clone][k % 2], x), x + k + 1, 1e-6, 1e-6)


def test_a_file_whose_programs_depend_on_what_is_fed(tmp_path):
    weight = draw(70, 4000)
    inputs = [onnx_files.value("x", "float32", None), onnx_files.value("axes", "int64", [1])]
    nodes = [
        onnx_files.node("MatMul", ["x", "w"], ["p"]),
        onnx_files.node("ReduceSum", ["p", "axes"], ["y"], keepdims=0),
    ]
    outputs = [onnx_files.value("y", "float32", None)]
    file = tmp_path / "net.onnx"
    file.write_bytes(onnx_files.model(nodes, inputs, outputs, [onnx_files.tensor(weight, "w")]))
    predictor = create_predictor(on_device(Config(str(file))))
    clone = predictor.clone()
    before = None
    for x, axis in ((draw(3, 70), 1), (draw(2, 3, 70), 0), (draw(2, 3, 70), 2), (draw(3, 70), 0)):
        for one in (predictor, clone):
            one.get_input_handle("axes").copy_from_cpu(np.int64([axis]))
            one.get_input_handle("x").copy_from_cpu(x)
            one.run()
            got = one.get_output_handle("y").copy_to_cpu()
            np.testing.assert_allclose(got, (x @ weight).sum(axis), 1e-3, 1e-3)
        now = paddle.device.memory_allocated(FIRST)
        assert before is None or now < before + weight.nbytes / 2  # Programs share the weight
        before = before or now


def test_limits_of_time(tmp_path):
    class Endless(paddle.nn.Layer):
        def forward(self, x):
            while (x > 0).all():
                x = x + 1.0
            return x

    net = paddle.jit.to_static(
        Endless(), input_spec=[static.InputSpec([2], "float32", "x")], full_graph=True
    )
    config = on_device(Config(save(net, tmp_path, [2])))
    config.set_run_time_limit(0.3)
    predictor = create_predictor(config)
    with pytest.raises(TimeoutError, match="longer than its limit"):
        answer(predictor, np.ones(2, "float32"))
    np.testing.assert_array_equal(answer(predictor, -np.ones(2, "float32")), -np.ones(2, "float32"))


def test_memory_of_runs_is_given_back(images):
    predictor = create_predictor(on_device(Config(images[0])))
    x = draw(4, 3, 32, 32)
    want = answer(predictor, x)
    held = paddle.device.memory_allocated(FIRST)
    predictor.clear_intermediate_tensor()
    assert paddle.device.memory_allocated(FIRST) < held
    assert predictor.try_shrink_memory() >= 0
    handle = predictor.get_output_handle(predictor.get_output_names()[0])
    with pytest.raises(RuntimeError, match="has no value"):
        handle.copy_to_cpu()
    assert_near(answer(predictor, x), want)


def test_what_is_refused(images):
    prefix, _ = images
    config = Config(prefix)
    with pytest.raises(NotImplementedError, match=r"\[Config.enable_use_gpu\].*precision_mode"):
        config.enable_use_gpu(100, 0, PrecisionType.Int8)
    with pytest.raises(
        NotImplementedError, match=r"precision_mode .* got \[1\]. Do this: use Prec"
    ):
        config.enable_use_gpu(100, 0, [1])
    with pytest.raises(
        ValueError, match="there is one CPU, number 0, got 3. Do this: leave it out"
    ):
        config.enable_custom_device("cpu", 3)
    with pytest.raises(ValueError, match="device_id: expected 0 or more, got -1"):
        config.enable_use_gpu(100, -1)
    with pytest.raises(ValueError, match="there is no op 'no_such'"):
        config.exp_enable_mixed_precision_ops({"no_such"})
    assert not config.use_gpu()
    with pytest.raises(RuntimeError, match=rf"there is no {NAME}:77, but \d+ of them"):
        create_predictor(on_device(Config(prefix), index=77))
    config.enable_custom_device("npu")
    with pytest.raises(RuntimeError, match="there is no device 'npu'.*use one of cpu, gpu"):
        create_predictor(config)
    config.exp_enable_mixed_precision_ops({"softmax"})
    config.disable_gpu()
    with pytest.warns(UserWarning, match="mixed_precision_ops.*has no effect"):
        predictor = create_predictor(config)
    with paddle.device_guard(FIRST):
        there = paddle.ones([1, 3, 4, 4])
    with pytest.raises(
        ValueError, match="expected a dense tensor in main memory. Do this: .*cpu()"
    ):
        predictor.get_input_handle("x").share_external_data(there)


@pytest.mark.parametrize("where", ["cpu", FIRST])
def test_the_current_device_is_none_of_a_predictors_business(tmp_path, where):
    """Loading, a Program that what is fed decides, and what steps make without operands."""
    inputs = [onnx_files.value("x", "float32", None), onnx_files.value("axes", "int64", [1])]
    nodes = [
        onnx_files.node("NonZero", ["x"], ["n"]),
        onnx_files.node("Shape", ["n"], ["s"]),
        onnx_files.node("ConstantOfShape", ["s"], ["z"]),
        onnx_files.node("ReduceSum", ["x", "axes"], ["y"], keepdims=0),
    ]
    outputs = [onnx_files.value("y", "float32", None), onnx_files.value("z", "float32", None)]
    file = tmp_path / "net.onnx"
    file.write_bytes(onnx_files.model(nodes, inputs, outputs))
    x = np.float32([[1, 0, 2], [0, 3, 0]])
    for current in (FIRST, "cpu"):
        with paddle.device_guard(current):
            config = Config(str(file))
            predictor = create_predictor(on_device(config) if where == FIRST else config)
            for axis in (1, 0):
                predictor.get_input_handle("axes").share_external_data(np.int64([axis]))
                predictor.get_input_handle("x").share_external_data(x)
                predictor.run()
                y, z = (predictor.get_output_handle(n).copy_to_cpu() for n in ("y", "z"))
                np.testing.assert_array_equal(y, x.sum(axis))
                np.testing.assert_array_equal(z, np.zeros((2, 3), "float32"))


@two_devices
def test_a_tensor_of_another_device(images):
    predictor = create_predictor(on_device(Config(images[0]), index=1))
    with paddle.device_guard(FIRST):
        there = paddle.ones([1, 3, 4, 4])
    with pytest.raises(ValueError, match="or on the place of the model. Do this: move it there"):
        predictor.get_input_handle("x").share_external_data(there)
    assert answer(predictor, draw(1, 3, 4, 4)).shape == (1, 7)


@strict
def test_without_a_gpu_the_error_says_what_to_do(images):
    config = Config(images[0])
    config.enable_use_gpu(100, 0)
    assert config.use_gpu() and config.memory_pool_init_size_mb() == 100
    with pytest.raises(RuntimeError, match=r"\[gpu\].*Do this: .*use the CPU"):
        create_predictor(config)


LIB = pathlib.Path(_core.__file__).parent / "lib"


class View(ctypes.Structure):
    _fields_ = (
        ("dtype", ctypes.c_int), ("rank", ctypes.c_int32), ("shape", ctypes.c_int64 * 9),
        ("data", ctypes.c_void_p), ("bytes", ctypes.c_size_t),
    )  # fmt: skip


def c_options(lib, prefix, kind, index=0):
    lib.argosy_last_error.restype = ctypes.c_char_p
    options = ctypes.c_void_p()
    assert lib.argosy_options_create(1, ctypes.byref(options)) == 0
    assert lib.argosy_options_set_model(options, prefix.encode(), None) == 0
    assert lib.argosy_options_set_device(options, kind.encode(), index) == 0
    return options


def test_the_c_interface(images):
    prefix, net = images
    lib = ctypes.CDLL(str(LIB / "libargosy.so"))
    options = c_options(lib, prefix, NAME)
    assert lib.argosy_options_set_precision(options, 14) == 1
    assert b"got 14" in lib.argosy_last_error()
    predictor, clone = ctypes.c_void_p(), ctypes.c_void_p()
    assert lib.argosy_predictor_create(options, ctypes.byref(predictor)) == 0
    assert lib.argosy_predictor_clone(predictor, ctypes.byref(clone)) == 0
    lib.argosy_options_destroy(options)
    shape = (ctypes.c_int64 * 4)(2, 3, 8, 8)
    for one, copies in ((predictor, True), (clone, False), (predictor, False)):
        x = draw(2, 3, 8, 8)
        call = lib.argosy_predictor_copy_input if copies else lib.argosy_predictor_borrow_input
        assert call(one, 0, 13, 4, shape, x.ctypes.data_as(ctypes.c_void_p)) == 0
        assert lib.argosy_predictor_run(one) == 0
        view, copy = View(), np.empty((2, 7), "float32")
        assert lib.argosy_predictor_view_output(one, 0, ctypes.byref(view)) == 0
        assert list(view.shape[: view.rank]) == [2, 7]
        seen = (ctypes.c_float * 14).from_address(view.data)
        want = net(paddle.to_tensor(x)).numpy()
        assert_near(np.array(seen, "float32").reshape(2, 7), want)
        to = copy.ctypes.data_as(ctypes.c_void_p)
        assert lib.argosy_predictor_copy_output(one, 0, to, ctypes.c_size_t(56)) == 0
        assert_near(copy, want)
    lib.argosy_predictor_destroy(predictor)
    lib.argosy_predictor_destroy(clone)


@pytest.mark.skipif(not (LIB / "libargosy_infer.so").exists(), reason="it is not built")
def test_the_small_library_says_where_gpus_are(images):
    lib = ctypes.CDLL(str(LIB / "libargosy_infer.so"))
    options, predictor = c_options(lib, images[0], "gpu"), ctypes.c_void_p()
    assert lib.argosy_predictor_create(options, ctypes.byref(predictor)) == 3
    assert b"Do this: link libargosy.so instead" in lib.argosy_last_error()
    lib.argosy_options_destroy(options)


@gpu
def test_the_pool_is_taken_at_once(images):
    paddle.device.empty_cache(FIRST)  # also of streams that are used again
    before = paddle.device.memory_reserved(FIRST)
    config = on_device(Config(images[0]), pool=256)
    assert 0 < config.fraction_of_gpu_memory_for_pool() < 0.1
    predictor = create_predictor(config)
    assert paddle.device.memory_reserved(FIRST) >= before + 256 * 2**20
    assert answer(predictor, draw(1, 3, 8, 8)).shape == (1, 7)


@gpu
@pytest.mark.parametrize("precision", [PrecisionType.Float32, PrecisionType.Bfloat16])
def test_resnet_50(tmp_path, precision):
    paddle.seed(5)
    net = paddle.vision.models.resnet50()
    prefix = save(net, tmp_path, [None, 3, 64, 64])
    predictor = create_predictor(on_device(Config(prefix), precision))
    x = draw(4, 3, 64, 64)
    want = net(paddle.to_tensor(x)).numpy()
    bound = 2e-3 if precision is PrecisionType.Float32 else 0.1
    for _ in range(3):
        got = answer(predictor, x)
        assert np.abs(got - want).max() < bound * np.abs(want).max()
    there = net.to(FIRST)(paddle.to_tensor(x).to(FIRST)).numpy()
    assert np.abs(got - there).max() < bound * np.abs(want).max()


@gpu
def test_an_encoder_of_sentences(tmp_path):
    paddle.seed(5)
    layer = paddle.nn.TransformerEncoderLayer(256, 8, 512, activation="gelu")
    net = paddle.nn.TransformerEncoder(layer, 3)
    prefix = save(net, tmp_path, [None, None, 256])
    x = draw(2, 128, 256)
    want = net(paddle.to_tensor(x)).numpy()
    for precision, bound in ((PrecisionType.Float32, 2e-3), (PrecisionType.Half, 3e-2)):
        predictor = create_predictor(on_device(Config(prefix), precision))
        for _ in range(3):
            assert np.abs(answer(predictor, x) - want).max() < bound * np.abs(want).max()
