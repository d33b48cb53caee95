import pytest

import argosy as paddle
from argosy import _core


@pytest.fixture
def streamed():
    """The streamed test device, current in the test: late by up to 0.3 ms, and well again after it."""
    _core.start_streamed(2, 300)
    before = paddle.device.set_device("streamed:0")
    yield before
    paddle.device.set_device("cpu")
    _core.forget_failures()
