"""bfloat16 comes from NumPy, and goes to it, as its bits in uint16."""

import numpy as np
import pytest

import argosy as paddle
from argosy import static

BITS = np.array([16256, 16384], "uint16")  # 1.0 and 2.0


class _Rows(paddle.io.Dataset):
    def __len__(self):
        return 1

    def __getitem__(self, i):
        return BITS


def _set(x):
    x.set_value(BITS)
    return x


MAKERS = {
    "to_tensor": lambda: paddle.to_tensor(BITS),
    "with dtype": lambda: paddle.to_tensor(BITS, "bfloat16"),
    "number": lambda: paddle.stack([paddle.to_tensor(BITS[0]), paddle.to_tensor(BITS[1])]),
    "Tensor": lambda: paddle.Tensor(BITS),
    "from_numpy": lambda: paddle.from_numpy(BITS.copy()),
    "round trip": lambda: paddle.to_tensor(paddle.to_tensor([1.0, 2.0], "bfloat16").numpy()),
    "set_value": lambda: _set(paddle.zeros([2], "bfloat16")),
    "copy_": lambda: paddle.zeros([2], "bfloat16").copy_(BITS),
    "loader": lambda: next(iter(paddle.io.DataLoader(_Rows())))[0],
    "workers": lambda: next(iter(paddle.io.DataLoader(_Rows(), num_workers=1)))[0],
}


@pytest.mark.parametrize("how", MAKERS)
def test_uint16_arrays_are_bfloat16(how):
    x = MAKERS[how]()
    assert x.dtype == paddle.bfloat16 and x.tolist() == [1.0, 2.0]


def test_another_dtype_is_a_conversion():
    assert paddle.to_tensor(BITS, "float32").tolist() == [16256.0, 16384.0]
    assert paddle.to_tensor(BITS, "int32").tolist() == [16256, 16384]
    whole = paddle.to_tensor(BITS, paddle.uint16)
    assert whole.dtype == paddle.uint16 and whole.tolist() == [16256, 16384]
    np.testing.assert_array_equal(whole.numpy(), BITS)


def test_states():
    layer = paddle.nn.Linear(1, 2)
    layer.bfloat16()
    layer.set_state_dict({"weight": BITS.reshape(1, 2), "bias": BITS})
    assert layer.weight.tolist() == [[1.0, 2.0]] and layer.bias.tolist() == [1.0, 2.0]


@pytest.mark.parametrize("dtype", ["bfloat16", "uint16"])
def test_feeds_and_scopes(dtype):
    paddle.enable_static()
    try:
        main, startup = static.Program(), static.Program()
        with static.program_guard(main, startup):
            x = static.data("x", [2], dtype)
            w = static.create_parameter([2], "bfloat16", name="bits_of_a_state")
            exe = static.Executor()
            exe.run(startup)
            w.set_value(BITS)
            wide, kept = exe.run(main, {"x": BITS}, [x.astype("float32"), w.astype("float32")])
    finally:
        paddle.disable_static()
    assert wide.tolist() == ([1.0, 2.0] if dtype == "bfloat16" else [16256.0, 16384.0])
    assert kept.tolist() == [1.0, 2.0]


def test_tensors_of_uint16_stay_so_between_processes():
    class Whole(paddle.io.Dataset):
        def __len__(self):
            return 1

        def __getitem__(self, i):
            return paddle.to_tensor([7, 9], paddle.uint16)

    loader = paddle.io.DataLoader(Whole(), num_workers=1, collate_fn=lambda items: items)
    x = next(iter(loader))[0]
    assert x.dtype == paddle.uint16 and x.tolist() == [7, 9]


def test_set_value_takes_one_shape_and_dtype():
    x = paddle.zeros([2])
    for value in (
        np.ones([2]), np.ones([2], "int64"), paddle.ones([2], "float64"), BITS, np.float64(1),
    ):  # fmt: skip
        with pytest.raises(AssertionError, match=r"\[set_value\].*expected (float32|\[2\]), got"):
            x.set_value(value)
    with pytest.raises(AssertionError, match=r"expected \[2\], got \[3\]"):
        x.set_value(np.ones([3], "float32"))
    x.set_value([1, 2])  # numbers in lists have no dtype
    assert x.tolist() == [1.0, 2.0]
    with pytest.raises(AssertionError, match="expected bfloat16, got float32"):
        paddle.zeros([2], "bfloat16").set_value(np.ones([2], "float32"))
    assert x.copy_(paddle.full([2], 3, "int64")).tolist() == [3.0, 3.0]
