"""Captured functions against the same functions in eager mode."""

import copy
import warnings

import numpy as np
import pytest

import argosy
from argosy import jit, nn
from argosy.autograd import PyLayer
from argosy.jit.transform import CaptureError
from argosy.static import InputSpec


def tensor(x, grad=False):
    return argosy.to_tensor(np.asarray(x), stop_gradient=not grad)


class Net(nn.Layer):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(4, 8)
        self.norm = nn.BatchNorm1D(8)
        self.drop = nn.Dropout(0.5)
        self.b = nn.Linear(8, 2)

    def forward(self, x):
        h = self.norm(self.a(x))
        if h.mean() > 0:
            h = h.tanh()
        else:
            h = h * 2
        steps = 0
        while steps < 3:
            h = h + 1
            steps += 1
        return self.b(self.drop(h))


def pair(make, **options):
    """The same network twice, the first captured."""
    argosy.seed(3)
    captured = make()
    argosy.seed(3)
    plain = make()
    return jit.to_static(captured, full_graph=True, **options), plain


def train(net, x, steps=3):
    """Losses and final state of a few steps, dropout included."""
    optimizer = argosy.optimizer.Momentum(0.1, parameters=net.parameters())
    losses = []
    for step in range(steps):
        argosy.seed(step)
        loss = net(x).square().mean()
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
        losses.append(float(loss))
    return losses, {k: v.numpy() for k, v in net.state_dict().items()}


def test_training_equals_eager_training():
    captured, plain = pair(Net)
    x = tensor(np.random.default_rng(0).normal(size=(5, 4)).astype("float32"))
    losses, state = train(captured, x)
    want_losses, want_state = train(plain, x)
    assert losses == want_losses
    for name, want in want_state.items():
        np.testing.assert_array_equal(state[name], want, err_msg=name)
    captured.eval(), plain.eval()
    np.testing.assert_array_equal(captured(x).numpy(), plain(x).numpy())
    # One specialization for training, one for evaluation.
    assert len(captured.forward.program_cache) == 2


def test_one_program_for_all_sizes():
    calls = []

    @jit.to_static(input_spec=[InputSpec([None, 2], "float32")], full_graph=True)
    def f(x):
        calls.append(1)
        return x.sum(1) * x.shape[0]

    for n in (3, 5, 7):
        np.testing.assert_allclose(f(argosy.ones([n, 2])).numpy(), np.full(n, 2.0 * n))
    assert len(calls) == 1 and len(f.program_cache) == 1
    with pytest.raises(ValueError, match=r"expected .*float32 \[-1, 2\], got .*float32 \[3, 3\]"):
        f(argosy.ones([3, 3]))


def test_specializations():
    traced = []

    @jit.to_static(full_graph=True)
    def f(x, scale, flag=True, *, name="a"):
        traced.append(name)
        return x * scale if flag else x

    x = tensor([1.0, 2.0])
    assert f(x, 2).tolist() == [2.0, 4.0]
    assert f(x, 2).tolist() == [2.0, 4.0]
    assert f(x, 3).tolist() == [3.0, 6.0]
    assert f(x, 3, flag=False).tolist() == [1.0, 2.0]
    assert f(tensor([1.0]), 2).tolist() == [2.0]
    assert f(x, 2, name="b").tolist() == [2.0, 4.0]
    assert traced == ["a", "a", "a", "a", "b"]


def test_structures_and_arrays():
    @jit.to_static(full_graph=True)
    def f(batch, extra):
        return {"sum": batch["x"] + extra[0], "rest": [extra[1], "text", None, 3]}

    out = f({"x": tensor([1.0, 2.0])}, [np.array([3.0, 4.0], "float32"), tensor([5.0])])
    assert out["sum"].tolist() == [4.0, 6.0]
    assert out["rest"][0].tolist() == [5.0] and out["rest"][1:] == ["text", None, 3]


def test_break_continue_and_lists():
    @jit.to_static(full_graph=True)
    def f(x, n):
        total, seen = x * 0, []
        for i in range(n):
            seen.append(total.sum())
            if i % 2 == 0:
                continue
            total = total + x * i
            if total.sum() > 50:
                break
        return total, argosy.stack(seen)

    total, seen = f(tensor([1.0, 2.0]), argosy.to_tensor(10))
    assert total.tolist() == [25.0, 50.0]
    assert seen.tolist() == [0.0, 0.0, 3.0, 3.0, 12.0, 12.0, 27.0, 27.0, 48.0, 48.0]
    assert len(f.program_cache) == 1
    total, seen = f(tensor([1.0, 2.0]), argosy.to_tensor(4))
    assert total.tolist() == [4.0, 8.0] and len(f.program_cache) == 1


