"""Devices: what the core has is what Python says, and what it has not is refused."""

import copy
import pickle
import threading

import pytest

import argosy as paddle
from argosy import _core
from argosy.device import place as places

pytestmark = pytest.mark.cpu_only("is about what stands beside the CPU")

device = paddle.device
no_gpu = pytest.mark.skipif(device.is_available(), reason="there is a GPU")
no_cuda = pytest.mark.skipif(paddle.is_compiled_with_cuda(), reason="this build has CUDA")


class TwoGpus:
    """A core with two GPUs, which start when they are asked for."""

    DeviceError = places._core.DeviceError
    reason = None  # why they do not start

    def __init__(self, others=()):
        self.started, self.others = 0, list(others)

    def devices(self):
        return [("gpu", 2)] if self.started else self.others

    def has_cuda(self):
        return True

    def cuda_count(self):
        return 2

    def start_cuda(self):
        if self.reason:
            raise self.DeviceError(self.reason)
        self.started += 1

    def device_properties(self, place):
        return {
            "name": f"G{place._index}", "major": "9", "minor": str(place._index),
            "total_memory": str(3 << 20), "free_memory": str(1 << 20), "multi_processor_count": "4",
        }  # fmt: skip

    def memory_stats(self, place):
        assert self.started == 1
        return {"allocated": 8 + place._index, "peak": 9, "reserved": 10, "peak_reserved": 11}


@pytest.fixture
def core_of(monkeypatch):
    def use(core):
        for module in (places, device.cuda):
            monkeypatch.setattr(module, "_core", core)
        monkeypatch.setattr(device._core, "has_cuda", core.has_cuda)
        return core

    return use


def test_counts_and_names_are_the_cores(core_of):
    core = core_of(TwoGpus())
    assert paddle.is_compiled_with_cuda() and device.is_available() and paddle.cuda.is_available()
    assert device.device_count() == device.cuda.device_count() == paddle.cuda.device_count() == 2
    assert paddle.base.core.get_cuda_device_count() == 2
    assert device.get_all_device_type() == ["cpu", "gpu"]
    assert device.get_available_device() == ["cpu", "gpu:0", "gpu:1"]
    assert [p._index for p in paddle.static.cuda_places()] == [0, 1]
    device.cuda.empty_cache()
    assert not core.started  # asking how many there are starts none
    assert device.cuda.memory_allocated() == 8 and device.cuda.memory_allocated(1) == 9
    assert device.cuda.max_memory_reserved("gpu:1") == 11
    with pytest.raises(ValueError, match=r"there is no Place\(gpu:2\).*device_count"):
        device.cuda.memory_reserved(2)
    with pytest.raises(ValueError, match=r"\[set_device\] there is no Place\(gpu:7\)"):
        paddle.set_device("gpu:7")
    assert core.started == 1


def test_properties_of_a_gpu(core_of):
    core_of(TwoGpus())
    found = device.get_device_properties(1)
    assert (found.name, found.major, found.total_memory) == ("G1", 9, 3 << 20)
    assert repr(found) == (
        "_gpuDeviceProperties(name='G1', major=9, minor=1, total_memory=3MB,"
        " multi_processor_count=4)"
    )
    assert found == device.cuda.get_device_properties("gpu:1") != device.get_device_properties()
    assert device.get_device_name() == "G0" and device.get_device_capability("gpu:1") == (9, 1)
    assert paddle.cuda.mem_get_info() == (1 << 20, 3 << 20)
    assert device.is_bf16_supported(False) and not device.cuda.ipc_collect()


class Library:
    """CUDA's runtime, as far as it tells what it was given."""

    def __init__(self):
        def name(function):
            def call(*args):
                self.calls.append((function, *(a.value for a in args)))
                return 2 if function == "cudaStreamDestroy" else 0

            return call

        def text(code):
            return b"out of memory" if code.value == 2 else b"another"

        self.calls = []
        self.cudaGetErrorString = text
        for function in (
            "cudaProfilerStart cudaProfilerStop cudaHostRegister cudaHostUnregister"
            " cudaStreamCreate cudaStreamDestroy"
        ).split():
            setattr(self, function, name(function))


