"""Memory of a GPU is shared with other frameworks by DLPack; run with --device gpu where torch is installed."""

import gc

import numpy as np
import pytest

import argosy as paddle

try:
    import torch
except ImportError:
    torch = None

pytestmark = pytest.mark.skipif(
    torch is None or not paddle.is_compiled_with_cuda() or not torch.cuda.is_available(),
    reason="needs a GPU and torch",
)


@pytest.fixture(autouse=True)
def on_gpu():
    paddle.device.set_device("gpu:0")
    yield
    paddle.device.set_device("cpu")


def test_what_is_exported_is_the_same_memory():
    x = paddle.arange(6, dtype="float32").reshape([2, 3]) * 2
    assert x.__dlpack_device__() == (2, 0)
    theirs = torch.from_dlpack(x)
    assert theirs.device.type == "cuda" and theirs.data_ptr() == x.data_ptr()
    theirs += 1
    torch.cuda.synchronize()
    np.testing.assert_array_equal(x.numpy(), np.arange(6, dtype="float32").reshape(2, 3) * 2 + 1)


def test_what_is_imported_is_the_same_memory():
    theirs = torch.arange(12, dtype=torch.float32, device="cuda").reshape(3, 4).t() * 3
    x = paddle.utils.dlpack.from_dlpack(theirs)
    assert str(x.place) == "Place(gpu:0)" and x.data_ptr() == theirs.data_ptr()
    np.testing.assert_array_equal((x + 1).numpy(), theirs.cpu().numpy() + 1)
    theirs.zero_()
    torch.cuda.synchronize()
    assert float(x.abs().sum()) == 0


def test_memory_is_not_used_again_while_the_other_side_works():
    """Each lets go of the other's tensor at once; what was enqueued before must still see it."""
    for i in range(20):
        x = paddle.full([1 << 20], float(i))
        y = paddle.utils.dlpack.from_dlpack(torch.from_dlpack(x).clone()) * 2
        del x
        gc.collect()
        noise = paddle.full([1 << 20], -1.0)
        assert float(y.min()) == float(y.max()) == 2.0 * i
        del noise


@pytest.mark.parametrize("dtype", ["bfloat16", "float16", "int64", "bool", "complex64"])
def test_dtypes(dtype):
    x = paddle.ones([5]).astype(dtype)
    assert str(torch.from_dlpack(x).dtype) == f"torch.{dtype}"
    assert paddle.utils.dlpack.from_dlpack(torch.from_dlpack(x)).dtype == x.dtype
