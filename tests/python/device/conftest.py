import pytest
from tests.python.device.where import FIRST, STREAMED

import argosy as paddle
from argosy import _core


@pytest.fixture
def streamed():
    """The device of these tests, current in the test. The streamed test device is late by up to 0.3 ms, and
    well again after it."""
    if STREAMED:
        _core.start_streamed(2, 300)
    before = paddle.device.set_device(FIRST)
    yield before
    paddle.device.set_device("cpu")
    if STREAMED:
        _core.forget_failures()