def test_the_runtime_of_cuda(core_of, monkeypatch):
    from argosy.device import _cudart

    core_of(TwoGpus())
    library = Library()
    monkeypatch.setattr(_cudart, "runtime", lambda: _cudart.Runtime(library))
    cudart = paddle.cuda.cudart()
    assert cudart.cudaProfilerStart() is cudart.cudaError.success
    cudart.cudaProfilerStop()
    cudart.cudaHostRegister(4096, 1 << 33, 1)
    cudart.cudaHostUnregister(1 << 40)
    cudart.cudaStreamCreate(64)
    assert cudart.cudaStreamDestroy(1 << 40) is cudart.cudaError.memoryAllocation
    assert library.calls[2:] == [
        ("cudaHostRegister", 4096, 1 << 33, 1), ("cudaHostUnregister", 1 << 40),
        ("cudaStreamCreate", 64), ("cudaStreamDestroy", 1 << 40),
    ]  # fmt: skip
    assert cudart.cudaMemGetInfo(0) == (1 << 20, 3 << 20)
    assert paddle.cuda.check_error(0) is None
    with pytest.raises(device.cuda.CudaError, match=r"^out of memory \(2\)$"):
        paddle.cuda.check_error(cudart.cudaError.memoryAllocation)


def test_a_stream_of_another_library(core_of):
    core = core_of(TwoGpus())
    core.adopt_stream = lambda place, address: place._index + address
    stream = device.get_stream_from_external(40, "gpu:1")
    assert stream._number == 41 and stream.device == device.CUDAPlace(1)
    with pytest.raises(TypeError, match=r"data_ptr.*pass a cudaStream_t as int"):
        device.get_stream_from_external("40")


@pytest.mark.skipif(device.is_available(), reason="is about a process without GPUs")
def test_streams_of_the_cpu_have_no_handles():
    with pytest.raises(NotImplementedError, match="have no handles of their own. Do this: use a"):
        _core.stream_handle(device.CPUPlace(), 0)


def test_the_gpu_of_this_process(core_of, monkeypatch):
    core_of(TwoGpus())
    monkeypatch.setenv("FLAGS_selected_gpus", "7,2")
    assert paddle.distributed.ParallelEnv().device_id == 7
    with pytest.raises(ValueError, match=r"\[set_device\] there is no Place\(gpu:7\)"):
        paddle.set_device("gpu")
    monkeypatch.setenv("FLAGS_selected_gpus", "first")
    with pytest.raises(ValueError, match="expected numbers of GPUs, got 'first'"):
        paddle.set_device("gpu")


def test_flags_between_one_way_say_so(monkeypatch):
    class Core:
        def set_flag(self, name, value):
            pass

    monkeypatch.setattr(paddle._framework, "_core", Core())
    for name in (
        "FLAGS_cudnn_batchnorm_spatial_persistent",
        "FLAGS_gemm_use_half_precision_compute_type",
    ):
        paddle.set_flags({name: False})
        with pytest.warns(UserWarning, match=f"{name} has no effect: "):
            paddle.set_flags({name: True})


@pytest.mark.parametrize(
    "others, has_cuda, reason",
    [
        ([], False, "this build of Argosy has no CUDA support. Do this: use 'cpu'"),
        ([("npu", 1)], True, "this process works with 'npu'. Do this: use GPUs in a"),
    ],
)
def test_why_a_gpu_cannot_be_used(core_of, others, has_cuda, reason):
    core = core_of(TwoGpus(others))
    core.has_cuda = lambda: has_cuda
    core.cuda_count = lambda: 2 * has_cuda
    with pytest.raises(ValueError, match=rf"\[set_device\] there is no Place\(gpu:1\): {reason}"):
        paddle.set_device("gpu:1")
    with pytest.raises(
        device.cuda.NoCudaError, match=rf"\[device.cuda.get_device_name\].*{reason}"
    ):
        device.get_device_name()


