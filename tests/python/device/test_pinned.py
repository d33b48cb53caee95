"""Pinned memory: copies that nobody waits for, and the mistakes that can be made with them."""

import gc

import numpy as np
import pytest
from tests.python.device.where import FIRST, SECOND, strict

import argosy as paddle
from argosy import _core

pytestmark = [pytest.mark.adds_device(unless="gpu"), pytest.mark.usefixtures("streamed")]


def test_a_place_of_its_own():
    x = paddle.to_tensor([1.0, 2.0], place="cpu")
    pinned = x.pin_memory()
    assert pinned.place == paddle.CUDAPinnedPlace() and pinned.place.is_cuda_pinned_place()
    assert pinned.place != x.place and repr(pinned.place) == "Place(gpu_pinned)"
    assert pinned.pin_memory() is pinned
    assert pinned.tolist() == [1, 2] and str(pinned.cpu().place) == "Place(cpu)"
    assert str((pinned + x).place) == "Place(cpu)"
    assert paddle.to_tensor([3.0], place=paddle.CUDAPinnedPlace()).place == pinned.place
    assert pinned.stop_gradient and not pinned[0].place.is_cpu_place()  # a view is there too
    with pytest.raises(ValueError, match="nothing is computed in pinned memory"):
        paddle.device.set_device(paddle.CUDAPinnedPlace())


@pytest.mark.parametrize("shape", [[3, 4], [], [0, 2]])
@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "int64", "bool"])
def test_there_and_back(shape, dtype):
    x = paddle.to_tensor(np.random.RandomState(0).uniform(-3, 3, shape), dtype, place="cpu")
    there = x.pin_memory().to(FIRST, blocking=False)
    back = there.pin_memory(blocking=False)
    paddle.device.synchronize()
    assert str(there.place) == f"Place({FIRST})" and back.place.is_cuda_pinned_place()
    assert back.tolist() == x.tolist() and back.dtype == x.dtype
    assert there.to(SECOND, blocking=False).tolist() == x.tolist()


def test_copies_do_not_wait():
    pinned = paddle.ones([1000], device="cpu").pin_memory()
    before = _core.host_waits()
    there = pinned.to(FIRST, non_blocking=True)
    back = (there + 1).pin_memory(blocking=False)
    assert _core.host_waits() == before
    paddle.device.current_stream().synchronize()
    assert back.tolist() == [2] * 1000
    assert (there + 1).pin_memory().tolist() == [2] * 1000  # waits by itself


def test_it_lives_until_its_copies_are_done():
    sums = []
    for i in range(20):
        pinned = paddle.full([500], float(i)).cpu().pin_memory()
        sums.append(pinned.to(FIRST, blocking=False).sum())
        del pinned
        gc.collect(0)
    assert [s.item() for s in sums] == [500.0 * i for i in range(20)]


@strict
def test_writing_before_the_copy_is_done_is_found():
    _core.start_streamed(2, 300)
    pinned = paddle.zeros([100_000], device="cpu").pin_memory()
    x = paddle.ones([200, 200])
    for _ in range(20):
        x = x @ x / 200  # so that the copy has not begun
    there = pinned.to(FIRST, blocking=False)
    pinned.fill_(7)
    with pytest.raises(
        _core.DeviceError,
        match=r"\[copy from pinned memory\] failed on streamed:0.*wrote to pinned",
    ):
        there.numpy()


def test_without_a_device_nothing_is_pinned():
    with pytest.raises(TypeError, match="blocking: expected True, False or None"):
        paddle.ones([1]).pin_memory(blocking=1)
