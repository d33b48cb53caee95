"""Devices, generators and windows under other names; names of CUDA in a build without it say so."""

import pathlib

import numpy as np
import pytest
import scipy.signal

import argosy as paddle


@pytest.mark.skipif(paddle.is_compiled_with_cuda(), reason="this build has CUDA")
@pytest.mark.parametrize("name", ["Stream", "Event", "current_stream", "synchronize"])
def test_what_needs_cuda_says_so(name):
    with pytest.raises(ValueError, match=rf"\[device.cuda.{name}\] .*no CUDA support. Do this"):
        getattr(paddle.device.cuda, name)()


def test_a_guard_without_a_stream_changes_nothing():
    with paddle.device.cuda.stream_guard(None):
        assert paddle.ones([2]).sum().item() == 2


def test_random_state_of_the_device():
    device = paddle.device

    device.manual_seed(7)
    state = device.get_rng_state()
    drawn = paddle.rand([3]).tolist()
    device.set_rng_state(state)
    assert paddle.rand([3]).tolist() == drawn and not device.is_compiled_with_ipu()


def test_queries_answer_without_a_gpu():
    assert paddle.cuda.is_available() is (paddle.cuda.device_count() > 0)
    assert paddle.get_device(paddle.ones([1])) == -1 and paddle.get_default_device() == "cpu"
    assert paddle.device.get_device_module() is paddle.device
    assert paddle.device.get_device_module("gpu") is paddle.cuda
    assert not paddle.device.is_current_stream_capturing()
    assert paddle.cuda.FloatTensor(2, 3).shape == [2, 3]
    with paddle.device.device_guard("null"):
        assert paddle.get_device() == "null:0"
    assert paddle.get_device() == "cpu"
    assert paddle.device.device_guard("null")(paddle.get_device)() == "null:0"


@pytest.mark.skipif(paddle.is_compiled_with_cuda(), reason="this build has CUDA")
@pytest.mark.parametrize(
    "name", ["current_stream", "mem_get_info", "get_device_name", "ipc_collect"]
)
def test_the_other_module_says_so_too(name):
    for error in (ValueError, TypeError):
        with pytest.raises(error, match="no CUDA support. Do this"):
            getattr(paddle.cuda, name)()


def test_the_generator():
    generator = paddle.Generator("cpu").manual_seed(11)
    assert generator.initial_seed() == paddle.random.initial_seed() == 11
    state, first = generator.get_state(), generator.random()
    assert 0 <= first < 1 << 62
    generator.set_state(state)
    assert paddle.base.core.default_cpu_generator().random() == first
    assert generator.seed() == generator.initial_seed() != 11


def test_folders_of_the_package():
    include = pathlib.Path(paddle.sysconfig.get_include())
    assert (include / "argosy" / "tensor" / "tensor.h").is_file()
    assert list(pathlib.Path(paddle.sysconfig.get_lib()).glob("libargosy*"))


def test_a_file_as_memory(tmp_path):
    path = tmp_path / "numbers"
    np.arange(20, dtype="float32").tofile(path)
    storage = paddle.MmapStorage(str(path), 80)
    assert storage.get_slice("float32", 5, 9, 2).tolist() == [5, 7]
    assert storage.get_slice("float32").shape == [20]
    half = paddle.arange(4, dtype="float32").astype("bfloat16")
    half.view("uint16").numpy().tofile(path)
    assert paddle.MmapStorage(str(path), 8).get_slice("bfloat16", 1, 3).tolist() == [1, 2]
    with pytest.raises(ValueError, match="nbytes: expected 1 to 8"):
        paddle.MmapStorage(str(path), 9)
    with pytest.raises(IndexError, match="stop <= 2"):
        paddle.MmapStorage(str(path), 8).get_slice("float32", 0, 3)


@pytest.mark.parametrize("name", ["hann", "hamming", "blackman", "bartlett", "kaiser"])
@pytest.mark.parametrize("length", [0, 1, 2, 7, 8])
def test_windows(name, length):
    make = getattr(paddle, f"{name}_window")
    kind = ("kaiser", 12.0) if name == "kaiser" else name
    for periodic in (True, False):
        want = scipy.signal.get_window(kind, length, periodic) if length else []
        found = make(length, periodic, dtype="float64")
        np.testing.assert_allclose(found.numpy(), want, atol=1e-12)
    assert make(length).dtype == paddle.float32
    with pytest.raises(ValueError, match="must not be negative"):
        make(-1)


def test_check_shape_while_a_program_is_built():
    paddle.check_shape("anything", "op")
    paddle.enable_static()
    try:
        paddle.check_shape([2, -1], "op")
        for wrong in ("a", 3, [1.5]):
            with pytest.raises(TypeError, match=r"\[op\] shape: expected"):
                paddle.check_shape(wrong, "op")
    finally:
        paddle.disable_static()
