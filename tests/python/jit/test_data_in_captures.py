"""What a captured function makes of numbers and arrays, and writes into: each run begins with it again."""

import numpy as np
import pytest

import argosy

ARRAY = np.array([1.0, 2.0], "float32")


def _number(a):
    x = argosy.to_tensor(1.0)
    x.exp_()
    return x + a


def _array(a):
    x = argosy.to_tensor(ARRAY)
    x.add_(a)
    return x * x


def _list(a):
    x = argosy.to_tensor([1.0, 2.0])
    x.add_(a)
    return x


def _assigned(a):
    x = argosy.assign(ARRAY)
    x[0] = 5.0
    return x + a


def _number_of_an_op(a):
    return argosy.bitwise_not_(-65536) // 2 + a


def _read_before_it_is_written(a):
    x = argosy.to_tensor(ARRAY)
    before = x + a
    view = x[1:]
    x.add_(before)
    return before + x + view


def _in_a_loop(a):
    x = argosy.to_tensor(ARRAY)
    i = argosy.to_tensor(0)
    while i < a.shape[0]:
        x.add_(a)
        i.add_(argosy.to_tensor(1))
    return x + i.astype("float32")


def _in_a_branch(a):
    x = argosy.to_tensor(ARRAY)
    if a.sum() > 0:
        x.multiply_(a)
    return x


def _optimizer_like(a):
    total = argosy.to_tensor(np.zeros([2], "float32"))
    for _ in range(3):
        total.add_(a)
        argosy.assign(total * 0.5, total)
    return total


FUNCTIONS = [
    _number, _array, _list, _assigned, _number_of_an_op, _read_before_it_is_written,
    _in_a_loop, _in_a_branch, _optimizer_like,
]  # fmt: skip


@pytest.mark.parametrize("function", FUNCTIONS)
def test_each_run_begins_with_the_data(function):
    a = argosy.to_tensor([3.0, -1.0])
    captured = argosy.jit.to_static(function, full_graph=True)
    expected = function(a).numpy()
    for _ in range(3):
        np.testing.assert_allclose(captured(a).numpy(), expected, rtol=1e-6)
    np.testing.assert_array_equal(ARRAY, [1.0, 2.0])


def test_gradients_pass():
    def function(a):
        x = argosy.to_tensor(ARRAY)
        x = x.add_(a)
        return (x * x).sum()

    captured = argosy.jit.to_static(function, full_graph=True)
    for _ in range(2):
        a = argosy.to_tensor([3.0, -1.0], stop_gradient=False)
        captured(a).backward()
        np.testing.assert_allclose(a.grad.numpy(), [8.0, 2.0])


def test_what_a_layer_had_before_is_state():
    class Counter(argosy.nn.Layer):
        def __init__(self):
            super().__init__()
            self.count = argosy.to_tensor(ARRAY)

        def forward(self, a):
            self.count.add_(a)
            return self.count * 1

    counter = Counter()
    captured = argosy.jit.to_static(counter, full_graph=True)
    a = argosy.ones([2])
    assert [captured(a).tolist() for _ in range(3)] == [[2.0, 3.0], [3.0, 4.0], [4.0, 5.0]]


def test_a_saved_program_begins_with_the_data(tmp_path):
    layer = argosy.nn.Layer()
    layer.forward = argosy.jit.to_static(
        _array, input_spec=[argosy.static.InputSpec([2], "float32")]
    )
    argosy.jit.save(layer, str(tmp_path / "net"))
    loaded = argosy.jit.load(str(tmp_path / "net"))
    a = argosy.to_tensor([3.0, -1.0])
    for _ in range(2):
        np.testing.assert_allclose(loaded(a).numpy(), [16.0, 1.0])


def _set_value_copies(a):
    x, y = a * 1, a * 2
    x.set_value(y)
    y.add_(a)
    return x, y


def _set_value_of_itself(a):
    x = a * 1
    x.set_value(x)
    return x, x.reshape([-1])


def _copy_of_a_view(a):
    x, y = a * 1, a * 2
    x.copy_(y[:])
    y.zero_()
    return x, y


@pytest.mark.parametrize("function", [_set_value_copies, _set_value_of_itself, _copy_of_a_view])
def test_set_value_in_captures(function):
    a = argosy.to_tensor([3.0, -1.0])
    captured = argosy.jit.to_static(function, full_graph=True)
    for got, want in zip(captured(a), function(a)):
        np.testing.assert_array_equal(got.numpy(), want.numpy())


