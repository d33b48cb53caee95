"""paddle.inference: what programs written for it do."""

import gc
import threading

import numpy as np
import pytest

import argosy as paddle
from argosy import inference, static
from argosy.inference import Config, create_predictor


@pytest.fixture
def linear(tmp_path):
    """(prefix of a saved net, the net)."""
    net = paddle.nn.Sequential(
        paddle.nn.Linear(40, 120), paddle.nn.ReLU(), paddle.nn.Linear(120, 3)
    )
    net.eval()
    spec = [static.InputSpec([None, 40], "float32", "x")]
    paddle.jit.save(net, str(tmp_path / "net"), input_spec=spec)
    return str(tmp_path / "net"), net


@pytest.fixture
def saved_static(tmp_path):
    """(prefix, input, output) of save_inference_model."""
    paddle.enable_static()
    try:
        main, startup = static.Program(), static.Program()
        with static.program_guard(main, startup), static.scope_guard(static.Scope()):
            x = static.data("x", [None, 70], "float32")
            y = static.nn.fc(static.nn.fc(x, 80, activation="relu"), 5)
            exe = static.Executor()
            exe.run(startup)
            values = np.random.RandomState(0).rand(4, 70).astype("float32")
            wanted = exe.run(main, feed={"x": values}, fetch_list=[y])[0]
            static.save_inference_model(str(tmp_path / "model"), [x], [y], exe)
    finally:
        paddle.disable_static()
    return tmp_path, values, wanted


def answer(predictor, x):
    predictor.get_input_handle(predictor.get_input_names()[0]).copy_from_cpu(x)
    assert predictor.run() is True
    return predictor.get_output_handle(predictor.get_output_names()[0]).copy_to_cpu()


def test_what_jit_save_wrote(linear):
    prefix, net = linear
    paths = [[prefix], [prefix + ".argosy"], [prefix + ".pdmodel", prefix + ".pdiparams"]]
    for path in paths:
        predictor = create_predictor(Config(*path))
        assert predictor.get_input_names() == ["x"]
        assert predictor.get_output_names() == ["output_0"]
        for rows in (4, 1, 9, 4):
            x = np.random.rand(rows, 40).astype("float32")
            np.testing.assert_allclose(
                answer(predictor, x), net(paddle.to_tensor(x)).numpy(), 1e-4, 1e-5
            )


@pytest.mark.parametrize("way", ["files", "folder", "buffers", "set_model", "prefix of the file"])
def test_what_save_inference_model_wrote(saved_static, way):
    folder, x, wanted = saved_static
    program, params = folder / "model.pdmodel", folder / "model.pdiparams"
    if way == "files":
        config = Config(str(program), str(params))
        assert (config.prog_file(), config.params_file()) == (str(program), str(params))
    elif way == "folder":
        config = Config(str(folder))
        assert config.model_dir() == str(folder)
    elif way == "buffers":
        config = Config()
        parts = program.read_bytes(), params.read_bytes()
        config.set_model_buffer(parts[0], len(parts[0]), parts[1], len(parts[1]))
        assert config.model_from_memory()
    elif way == "set_model":
        config = Config()
        config.set_model(str(program), str(params))
    else:
        config = Config(str(program))
    predictor = create_predictor(config)
    np.testing.assert_allclose(answer(predictor, x), wanted, 1e-4, 1e-5)


def test_saved_weights_are_not_pickled(saved_static):
    folder, _, _ = saved_static
    assert (folder / "model.pdiparams").read_bytes()[8:9] == b"{"


def test_pickled_weights_of_older_versions_still_load(saved_static):
    from argosy.static.io import values_in_file

    folder, x, wanted = saved_static
    params = folder / "model.pdiparams"
    paddle.save(values_in_file(str(params)), str(params))
    assert params.read_bytes()[:1] == b"\x80"
    for config in (
        Config(str(folder / "model.pdmodel"), str(params)),
        Config(str(folder / "model.pdmodel")),
    ):
        np.testing.assert_allclose(answer(create_predictor(config), x), wanted, 1e-4, 1e-5)


def test_weights_whose_header_has_the_length_of_a_pickle_s_first_byte(tmp_path):
    """A header of 0x80 bytes, more or less 256, begins as a pickle does."""
    from argosy import _core
    from argosy.static.io import values_in_file

    seen = set()
    for length in range(0, 300, 8):
        path = str(tmp_path / f"{length}.pdiparams")
        _core.weights_save(path, {"w" * (length + 1): paddle.ones([1])}, None)
        with open(path, "rb") as f:
            seen.add(f.read(1))
        assert list(values_in_file(path)) == ["w" * (length + 1)]
    assert b"\x80" in seen


