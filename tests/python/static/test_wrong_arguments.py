"""Functions of static.nn that are given something that they cannot take: by name, and as Paddle's types."""

import numpy as np
import pytest

import argosy
from argosy import static

NN = static.nn
NOT_TENSORS = (None, 3, "a", 2.5, {}, np.ones([2, 3], "float32"))


@pytest.fixture(autouse=True)
def program():
    argosy.enable_static()
    with static.program_guard(static.Program(), static.Program()):
        yield
    argosy.disable_static()


def data(*shape, dtype="float32"):
    return static.data(f"x{len(shape)}_{dtype}_{shape}", list(shape), dtype)


FUNCTIONS = {
    "conv2d": lambda x: NN.conv2d(x, 3, 3),
    "conv3d": lambda x: NN.conv3d(x, 3, 3),
    "conv2d_transpose": lambda x: NN.conv2d_transpose(x, 3, filter_size=3),
    "batch_norm": lambda x: NN.batch_norm(x),
    "layer_norm": lambda x: NN.layer_norm(x),
    "instance_norm": lambda x: NN.instance_norm(x),
    "group_norm": lambda x: NN.group_norm(x, 2),
    "spectral_norm": lambda x: NN.spectral_norm(x),
    "prelu": lambda x: NN.prelu(x, "channel"),
    "embedding": lambda x: NN.embedding(x, [10, 4]),
    "bilinear_tensor_product": lambda x: NN.bilinear_tensor_product(x, x, 3),
    "row_conv": lambda x: NN.row_conv(x, 2),
    "nce": lambda x: NN.nce(x, x, 5),
    "fc": lambda x: NN.fc(x if x is None or isinstance(x, (dict, str)) else [x], 3),
    "sequence_pool": lambda x: NN.sequence_pool(x, "sum"),
    "static_pylayer": lambda x: NN.static_pylayer(lambda v: v, [x]),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_what_is_no_tensor(name):
    for value in NOT_TENSORS:
        if name == "fc" and isinstance(value, (dict, type(None))):
            continue  # an empty list of inputs
        with pytest.raises(TypeError, match=rf"\[{name}\].* got (\w|\.)+"):
            FUNCTIONS[name](value)


@pytest.mark.parametrize(
    "call, error, says",
    [
        (lambda: NN.conv2d(data(2), 3, 3), ValueError, r"input: expected 4 dimensions, got \[2\]"),
        (lambda: NN.group_norm(data(2), 2), ValueError, "expected 2 or 3 or 4 or 5 dimensions"),
        (
            lambda: NN.layer_norm(data(2, 3, dtype="int64")),
            TypeError,
            "floating point numbers, got int64",
        ),
        (
            lambda: NN.embedding(data(2, 3), [9, 4]),
            TypeError,
            "input: expected integers, got float32",
        ),
        (lambda: NN.fc(data(2, 3), 2.5), TypeError, "size: expected an int, got float"),
        (
            lambda: NN.conv2d(data(1, 2, 5, 5), 2.5, 3),
            TypeError,
            "num_filters: expected an int, got float",
        ),
        (
            lambda: NN.conv2d(data(1, 2, 5, 5), 3, 3, data_format=3),
            TypeError,
            "data_format: expected text",
        ),
        (
            lambda: NN.row_conv(data(2, 3, 4), -1),
            ValueError,
            "future_context_size: expected 0 or more",
        ),
        (lambda: NN.spectral_norm(data(3, 4), 3), ValueError, "expected a dim of"),
        (lambda: NN.cond(data(1), lambda: 1, lambda: 2), TypeError, "pred: expected a bool tensor"),
    ],
)
def test_what_a_function_cannot_take(call, error, says):
    with pytest.raises(error, match=says):
        call()