@pytest.mark.parametrize("count", [0, 2])
def test_what_the_core_says_of_gpus_that_do_not_start(core_of, count):
    core = core_of(TwoGpus())
    core.reason, core.cuda_count = "the driver is too old.", lambda: count
    with pytest.raises(ValueError, match=r"the driver is too old. Do this: use 'cpu'."):
        paddle.set_device("gpu")
    core.reason = "there is no driver. Do this: install it."
    with pytest.raises(ValueError, match=r"no driver. Do this: install it.$"):
        device.cuda.get_device_name()
    assert paddle.get_device() == "cpu" and not core.started


@no_gpu
def test_without_a_gpu():
    assert device.device_count() == 0 and not device.is_available()
    assert device.get_available_device() == ["cpu"]
    device.cuda.empty_cache()


@no_cuda
@pytest.mark.parametrize(
    "call",
    [
        lambda x: x.to("gpu:0"),
        lambda x: x.to("cuda"),
        lambda x: x.to(paddle.CUDAPlace(1), "float64"),
        lambda x: x.to(device=0),
        lambda x: x.cuda(),
        lambda x: x.cuda(3),
        lambda x: x.pin_memory(device_id=0),
        lambda x: paddle.ones([2], device="gpu"),
        lambda x: paddle.to_tensor([1.0], place=paddle.CUDAPlace(0)),
        lambda x: paddle.nn.Linear(2, 2).to("gpu:0"),
        lambda x: paddle.set_device("gpu"),
        lambda x: device.device_guard("gpu").__enter__(),
        lambda x: device.synchronize("gpu:0"),
        lambda x: paddle.static.Executor(paddle.CUDAPlace(0)),
        lambda x: paddle.static.Executor("gpu:1"),
        lambda x: device.cuda.memory_allocated(),
        lambda x: device.cuda.reset_peak_memory_stats(),
    ],
)
def test_a_gpu_that_is_not_there_is_refused(call):
    with pytest.raises(ValueError, match="no CUDA support.*Do this"):
        call(paddle.ones([2]))
    assert paddle.get_device() == "cpu"


@no_gpu
@pytest.mark.parametrize("name", ["memory_allocated", "memory_dump", "reset_peak_memory_stats"])
def test_figures_of_a_gpu_that_is_not_there(name):
    for which in ("gpu:0", 0, paddle.CUDAPlace(0)):
        with pytest.raises(paddle.DeviceError, match="no CUDA, so there is no place gpu:0"):
            getattr(device, name)(which)


def test_unknown_names():
    x = paddle.ones([2])
    for call in (lambda: paddle.set_device("tpu"), lambda: x.to("xpu"), lambda: x.to("gpu:one")):
        with pytest.raises(ValueError, match="unknown device .* Do this"):
            call()
    with pytest.raises(ValueError, match=r"there is no Place\(null:99\)"):
        paddle.set_device("null:99")


def test_each_thread_has_its_own_current_device():
    """As ops have it: get_device says where they put their results."""
    seen = {}

    def other():
        seen["before"] = paddle.get_device(), str(paddle.zeros([1]).place)
        paddle.set_device("null:1")
        seen["after"] = paddle.get_device(), str(paddle.zeros([1]).place)

    with device.device_guard("null"):
        thread = threading.Thread(target=other)
        thread.start()
        thread.join()
        assert paddle.get_device() == "null:0" and str(paddle.zeros([1]).place) == "Place(null:0)"
        assert device.current_device() == 0
    assert seen == {"before": ("cpu", "Place(cpu)"), "after": ("null:1", "Place(null:1)")}