def test_without_passes_results_are_equal_bit_for_bit(linear):
    prefix, net = linear
    config = Config(prefix)
    config.switch_ir_optim(False)
    assert not config.ir_optim()
    x = np.random.rand(5, 40).astype("float32")
    assert (
        answer(create_predictor(config), x).tobytes() == net(paddle.to_tensor(x)).numpy().tobytes()
    )


def test_handles(linear):
    predictor = create_predictor(Config(linear[0]))
    x = predictor.get_input_handle("x")
    y = predictor.get_output_handle("output_0")
    assert x.shape() == [-1, 40] and y.shape() == [-1, 3] and x.lod() == []
    assert x.type() == inference.DataType.FLOAT32 and x.name() == "x"
    x.reshape([2, 40])
    assert x.shape() == [2, 40]
    data = np.ones((2, 40), "float32")
    x.share_external_data(data)
    predictor.run()
    first = y.copy_to_cpu()
    data[:] = 0  # read where it is
    predictor.run()
    assert y.shape() == [2, 3] and not np.array_equal(first, y.copy_to_cpu())
    x.share_external_data(paddle.ones([2, 40]))
    predictor.run()
    np.testing.assert_array_equal(first, y.copy_to_cpu())
    transposed = np.asfortranarray(np.random.rand(3, 40).astype("float32"))
    x.copy_from_cpu(transposed)
    predictor.run()
    np.testing.assert_array_equal(x.copy_to_cpu(), transposed)
    results = predictor.run([paddle.ones([2, 40])])
    np.testing.assert_array_equal(results[0].numpy(), first)


def test_arrays_of_any_strides_are_copied(linear):
    predictor = create_predictor(Config(linear[0]))
    x = np.random.rand(6, 40).astype("float32")
    wanted = answer(predictor, x)
    locked, wide = x.copy(), np.zeros([6, 80], "float32")
    locked.flags.writeable = False
    wide[:, ::2] = x
    for same in (np.asfortranarray(x), wide[:, ::2], locked, x[::-1][::-1]):
        np.testing.assert_array_equal(answer(predictor, same), wanted)
    assert answer(predictor, x[:0]).shape == (0, 3)
    for wrong in (x.astype("float64"), x.astype(">f4"), x.astype("int32")):
        with pytest.raises((TypeError, ValueError)):
            predictor.get_input_handle("x").copy_from_cpu(wrong)
    np.testing.assert_array_equal(answer(predictor, x), wanted)


def test_answers_stay_as_they_are(linear):
    predictor = create_predictor(Config(linear[0]))
    first, second = (np.full([2, 40], value, "float32") for value in (1, -3))
    answers = [answer(predictor, x) for x in (first, second, first)]
    np.testing.assert_array_equal(answers[0], answers[2])
    assert np.abs(answers[0] - answers[1]).max() > 0
    answers[0][:] = 5  # writable, and nobody else's
    np.testing.assert_array_equal(answer(predictor, first), answers[2])


def test_wrong_use_is_told(linear):
    predictor = create_predictor(Config(linear[0]))
    x, y = predictor.get_input_handle("x"), predictor.get_output_handle("output_0")
    with pytest.raises(ValueError, match="'x' has no value"):
        predictor.run()
    with pytest.raises(RuntimeError, match="'output_0' has no value"):
        y.copy_to_cpu()
    with pytest.raises(TypeError, match="expected a numpy.ndarray, got list"):
        x.copy_from_cpu([1.0])
    with pytest.raises(TypeError, match="expected float32, got float64"):
        x.copy_from_cpu(np.ones((2, 40)))
    with pytest.raises(ValueError, match=r"expected float32\[\?, 40\], got float32\[2, 41\]"):
        x.copy_from_cpu(np.ones((2, 41), "float32"))
    with pytest.raises(RuntimeError, match="'output_0' is an output"):
        y.copy_from_cpu(np.ones((2, 3), "float32"))
    with pytest.raises(ValueError, match="no input 'z'. Do this: use one of x"):
        predictor.get_input_handle("z")
    with pytest.raises(ValueError, match=r"\[set_lod\] 'x'"):
        x.set_lod([[0, 2]])
    with pytest.raises(TypeError, match="handles are not made by programs"):
        inference.Tensor()
    with pytest.raises(ValueError, match="expected 1 inputs, got 2"):
        predictor.run([paddle.ones([2, 40])] * 2)


