"""The device that these tests are about: the streamed test device, or with `--device gpu` the first GPU."""

import os

import numpy as np
import pytest

import argosy as paddle

NAME = os.environ.get("ARGOSY_TEST_DEVICE", "streamed")
STREAMED = NAME == "streamed"
FIRST = f"{NAME}:0"
SECOND = "streamed:1" if STREAMED else FIRST  # a machine may have one GPU only

strict = pytest.mark.skipif(not STREAMED, reason="is about what only the test device refuses")
two_devices = pytest.mark.skipif(not STREAMED, reason="needs two devices")


def drawn(make):
    """The layer that `make` gives, with the numbers that the CPU draws: a GPU draws others."""
    here = paddle.device.get_device()
    with paddle.device_guard("cpu"):
        layer = make()
    return layer.to(here)


def assert_as_on_the_cpu(got, want):
    """The test device runs the CPU's kernels, so its bits are theirs; a GPU sums in another order."""
    if STREAMED or got.dtype.kind not in "fc":
        np.testing.assert_array_equal(got, want)
    else:
        np.testing.assert_allclose(got, want, rtol=1e-3, atol=1e-4)