def test_to_the_null_device_keeps_the_form():
    x = paddle.ones([2, 3])
    x.stop_gradient = False
    moved = x.to("null")
    assert moved.place == device.NullPlace() and moved.shape == [2, 3] and not moved.stop_gradient
    assert moved.to("null") is moved and x.to("cpu") is x and x.cpu() is x
    assert paddle.ones([4], device="null").place == device.NullPlace()
    layer = paddle.nn.Linear(3, 4).to("null")
    assert layer(moved).shape == [2, 4] and layer.weight.place == device.NullPlace()
    with pytest.raises(ValueError, match=r"\[cpu\] a tensor of the null device has no elements"):
        moved.cpu()
    with pytest.raises(ValueError, match="with a history"):
        (x * 2).to("null")


def test_arguments_of_to():
    x = paddle.ones([2])
    assert x.to("cpu", "float64", False).dtype == paddle.float64
    assert x.to(other=paddle.ones([1], "int32")).dtype == paddle.int32
    assert x.to("cpu", non_blocking=True) is x
    copied = x.to("cpu", copy=True)
    assert copied is not x and copied.tolist() == x.tolist()
    for call in (
        lambda: x.to("cpu", blocking="no"),
        lambda: x.to("cpu", non_blocking=1),
        lambda: x.pin_memory(blocking="no"),
        lambda: x._copy_to("cpu", blocking=2),
    ):
        with pytest.raises(TypeError, match="blocking: expected True, False or None.*Do this"):
            call()
    with pytest.raises(TypeError, match="unexpected keyword argument 'devise'"):
        x.to(devise="cpu")


def test_there_is_one_generator():
    state = device.get_rng_state("gpu:0")
    first = paddle.rand([3]).tolist()
    device.set_rng_state(state, "gpu")
    assert paddle.rand([3]).tolist() == first


def test_places_that_no_build_has_are_classes():
    for make in (
        lambda: paddle.XPUPlace(0), paddle.IPUPlace, lambda: paddle.CustomPlace("npu", 0)
    ):  # fmt: skip
        with pytest.raises(ValueError, match="is not compiled with"):
            make()
    of_devices = (paddle.XPUPlace, paddle.IPUPlace, paddle.CustomPlace)
    assert not isinstance(paddle.ones([1]).place, of_devices)
    assert isinstance(paddle.ones([1]).place, paddle.base.core.Place)


@pytest.mark.parametrize(
    "arguments, name, kind, index",
    [
        (("cpu",), "cpu", "cpu", None),
        (("cpu:0",), "cpu", "cpu", 0),
        (("gpu",), "gpu:0", "gpu", 0),
        (("gpu", 1), "gpu:1", "gpu", 1),
        (("gpu:2",), "gpu:2", "gpu", 2),
        ((3,), "cuda:3", "cuda", 3),
    ],
)
def test_a_device_by_name(arguments, name, kind, index):
    named = paddle.device(*arguments)
    assert isinstance(named, paddle.device.Device) and isinstance(named, str)
    assert (named, named.type, named.index) == (name, kind, index)
    assert copy.deepcopy(named) == named and pickle.loads(pickle.dumps(named)).type == kind


def test_a_device_is_where_tensors_are_and_where_new_ones_go():
    x = paddle.ones([2])
    assert x.device == "cpu" and x.to(x.device).place == x.place
    assert paddle.to_tensor([1], place=paddle.device("cpu")).device == paddle.device(
        paddle.CPUPlace()
    )
    null = paddle.device("null")
    with null, null:
        assert paddle.ones([2]).device == "null:0"
    assert paddle.ones([2]).device.type == "cpu"


@pytest.mark.parametrize(
    "arguments, kind, text",
    [
        (("nope",), ValueError, "unknown device 'nope'"),
        (("gpu:0", 1), ValueError, "the number is given twice"),
        ((None,), TypeError, "type: expected a name, a number or a place, got None"),
        ((), TypeError, "got None"),
    ],
)
def test_what_is_no_device(arguments, kind, text):
    with pytest.raises(kind, match=text):
        paddle.device(*arguments)