def test_files_that_are_none_are_told(tmp_path):
    with pytest.raises(RuntimeError, match="there is no model at"):
        create_predictor(Config(str(tmp_path / "none")))
    (tmp_path / "text.pdmodel").write_text("no model at all")
    with pytest.raises(ValueError, match="in no format that is known here"):
        create_predictor(Config(str(tmp_path / "text.pdmodel")))
    with pytest.raises(ValueError, match="the Config has no model"):
        create_predictor(Config())
    with pytest.raises(TypeError, match="config: expected Config, got str"):
        create_predictor("model")


@pytest.mark.parametrize("cut", [9, 30, 200])
def test_damaged_files_are_told(linear, cut):
    prefix, _ = linear
    with open(prefix + ".argosy", "rb") as f:
        content = f.read()
    with open(prefix + ".argosy", "wb") as f:
        f.write(content[:-cut])
    with pytest.raises((ValueError, RuntimeError)):
        create_predictor(Config(prefix))


def test_clones_and_pools_run_on_threads(linear):
    prefix, net = linear
    pool = inference.PredictorPool(Config(prefix), 4)
    failures = []

    def work(i):
        predictor = pool.retrieve(i)
        for round in range(20):
            x = np.random.RandomState(i * 100 + round).rand(1 + round % 4, 40).astype("float32")
            wanted = net(paddle.to_tensor(x)).numpy()
            if not np.allclose(answer(predictor, x), wanted, 1e-4, 1e-5):
                failures.append((i, round))

    threads = [threading.Thread(target=work, args=[i]) for i in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not failures
    with pytest.raises(IndexError, match="expected 0 to 3, got 4"):
        pool.retrieve(4)
    with pytest.raises(ValueError, match="expected 1 or more, got 0"):
        inference.PredictorPool(Config(prefix), 0)
    clone = pool.retrieve(0).clone()
    assert clone.get_input_handle("x").shape() == [-1, 40]


def test_memory_can_be_given_back(linear):
    predictor = create_predictor(Config(linear[0]))
    x = np.ones((1000, 40), "float32")
    first = answer(predictor, x)
    predictor.clear_intermediate_tensor()
    with pytest.raises(RuntimeError, match="has no value"):
        predictor.get_output_handle("output_0").copy_to_cpu()
    assert predictor.try_shrink_memory() >= 0
    np.testing.assert_array_equal(answer(predictor, x), first)


def test_no_weight_of_a_small_model_is_in_the_allocator(tmp_path):
    nn, device = paddle.nn, paddle.device
    net = nn.Sequential(
        nn.Conv2D(3, 64, 3), nn.BatchNorm2D(64), nn.ReLU(), nn.Conv2D(64, 256, 3),
        nn.BatchNorm2D(256), nn.Conv2D(256, 512, 1), nn.Flatten(), nn.Linear(512 * 16, 100),
    )  # fmt: skip
    net.eval()
    x = np.random.RandomState(0).rand(1, 3, 8, 8).astype("float32")
    wanted = net(paddle.to_tensor(x)).numpy()
    spec = [static.InputSpec([None, 3, 8, 8], "float32", "x")]
    paddle.jit.save(net, str(tmp_path / "net"), input_spec=spec)
    create_predictor(Config(str(tmp_path / "net")))  # what stays for other reasons is there by now
    gc.collect()
    device.empty_cache("cpu")
    taken, held = device.memory_allocated("cpu"), device.memory_reserved("cpu")
    predictor = create_predictor(Config(str(tmp_path / "net")))
    assert device.memory_allocated("cpu") - taken < 256 * 4  # a bias; handles are there
    # Not a chunk is kept from the system by a bias that lies in it.
    assert device.memory_reserved("cpu") <= held
    np.testing.assert_allclose(answer(predictor, x), wanted, 1e-4, 1e-5)


def test_models_in_memory_are_not_written(tmp_path):
    net = paddle.nn.Sequential(paddle.nn.Conv2D(4, 32, 3), paddle.nn.BatchNorm2D(32))
    net.eval()
    net[1]._variance.set_value(np.full(32, 4.0, "float32"))
    spec = [static.InputSpec([None, 4, 9, 9], "float32", "x")]
    paddle.jit.save(net, str(tmp_path / "net"), input_spec=spec)
    parts = [(tmp_path / f"net.{kind}").read_bytes() for kind in ("argosy", "safetensors")]
    before = [bytes(bytearray(part)) for part in parts]
    x = np.random.RandomState(0).rand(2, 4, 9, 9).astype("float32")
    for _ in range(2):
        config = Config()
        config.set_model_buffer(parts[0], len(parts[0]), parts[1], len(parts[1]))
        got = answer(create_predictor(config), x)
        np.testing.assert_allclose(got, net(paddle.to_tensor(x)).numpy(), 1e-4, 1e-5)
    assert parts == before


def test_switches_work_or_raise_or_say_so():
    config = Config("a", "b")
    config.enable_memory_optim()
    config.enable_mkldnn()
    config.disable_gpu()
    config.switch_use_feed_fetch_ops(False)
    config.set_cpu_math_library_num_threads(2)
    assert config.cpu_math_library_num_threads() == 2 and not config.use_gpu()
    for name in (
        "exp_enable_use_cutlass",
        "enable_tensorrt_engine",
        "enable_xpu",
        "enable_cinn",
        "enable_onnxruntime",
    ):
        with pytest.raises(NotImplementedError, match=rf"\[Config.{name}\]"):
            getattr(config, name)()
    with pytest.raises(NotImplementedError, match="enable_mkldnn_bfloat16"):
        config.enable_mkldnn_bfloat16()
    with pytest.warns(UserWarning, match="disable_mkldnn.* has no effect"):
        config.disable_mkldnn()
    with pytest.raises(ValueError, match="expected 1 or more, got 0"):
        config.set_cpu_math_library_num_threads(0)
    config.disable_glog_info()
    assert config.glog_info_disabled() and "cpu_math_thread" in config.summary()
    assert "channels_last" in config.pass_builder().all_passes()
    config.pass_builder().delete_pass("channels_last")
    assert "channels_last" not in config.pass_builder().all_passes()
    copy = Config(config)
    copy.delete_pass("pack_products")
    assert "pack_products" in config.pass_builder().all_passes()


def test_fewer_kept_shapes(linear):
    prefix, net = linear
    config = Config(prefix)
    config.set_mkldnn_cache_capacity(1)
    predictor = create_predictor(config)
    for rows in (1, 2, 1, 3, 2):
        x = np.random.rand(rows, 40).astype("float32")
        np.testing.assert_allclose(
            answer(predictor, x), net(paddle.to_tensor(x)).numpy(), 1e-4, 1e-5
        )


def test_mixed_precision(saved_static):
    folder, x, wanted = saved_static
    inference.convert_to_mixed_precision(
        str(folder / "model.pdmodel"), str(folder / "model.pdiparams"),
        str(folder / "half.pdmodel"), str(folder / "half.pdiparams"),
        inference.PrecisionType.Bfloat16, inference.PlaceType.CPU,
    )  # fmt: skip
    before, after = ((folder / f"{name}.pdiparams").stat().st_size for name in ("model", "half"))
    assert after < 0.7 * before
    config = Config(str(folder / "half.pdmodel"), str(folder / "half.pdiparams"))
    got = answer(create_predictor(config), x)
    assert got.dtype == np.float32
    np.testing.assert_allclose(got, wanted, 0.05, 0.05)


def test_kinds_and_versions():
    assert inference.get_num_bytes_of_data_type(inference.DataType.FLOAT16) == 2
    assert inference.PrecisionType.Half.value == 2 and Config.Precision is inference.PrecisionType
    assert inference.get_trt_compile_version() == (0, 0, 0) == inference.get_trt_runtime_version()
    assert inference.get_version().startswith("version: ")
    assert inference._get_phi_kernel_name("relu") == "relu"


def test_threads_that_give_their_inputs_take_turns(linear):
    prefix, net = linear
    predictor = create_predictor(Config(prefix))
    wrong = []

    def ask(rows):
        x = np.full([rows, 40], rows, "float32")
        want = net(paddle.to_tensor(x)).numpy()
        for _ in range(200):
            got = predictor.run([x])[0].numpy()
            if got.shape != want.shape or not np.allclose(got, want, 1e-4, 1e-5):
                wrong.append(rows)

    threads = [threading.Thread(target=ask, args=(rows,)) for rows in range(1, 7)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