def test_gradients_of_first_and_second_order():
    def f(x, w):
        y = (x * w).tanh()
        return (y * y * x).sum()

    captured = jit.to_static(f, full_graph=True)
    values = np.array([0.5, -1.0]), np.array([0.3, 0.4])
    results = []
    for function in (captured, f):
        x, w = (tensor(v, grad=True) for v in values)
        g = argosy.grad([function(x, w)], [x, w], create_graph=True)
        (g[0] * g[1]).sum().backward()
        results.append([v.numpy() for v in (*g, x.grad, w.grad)])
    for got, want in zip(*results):
        np.testing.assert_allclose(got, want, rtol=1e-12)


def test_gradient_penalty_inside():
    def f(x, w):
        y = (x * w).tanh().sum()
        (g,) = argosy.grad([y], [x], create_graph=True)
        return (g * g).sum()

    captured = jit.to_static(f, full_graph=True)
    grads = []
    for function in (captured, f):
        x, w = tensor([1.0, 2.0], grad=True), tensor([0.3, 0.4], grad=True)
        function(x, w).backward()
        grads.append(w.grad.numpy())
    np.testing.assert_allclose(*grads, rtol=1e-6)


def test_py_layer_inside():
    class Cube(PyLayer):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x * x

        @staticmethod
        def backward(ctx, dy):
            (x,) = ctx.saved_tensor()
            return dy * 30 * x * x  # ten times the truth, so that one sees who computed it

    @jit.to_static(full_graph=True)
    def f(x):
        return Cube.apply(x * 2).sum()

    x = tensor([1.0, 2.0], grad=True)
    y = f(x)
    y.backward()
    assert float(y) == 72.0 and x.grad.tolist() == [240.0, 960.0]


def test_methods_and_nested_captures():
    class Model(nn.Layer):
        def __init__(self):
            super().__init__()
            self.fc = nn.Linear(2, 2)

        @jit.to_static(full_graph=True)
        def forward(self, x):
            return self.inner(x) + 1

        @jit.to_static(full_graph=True)
        def inner(self, x):
            return self.fc(x) if x.sum() > 0 else -self.fc(x)

    a, b = Model(), Model()
    x = tensor(np.ones((1, 2), "float32"))
    for model in (a, b):
        for v in (x, -x):
            sign = 1 if float(v.sum()) > 0 else -1
            want = sign * model.fc(v).numpy() + 1
            np.testing.assert_allclose(model(v).numpy(), want, rtol=1e-6)
    assert a.forward is not b.forward


def test_fallback_warns_once():
    @jit.to_static
    def f(x):
        return argosy.to_tensor(np.sort(np.asarray(x)) + 1)

    with pytest.warns(UserWarning, match=r"'f' \(.*test_to_static.py:\d+\) runs as Python"):
        assert f(tensor([1.0])).tolist() == [2.0]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert f(tensor([1.0])).tolist() == [2.0]

    with pytest.raises(TypeError, match="a Program"):
        jit.to_static(f.dygraph_function, full_graph=True)(tensor([1.0]))


def test_errors_of_the_program_itself_are_raised():
    @jit.to_static
    def f(x):
        return x + argosy.ones([3])

    with pytest.raises(ValueError, match=r"\[add\]"):
        f(argosy.ones([2]))
    assert f(argosy.ones([3])).tolist() == [2.0] * 3


def test_write_between_forward_and_backward_is_an_error():
    captured, _ = pair(lambda: nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2)))
    loss = captured(argosy.ones([1, 2])).sum()
    with argosy.no_grad():
        captured[1].weight.add_(argosy.ones([2, 2]))
    with pytest.raises(RuntimeError, match="was written after the captured function read it"):
        loss.backward()


def test_switches():
    @jit.to_static(full_graph=True)
    def f(x):
        return x + 1

    assert "return x + 1" in f.code
    jit.enable_to_static(False)
    try:
        f(tensor([1.0]))
        assert not f.program_cache
    finally:
        jit.enable_to_static(True)
    with pytest.raises(TypeError, match="expected a bool"):
        jit.enable_to_static(1)
    with pytest.raises(TypeError, match="expected a function or Layer, got int"):
        jit.to_static(3)
    with pytest.raises(TypeError, match="input_spec: expected a list"):
        jit.to_static(lambda x: x, input_spec=3)
    layer = jit.to_static(nn.Linear(2, 2))
    assert isinstance(layer.forward, jit.StaticFunction)
    layer.forward.rollback()
    assert not isinstance(layer.forward, jit.StaticFunction)


def by_width(x, three, five):
    if x.shape[1] == 3:
        return argosy.matmul(x, three)
    return argosy.matmul(x, five)