def _detached_and_filled(x):
    z = x * 2
    v = z.detach()
    v.fill_(3.0)
    return z, v


def _detached_row(x):
    z = x * 2
    z.detach()[0] = 3.0
    return (z * x,)


def _data(x):
    z = x * 2
    z.data.add_(x.detach())
    return (z + 1, z.detach() * 2)


def _written_behind_a_detached(x):
    z = x * 2
    v = z.detach()
    z.zero_()
    v.add_(argosy.to_tensor(-1.0))
    return z.sum(), v


def _view_without_gradient(x):
    z = x * 2
    with argosy.no_grad():
        z[1].zero_()
    return (z * 3,)


def _copy_of_a_detached(x):
    z = x * 2
    v = z.detach().clone()
    v.fill_(1.0)
    return z, v


def _read_again_after_a_write(x):
    z = x * 2
    v = z.detach()
    z.add_(argosy.to_tensor(1.0))
    return (v * x + z,)


def _view_read_again_without_gradient(x):
    z = x * 2
    row = z[0]
    z.add_(argosy.to_tensor(1.0))
    with argosy.no_grad():
        seen = row + 1
    return row * x, seen


DETACHED = [
    _detached_and_filled, _detached_row, _data, _written_behind_a_detached, _view_without_gradient,
    _copy_of_a_detached, _read_again_after_a_write, _view_read_again_without_gradient,
]  # fmt: skip


@pytest.mark.parametrize("function", DETACHED)
@pytest.mark.parametrize("unknown", [False, True])
def test_writes_through_a_detached_tensor(function, unknown):
    spec = [argosy.static.InputSpec([None, None] if unknown else [2, 2])]
    results = []
    for call in (function, argosy.jit.to_static(function, input_spec=spec, full_graph=True)):
        x = argosy.to_tensor([[1.0, 2.0], [3.0, 4.0]], stop_gradient=False)
        values = call(x)
        seen = [v for v in values if not v.stop_gradient]
        if seen:
            sum(v.sum() for v in seen).backward()
        gradient = None if x.grad is None else x.grad.tolist()
        results.append(([v.tolist() for v in values], gradient))
    assert results[0] == results[1]


def _penalized(weight, x):
    h = x * weight
    inner = h.detach()
    inner.stop_gradient = False
    (slope,) = argosy.grad(argosy.tanh(inner * weight).sum(), [inner], create_graph=True)
    return (slope * slope).sum() + h.sum()


def _made_without_gradient(weight, x):
    with argosy.no_grad():
        inner = x * weight
    inner.stop_gradient = False
    return (inner * weight).sum()


def _leaf_of_what_is_written_later(weight, x):
    h = x * weight
    inner = h.detach()
    inner.stop_gradient = False
    h.add_(argosy.to_tensor(1.0))
    return (inner * weight + h).sum()


@pytest.mark.parametrize(
    "function", [_penalized, _made_without_gradient, _leaf_of_what_is_written_later]
)
def test_gradients_end_at_what_was_detached_though_it_has_one(function):
    results = []
    for call in (function, argosy.jit.to_static(function, full_graph=True)):
        weight = argosy.to_tensor([0.5, -0.3], stop_gradient=False)
        value = call(weight, argosy.to_tensor([[1.0, 2.0], [3.0, 4.0]]))
        value.backward()
        results.append([value.item(), *weight.grad.tolist()])
    np.testing.assert_allclose(results[1], results[0], rtol=1e-6)


def test_a_parameter_is_clipped_through_its_data():
    def step(layer, x):
        layer.weight.detach().clip_(-0.1, 0.1)
        return layer(x)

    x, grads = argosy.ones([2, 3]), []
    for captured in (False, True):
        layer = argosy.nn.Linear(3, 2, weight_attr=argosy.nn.initializer.Constant(0.5))
        call = argosy.jit.to_static(step, full_graph=True) if captured else step
        y = call(layer, x)
        y.sum().backward()
        assert np.allclose(layer.weight.numpy(), 0.1) and np.allclose(y.numpy(), 0.3)
        grads.append(layer.weight.grad.tolist())
    assert grads[0] == grads[1]
