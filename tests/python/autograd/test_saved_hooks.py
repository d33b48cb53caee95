"""saved_tensors_hooks: what the tape keeps goes through the user's hooks."""

import gc
import weakref

import numpy as np
import pytest

import argosy as paddle
from argosy.autograd import PyLayer, saved_tensors_hooks


def leaf(*values):
    return paddle.to_tensor(np.array(values, "float32"), stop_gradient=False)


class Log:
    """Hooks that keep NumPy arrays and count their calls."""

    def __init__(self):
        self.packed, self.unpacked = [], []

    def pack(self, t):
        self.packed.append((tuple(t.shape), t.stop_gradient))
        return t.numpy()

    def unpack(self, a):
        self.unpacked.append(a.shape)
        return paddle.to_tensor(a)

    def scope(self):
        return saved_tensors_hooks(self.pack, self.unpack)


class Product(PyLayer):
    @staticmethod
    def forward(ctx, a, b):
        ctx.save_for_backward(a, b)
        return a * b

    @staticmethod
    def backward(ctx, dy):
        a, b = ctx.saved_tensor()
        return dy * b, dy * a


@pytest.mark.parametrize("product", [paddle.multiply, Product.apply])
def test_saved_inputs_are_packed_and_unpacked(product):
    log = Log()
    x, y = leaf(1, 2, 3), leaf(4, 5, 6)
    with log.scope():
        z = product(x, y)
    assert log.packed == [((3,), False)] * 2 and not log.unpacked
    outside = x * y
    z.sum().backward()
    assert log.unpacked == [(3,)] * 2
    np.testing.assert_array_equal(x.grad.numpy(), [4, 5, 6])
    np.testing.assert_array_equal(y.grad.numpy(), [1, 2, 3])
    outside.sum().backward()
    assert len(log.packed) == len(log.unpacked) == 2


def test_only_values_that_are_needed_are_packed():
    log = Log()
    x = leaf(0, 1)
    with log.scope():
        (paddle.exp(x) + 1).sum().backward()
    assert log.packed == [((2,), False)]
    np.testing.assert_allclose(x.grad.numpy(), np.exp([0, 1]), rtol=1e-6)


def test_backward_uses_what_unpack_returns():
    x = leaf(1, 2)
    with saved_tensors_hooks(lambda t: t.numpy(), lambda a: paddle.to_tensor(2 * a)):
        z = x * x
    z.sum().backward()
    np.testing.assert_array_equal(x.grad.numpy(), [4, 8])


def test_each_backward_unpacks_again():
    log = Log()
    x = leaf(3)
    with log.scope():
        z = x * x
    z.backward(retain_graph=True)
    z.backward()
    assert len(log.unpacked) == 4
    assert float(x.grad) == 12


def test_second_derivative():
    log = Log()
    x = leaf(1, 2)
    with log.scope():
        z = paddle.exp(x * x)
    (g,) = paddle.grad(z.sum(), x, create_graph=True)
    g.sum().backward()
    v = np.array([1.0, 2.0])
    np.testing.assert_allclose(x.grad.numpy(), (2 + 4 * v * v) * np.exp(v * v), rtol=1e-5)


def test_layers_and_identity_hooks():
    layer = paddle.nn.Linear(3, 2)
    x = paddle.to_tensor(np.arange(12, dtype="float32").reshape(4, 3))
    paddle.tanh(layer(x)).sum().backward()
    expected = layer.weight.grad.numpy()
    layer.clear_gradients()
    with saved_tensors_hooks(lambda t: t, lambda t: t):
        y = paddle.tanh(layer(x))
    y.sum().backward()
    np.testing.assert_array_equal(layer.weight.grad.numpy(), expected)


def test_kept_outputs_do_not_keep_their_graph():
    class Holder:
        pass

    holders = []

    def pack(t):
        holder = Holder()
        holder.tensor = t
        holders.append(weakref.ref(holder))
        return holder

    x = leaf(1, 2)
    with saved_tensors_hooks(pack, lambda h: h.tensor):
        z = paddle.exp(x)
    assert holders[0]() is not None
    del z
    gc.collect()
    assert holders[0]() is None


def test_hooks_record_nothing_and_may_use_ops():
    x = leaf(1, 2)
    with saved_tensors_hooks(
        lambda t: (t * 2).astype("float64"), lambda t: (t / 2).astype("float32")
    ):
        z = x * x
    z.sum().backward()
    np.testing.assert_array_equal(x.grad.numpy(), [2, 4])


def test_nothing_is_packed_without_gradients():
    log = Log()
    with log.scope(), paddle.no_grad():
        leaf(1) * leaf(2)
    assert not log.packed


def test_errors_of_hooks_arrive():
    def fail(_):
        raise KeyError("of the user")

    x = leaf(1, 2)
    with pytest.raises(KeyError, match="of the user"):
        with saved_tensors_hooks(fail, lambda a: a):
            x * x
    z = x * x  # the hooks are gone
    z.sum().backward()
    with saved_tensors_hooks(lambda t: t, fail):
        z = x * x
    with pytest.raises(KeyError, match="of the user"):
        z.sum().backward()


@pytest.mark.parametrize(
    "value, text", [(lambda a: None, "must return a Tensor"), (lambda a: a[:1], "give back")]
)
def test_unpack_must_give_the_value_back(value, text):
    x = leaf(1, 2)
    with saved_tensors_hooks(lambda t: t, value):
        z = x * x
    with pytest.raises(ValueError, match=text):
        z.sum().backward()


def test_blocks_cannot_be_nested():
    with pytest.raises(ValueError, match="registered already"):
        with saved_tensors_hooks(lambda t: t, lambda t: t):
            with saved_tensors_hooks(lambda t: t, lambda t: t):
                pass
    log = Log()
    with log.scope():
        leaf(1) * leaf(2)
    assert len(log.packed) == 2