def test_only_the_branch_that_runs_must_suit_the_sizes():
    f = jit.to_static(by_width, [InputSpec([None, None])], full_graph=True)
    weights = [tensor(np.ones([n, 2], "float32"), True) for n in (3, 5)]
    for width in (3, 5, 3):
        x = tensor(np.arange(2.0 * width, dtype="float32").reshape(2, width), True)
        y = f(x, *weights)
        assert np.array_equal(y.numpy(), by_width(x, *weights).numpy())
        (gradient,) = argosy.grad(y.sum(), x)
        assert np.array_equal(gradient.numpy(), np.full([2, width], 2.0))
    with pytest.raises(ValueError, match=r"x is \[2, 4\], y is \[5, 2\]"):
        f(argosy.ones([2, 4]), *weights)


def grown(x, count):
    i = argosy.zeros([])
    while i < count:
        if i > 1:
            x = x + argosy.ones([7])
        i = i + 1
    return x


def test_errors_in_a_loop_name_the_line_inside():
    f = jit.to_static(grown, [InputSpec([None, None])], full_graph=True)
    line = grown.__code__.co_firstlineno + 4
    x = argosy.ones([2, 3])
    assert f(x, tensor(2.0)).tolist() == x.tolist()
    with pytest.raises(ValueError, match=rf"add\(float32\[2, 3\].* at .*test_to_static.py:{line}$"):
        f(x, tensor(3.0))


def test_a_loop_needs_gradients_where_what_goes_in_does():
    f = jit.to_static(grown, full_graph=True)
    x = argosy.ones([2, 7])
    assert f(x, tensor(3.0)).stop_gradient
    with argosy.no_grad():
        assert f(tensor(np.ones([2, 7], "float32"), True), tensor(3.0)).stop_gradient
    assert not f(tensor(np.ones([2, 7], "float32"), True), tensor(3.0)).stop_gradient


class Counter(nn.Layer):
    def __init__(self):
        super().__init__()
        self.register_buffer("count", argosy.zeros([]))
        self.last = argosy.zeros([2])

    def forward(self, x):
        self.count += 1
        self.last = x * self.count
        return self.last + 1


def test_buffers_that_are_assigned_are_written():
    one, two = pair(Counter)
    for i in range(3):
        x = argosy.full([2], float(i))
        assert two(x).tolist() == one(x).tolist()
        assert float(two.count) == float(one.count) == i + 1
        assert two.last.tolist() == one.last.tolist()


def test_lambdas_are_traced():
    f = jit.to_static(lambda x, y: x * 2 + y, full_graph=True)
    assert f(tensor([1.0]), tensor([3.0])).tolist() == [5.0] and len(f.program_cache) == 1
    f = jit.to_static(lambda x: x if x.sum() > 0 else -x, full_graph=True)
    with pytest.raises(CaptureError, match="it is a lambda.*value of a Program"):
        f(tensor([1.0]))


def test_generators_run_as_python():
    def pieces(x):
        for i in range(2):
            yield x + i

    with pytest.warns(UserWarning, match="it is a generatorfunction"):
        found = list(jit.to_static(pieces)(tensor([1.0])))
    assert [v.tolist() for v in found] == [[1.0], [2.0]]


def test_a_copied_layer_is_captured_with_its_own_weights():
    first = jit.to_static(nn.Linear(2, 1), full_graph=True)
    x = argosy.ones([1, 2])
    before = first(x).tolist()
    second = copy.deepcopy(first)
    assert second(x).tolist() == before and isinstance(second.forward, jit.api.StaticFunction)
    second.weight.set_value(argosy.zeros([2, 1]))
    second.bias.set_value(argosy.full([1], 5.0))
    assert second(x).tolist() == [[5.0]] and first(x).tolist() == before


def _views(x):
    y = x * 1
    v = y.transpose([1, 0])
    y[0, 1] = 100.0
    v[0] = 7.0
    flat = y.flatten()
    flat.add_(argosy.ones_like(flat))
    return y, v, flat


def _parts(x):
    y = x * 1
    a, b = argosy.split(y, 2, axis=1)
    a.scale_(3.0)
    b.add_(a)
    return y, a, b


def _rows(x):
    y = x * 1
    for i in range(2):
        y[i].add_(y[1 - i])
    return y


def _in_place_view(x):
    y = x * 1
    z = y.unsqueeze(0)
    y.reshape_([4])
    y.add_(argosy.ones([4]))
    return y, z


def _integers(x):
    y = (x * 1).astype("int64")
    y[1].add_(argosy.to_tensor([5, 6]))
    return y


