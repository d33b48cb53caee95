"""Memory of a device that other frameworks cannot read is refused by name, or copied."""

import numpy as np
import pytest
from tests.python.device.where import FIRST, SECOND, strict

import argosy as paddle

pytestmark = [pytest.mark.adds_device(unless="gpu"), pytest.mark.usefixtures("streamed")]


@strict
def test_memory_of_a_device_is_not_shared():
    x = paddle.to_tensor([1.0, 2.0])
    assert x.__dlpack_device__() == (12, 0)
    with pytest.raises(
        BufferError, match=r"memory of Place\(streamed:0\) cannot be shared.*\.cpu\(\)"
    ):
        x.__dlpack__()
    with pytest.raises(BufferError, match="cannot be shared"):
        x.__dlpack__(dl_device=(1, 0), copy=False)
    with pytest.raises(BufferError, match="expected the CPU and no stream"):
        x.__dlpack__(stream=3)
    with pytest.raises((BufferError, ValueError, RuntimeError)):
        np.from_dlpack(x)


def test_a_copy_for_the_cpu():
    x = paddle.to_tensor([1.0, 2.0]) * 3
    copied = paddle.utils.dlpack.from_dlpack(x.__dlpack__(dl_device=(1, 0)))
    assert str(copied.place) == "Place(cpu)" and copied.tolist() == [3, 6]
    assert np.from_dlpack(x.cpu()).tolist() == [3, 6]
    assert np.from_dlpack(x.pin_memory()).tolist() == [3, 6]


def test_to_a_device():
    array = np.arange(3, dtype="float32")
    there = paddle.utils.dlpack.from_dlpack(array, device=SECOND)
    array[0] = 9
    assert str(there.place) == f"Place({SECOND})" and there.tolist() == [0, 1, 2]
    shared = paddle.utils.dlpack.from_dlpack(array)
    assert str(shared.place) == "Place(cpu)" and shared.tolist() == [9, 1, 2]
    with pytest.raises(BufferError, match=f"device: expected the CPU, got '{FIRST}'"):
        paddle.utils.dlpack.from_dlpack(array, device=FIRST, copy=False)
