"""relu_gradients: the gradient of relu from what is kept anyway; the memory that this saves."""

import numpy as np
import pytest
from tests.python.passes.helpers import Recorded, body, ops

import argosy
from argosy import _core, nn
from argosy.nn import functional as F

X = np.random.default_rng(0).standard_normal((12, 20)).astype("float32")


def gradients(forward, *parameters, x=X):
    with Recorded() as r:
        symbol = r.input(x)
        symbol.stop_gradient = False
        y = forward(symbol)
        r.fetch(*r.gradients([(y * y).sum()], [symbol, *parameters]))
    return r


def peak(r, *passes):
    return _core.passes_peak(r.rewrite([*passes, "dead_code"]).program)


@pytest.mark.parametrize("sizes", [(20, 40, 8), (20, 300, 300)])
@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16", "float16"])
def test_product_into_the_gradient_of_relu(sizes, dtype):
    argosy.seed(0)
    first, second = (nn.Linear(a, b) for a, b in zip(sizes, sizes[1:]))
    if dtype != "float32":
        first, second = first.to(dtype=dtype), second.to(dtype=dtype)
    parameters = [*first.parameters(), *second.parameters()]
    x = argosy.to_tensor(np.tile(X, (20, 1))).astype(dtype)
    r = gradients(lambda x: second(F.relu(first(x))), *parameters, x=x)
    after = r.check("relu_gradients")
    assert "relu_grad" not in ops(after) and ops(after).count("gated_matmul") == 1
    _, text = _core.executor_plan(_core.executor_new(1), r.program, r.feeds, r.outputs, None)
    (line,) = [line for line in text.splitlines() if "gated_matmul" in line]
    slot = line.split("gated_matmul: ")[1].split(":")[0]
    assert f"-> {slot}:" in line, "the result should be where relu's was"


@pytest.mark.parametrize("p", [0.3, 1.0])
def test_dropout_after_relu(p):
    argosy.seed(0)
    first, second = nn.Linear(20, 400), nn.Linear(400, 8)
    parameters = [*first.parameters(), *second.parameters()]
    r = gradients(
        lambda x: second(F.dropout(F.relu(first(x)), p)), *parameters, x=np.tile(X, (9, 1))
    )
    after = r.check("relu_gradients", seed=3)
    assert "relu_grad" not in ops(after) and ops(after).count("gated_matmul") == 1
    clean = r.check(["relu_gradients", "dead_code"], seed=3)
    assert ops(clean).count("dropout_apply_bits") == 1
    assert peak(r, "relu_gradients") < peak(r) - 100 * 300 * 4


def test_dropout_that_does_not_belong_to_it():
    """Another mask, or relu's result read elsewhere: still the same bits."""
    argosy.seed(0)
    first, second = nn.Linear(20, 20), nn.Linear(20, 20)

    def forward(x):
        h = F.relu(first(x))
        return second(F.dropout(h, 0.5)) + F.dropout(h, 0.25) * h

    gradients(forward, *first.parameters(), *second.parameters()).check("relu_gradients", seed=1)


@pytest.mark.parametrize("stride", [1, 2])
def test_max_pooling_after_relu(stride):
    x = np.random.default_rng(0).standard_normal((2, 3, 16, 16)).astype("float32")
    x[0, 0, :4, :4] = np.nan
    x[1, 2] = -1
    conv, norm = nn.Conv2D(3, 4, 3, padding=1), nn.BatchNorm2D(4)
    parameters = [*conv.parameters(), norm.weight]

    def forward(x):
        return F.max_pool2d(F.relu(norm(conv(x))), 3, stride, 1)

    r = gradients(forward, *parameters, x=x)
    after = ops(r.check(["relu_gradients", "dead_code"]))
    assert after.index("relu_grad") < after.index("max_pool_grad")
    assert peak(r, "relu_gradients") < peak(r)


def test_pooling_with_another_user_of_relu():
    x = np.random.default_rng(0).standard_normal((2, 3, 8, 8)).astype("float32")

    def forward(x):
        y = F.relu(x * 2)
        return F.max_pool2d(y, 2) + F.avg_pool2d(y, 2)

    r = gradients(forward, x=x)
    assert "relu_grad" in ops(r.check("relu_gradients"))


def test_text():
    with Recorded() as r:
        x = r.input(X)
        w = r.input(np.ones((20, 5), "float32"))
        x.stop_gradient = False
        r.fetch(*r.gradients([argosy.matmul(F.relu(x), w)], [x]))
    (line,) = [t for t in body(r.check("relu_gradients")).splitlines() if "gated_matmul" in t]
    assert "transpose_y=True" in line and "backward" in line