@pytest.mark.parametrize("f", [_views, _parts, _rows, _in_place_view, _integers])
def test_writes_through_views(f):
    x = np.array([[1.0, 2.0], [3.0, 4.0]], "float32")
    got = jit.to_static(f, full_graph=True)(tensor(x))
    want = f(tensor(x))
    for g, w in zip(*[v if isinstance(v, tuple) else [v] for v in (got, want)]):
        np.testing.assert_array_equal(g.numpy(), w.numpy())


def _integers_divided(x):
    y = (x * 1).astype("int64")
    part = y[0]
    part.divide_(part)
    y.pow_(2)
    y.divide_(y)
    return y, part


def _halves_and_floats(x):
    y = x.astype("float16") + 4
    y.add_(x * 1e-4)
    return y


@pytest.mark.parametrize("f", [_integers_divided, _halves_and_floats])
@pytest.mark.parametrize("shape", [[2, 2], [2, 0]])
def test_dtypes_of_what_is_written_in_place(f, shape):
    x = np.full(shape, 3.0, "float32")
    got = jit.to_static(f, full_graph=True)(tensor(x))
    want = f(tensor(x))
    for g, w in zip(*[v if isinstance(v, tuple) else [v] for v in (got, want)]):
        assert g.dtype == w.dtype
        np.testing.assert_array_equal(g.numpy(), w.numpy())


def test_gradient_of_a_write_through_a_view():
    def f(x):
        y = x * 2
        y[0].scale_(3.0)
        return (y * y).sum()

    # As in eager mode, what the view was taken of keeps its history.
    for call in (f, jit.to_static(f, full_graph=True)):
        x = tensor([[1.0, 2.0], [3.0, 4.0]], grad=True)
        call(x).backward()
        assert x.grad.tolist() == [[24.0, 48.0], [24.0, 32.0]]


def test_write_through_a_view_of_outside_a_loop():
    @jit.to_static(full_graph=True)
    def f(x, n):
        y = x * 1
        for i in range(n):
            y[0].scale_(2.0)
        return y

    y = f(argosy.ones([2, 2]), argosy.to_tensor(3))
    assert y.tolist() == [[8.0, 8.0], [1.0, 1.0]]


def test_methods_of_plain_objects_are_captured():
    """An object that is no Layer has no layers whose modes are part of a form."""

    class Scaled:
        factor = 2

        @argosy.jit.to_static
        def method(self, x):
            return x * self.factor if x.sum() > 0 else -x

        def __call__(self, x):
            return x + self.factor

    scaled = Scaled()
    assert scaled.method(argosy.to_tensor([1.0])).tolist() == [2.0]
    assert scaled.method(argosy.to_tensor([-1.0])).tolist() == [1.0]
    assert argosy.jit.to_static(scaled.__call__)(argosy.to_tensor([1.0])).tolist() == [3.0]


def test_build_strategy_and_backend_are_what_they_say():
    def function(x):
        return x

    captured = argosy.jit.to_static(function, build_strategy=argosy.static.BuildStrategy())
    assert captured(argosy.ones([1])).tolist() == [1.0]
    with pytest.raises(
        TypeError, match="build_strategy: expected a paddle.static.BuildStrategy, got int"
    ):
        argosy.jit.to_static(function, build_strategy=3)
    with pytest.raises(ValueError, match="backend: expected None or 'CINN', got 'TVM'"):
        argosy.jit.to_static(function, backend="TVM")


@pytest.mark.parametrize("full_graph", [True, False])
def test_a_normalized_layer_trains_as_in_eager_mode(full_graph):
    def build():
        layer = nn.Sequential(nn.utils.weight_norm(nn.Linear(3, 4)), nn.Tanh(), nn.Linear(4, 1))
        for p in layer.parameters():  # after the weight was computed first
            p.set_value(np.full(p.shape, 0.3, "float32"))
        return layer

    x = tensor(np.random.default_rng(0).normal(size=(5, 3)).astype("float32"))
    results = []
    for captured in (False, True):
        layer = build()
        layer(x).sum().backward()  # an eager graph that is over
        layer.clear_gradients()
        if captured:
            layer = jit.to_static(layer, full_graph=full_graph)
        opt = argosy.optimizer.SGD(0.1, parameters=layer.parameters())
        losses = []
        for _ in range(3):
            loss = layer(x).square().mean()
            loss.backward()
            assert layer[0].weight_v.grad is not None and layer[0].weight_g.grad is not None
            opt.step()
            opt.clear_grad()
            losses.append(float(loss))
        results.append(losses)
    np.testing.assert_allclose(results[0], results[1], rtol=1e-6)
    assert results[0][2] < results[0][0]
