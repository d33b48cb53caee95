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


MAKERS = {
    "ones": lambda **to: paddle.ones([2, 3], **to),
    "zeros": lambda **to: paddle.zeros([2, 3], **to),
    "full": lambda **to: paddle.full([2, 3], 4.0, **to),
    "empty": lambda **to: paddle.empty([2, 3], **to),
    "eye": lambda **to: paddle.eye(3, **to),
    "arange": lambda **to: paddle.arange(5, **to),
    "rand": lambda **to: paddle.rand([2, 3], **to),
    "randn": lambda **to: paddle.randn([2, 3], **to),
    "randperm": lambda **to: paddle.randperm(5, **to),
    "ones_like": lambda **to: paddle.ones_like(paddle.empty([2]), **to),
    "zeros_like": lambda **to: paddle.zeros_like(paddle.empty([2]), **to),
    "full_like": lambda **to: paddle.full_like(paddle.empty([2]), 3.0, **to),
    "empty_like": lambda **to: paddle.empty_like(paddle.empty([2]), **to),
    "new_ones": lambda **to: paddle.empty([2]).new_ones([3], **to),
    "new_full": lambda **to: paddle.empty([2]).new_full([3], 2.0, **to),
    "as_tensor": lambda **to: paddle.as_tensor([1.0, 2.0], **to),
    "tensor": lambda **to: paddle.tensor([1.0, 2.0], **to),
    "hann_window": lambda **to: paddle.hann_window(4, **to),
}


@pytest.mark.parametrize("name", MAKERS)
def test_what_is_made_for_a_device_may_be_pinned(name):
    paddle.seed(3)
    there = MAKERS[name]()
    paddle.seed(3)
    pinned = MAKERS[name](pin_memory=True)
    assert pinned.place.is_cuda_pinned_place() and str(there.place) == f"Place({FIRST})"
    assert pinned.shape == there.shape and pinned.dtype == there.dtype
    if "empty" not in name:
        assert pinned.tolist() == there.tolist()
    before = _core.host_waits()
    pinned.to(FIRST, blocking=False)
    assert _core.host_waits() == before


def test_pinned_with_the_other_keywords():
    leaf = paddle.ones([2], pin_memory=True, requires_grad=True, device=SECOND)
    assert leaf.place.is_cuda_pinned_place() and leaf.is_leaf and not leaf.stop_gradient
    assert paddle.ones([2], pin_memory=True, device=paddle.CUDAPinnedPlace()).tolist() == [1, 1]
    out = paddle.zeros([2], pin_memory=True)
    assert paddle.full([2], 5.0, out=out, pin_memory=True) is out and out.tolist() == [5, 5]
    with pytest.raises(RuntimeError, match=r"\[pin_memory\] out is on .*, not in pinned memory"):
        paddle.full([2], 5.0, out=paddle.zeros([2]), pin_memory=True)
    with pytest.raises(RuntimeError, match=r"not supported for Place\(cpu\): it is not on a dev"):
        paddle.ones([2], device="cpu", pin_memory=True)
