"""Captured functions and eager calls: what is refused, which gradients there are, and what is noticed."""

import re
import types
import warnings

import numpy as np
import pytest

import argosy
from argosy.jit import to_static

T = argosy.to_tensor
F = argosy.nn.functional


def _leaf(*values):
    return T(list(values or (1.0, 2.0)), stop_gradient=False)


# --- leaves that need a gradient are not written ---


def _made_inside(w, a):
    made = T([1.0, 2.0], stop_gradient=False)
    made.add_(a)
    return made


def _computed_leaf(w, a):
    made = a * 2
    made.stop_gradient = False
    made.add_(w)
    return made


def _detached_leaf(w, a):
    made = w.detach()
    made.stop_gradient = False
    made.add_(a)
    return made


def _leaf_without_gradient_in_between(w, a):
    made = a * 2
    made.stop_gradient = False
    with argosy.no_grad():
        made.add_(a)
    made.add_(a)
    return made


def _in_a_branch(w, a):
    if a.sum() > 0:
        w.add_(a)
    return w * 1


def _in_a_loop(w, a):
    i = T(0)
    while i < 2:
        w[0] = a[0]
        i = i + 1
    return w * 1


def _set_item(w, a):
    w[0] = a[0]
    return w * 1


REFUSED = [
    lambda w, a: w.add_(a),
    lambda w, a: w.clip_(0.0, 1.0),
    lambda w, a: w.fill_(3.0),
    lambda w, a: w.zero_(),
    lambda w, a: w.uniform_(0, 1),
    lambda w, a: w.reshape_([2, 1]),
    lambda w, a: w.cast_("float64"),
    lambda w, a: argosy.scatter_(w, T([0]), a[:1]),
    _set_item, _made_inside, _computed_leaf, _detached_leaf, _leaf_without_gradient_in_between, _in_a_branch,
    _in_a_loop,
]  # fmt: skip


@pytest.mark.parametrize("function", REFUSED)
@pytest.mark.parametrize("full", [False, True])
def test_a_leaf_is_not_written_while_capturing_either(function, full):
    w = _leaf()

    def call(a):
        return function(w, a)

    for run in (call, to_static(call, full_graph=full)):
        with pytest.raises(ValueError, match="cannot write in place into a leaf tensor"):
            run(T([10.0, 20.0]))
        assert w.tolist() == [1.0, 2.0]


def _nothing(w, a):
    with argosy.no_grad():
        w.add_(a)
    return w * w


def _view(w, a):
    w[0:1].add_(a[0:1])
    return w * w


def _through_detach(w, a):
    w.detach().add_(a)
    return w * w


def _through_data(w, a):
    w.data.multiply_(a)
    return w * w


def _set_value(w, a):
    w.set_value(a)
    return w * w


def _copied(w, a):
    w.copy_(a, True)
    return w * w


def _assigned(w, a):
    argosy.assign(a, output=w)
    return w * w


def _item_without_gradient(w, a):
    with argosy.no_grad():
        w[0] = a[1]
    return w * w


def _incremented(w, a):
    v = w[0] * a[0]
    argosy.increment(v)
    return v * w


def _not_a_leaf(w, a):
    y = w * 1
    y.add_(a)
    y.multiply_(a)
    return y


def _not_a_leaf_without_gradient(w, a):
    y = w * 3
    with argosy.no_grad():
        y.add_(a)
        y[0] = 7.0
    return y * y


def _not_a_leaf_set(w, a):
    y = w * 3
    y.set_value(a * w)
    return y * w


def _plain_set_to_what_has_a_gradient(w, a):
    y = a * 1
    y.set_value(w * a)
    return y * w


def _used_before_and_after(w, a):
    y = w + a
    with argosy.no_grad():
        w.multiply_(a)
    return y + w * a


def _gradient_before_and_after(w, a):
    inner = w.detach()
    inner.stop_gradient = False
    y = inner * 2
    with argosy.no_grad():
        inner.add_(a)
    y = y + inner * 3
    (g,) = argosy.grad(y.sum(), [inner], create_graph=True)
    return g + w


ALLOWED = [
    _nothing, _through_detach, _through_data, _set_value, _copied, _assigned, _item_without_gradient,
    _incremented, _not_a_leaf, _not_a_leaf_without_gradient, _not_a_leaf_set,
    _plain_set_to_what_has_a_gradient, _used_before_and_after, _gradient_before_and_after,
]  # fmt: skip


@pytest.mark.parametrize("function", ALLOWED)
def test_writes_that_autograd_does_not_see_keep_the_history(function):
    seen = []
    for captured in (False, True):
        w, values = _leaf(), []

        def call(a):
            return function(w, a)

        run = to_static(call, full_graph=True) if captured else call
        for a in ([10.0, 20.0], [3.0, -4.0]):
            y = run(T(a))
            y.sum().backward()
            values.append((y.tolist(), w.grad.tolist(), w.tolist()))
            w.clear_grad(set_to_zero=False)
        seen.append(values)
    assert seen[1] == seen[0]


def test_an_argument_that_is_a_leaf_is_not_written_and_another_one_is():
    def call(x, a):
        x.add_(a)
        return x * x

    run = to_static(call, full_graph=True)
    a = T([3.0, 4.0])
    for _ in range(2):
        w = _leaf()
        y = run(w * 1, a)
        y.sum().backward()
        assert y.tolist() == [16.0, 36.0] and w.grad.tolist() == [8.0, 12.0]
        with pytest.raises(ValueError, match=r"\[add\] cannot write in place into a leaf tensor"):
            run(w, a)
        with argosy.no_grad():
            assert run(w, a).tolist()[0] == 16.0
        assert run(T([1.0, 2.0]), a).tolist() == [16.0, 36.0]


def test_a_step_does_not_write_a_leaf():
    layer = argosy.nn.Linear(2, 1)
    sgd = argosy.optimizer.SGD(0.1, parameters=layer.parameters())

    def loss(x):
        layer.weight.add_(T([[1.0], [1.0]]))
        return layer(x).mean()

    step = argosy.jit.compile_step(loss, None, sgd)
    with pytest.raises(ValueError, match="cannot write in place into a leaf tensor"):
        step(argosy.ones([3, 2]))


def test_a_static_program_writes_what_it_likes():
    argosy.enable_static()
    try:
        main, startup = argosy.static.Program(), argosy.static.Program()
        with argosy.static.program_guard(main, startup):
            x = argosy.static.data("x", [2], "float32")
            w = argosy.static.create_parameter([2], "float32")
            y = w.add_(x) * 1
        assert y.shape == [2] and main.num_blocks == 1
    finally:
        argosy.disable_static()


# --- gradients ---


def test_the_result_of_grad_has_no_gradient_unless_asked_for():
    w = _leaf()

    def call(a):
        (g,) = argosy.grad((w * w * a).sum(), [w], retain_graph=True)
        return g * w

    for run in (call, to_static(call, full_graph=True)):
        w.clear_grad(set_to_zero=False)
        run(T([3.0, 4.0])).sum().backward()
        assert w.grad.tolist() == [6.0, 16.0]


@pytest.mark.parametrize("full", [False, True])
def test_what_is_trained_later_gets_its_gradient(full):
    layer = argosy.nn.Linear(2, 2)
    run = to_static(layer, full_graph=full)
    x = T([[1.0, 2.0]])
    for frozen in (True, False, True, False):
        layer.weight.stop_gradient = frozen
        layer.clear_gradients()
        layer.weight.clear_grad(set_to_zero=False)
        run(x).sum().backward()
        assert (layer.weight.grad is None) == frozen
    assert len(layer.forward.program_cache) == 1

    buffer = T([1.0, 2.0])
    plain = to_static(lambda a: (a * buffer).sum(), full_graph=full)
    assert plain(T([3.0, 4.0])).stop_gradient
    buffer.stop_gradient = False
    plain(T([3.0, 4.0])).backward()
    assert buffer.grad.tolist() == [3.0, 4.0]


# --- refused while capturing, as Programs do not do it ---


def _hooked(w, a):
    y = w * a
    y.register_hook(lambda g: g * 3)
    return y


def _seeded(w, a):
    argosy.seed(3)
    return w * argosy.rand([2])


def _other_default_dtype(w, a):
    argosy.set_default_dtype("float64")
    try:
        return w * argosy.ones([2]).astype("float32")
    finally:
        argosy.set_default_dtype("float32")


@pytest.mark.parametrize(
    "function, text",
    [
        (_hooked, r"\[register_hook\] is called in a function that is captured"),
        (_seeded, r"\[seed\] is called in a function that is captured"),
        (_other_default_dtype, r"set_default_dtype is called in a function that is captured"),
    ],
)
def test_what_a_program_does_not_do_runs_as_python(function, text):
    w = _leaf()

    def call(a):
        return function(w, a)

    refused = (
        pytest.warns(UserWarning) if function is _seeded else pytest.raises(NotImplementedError)
    )
    with refused as seen:
        to_static(call, full_graph=True)(T([3.0, 4.0]))
    assert re.search(text, str(seen[0].message if function is _seeded else seen.value))
    run, seen = to_static(call), []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for each in (call, run, run):
            w.clear_grad(set_to_zero=False)
            y = each(T([3.0, 4.0]))
            y.sum().backward()
            seen.append((y.tolist(), w.grad.tolist()))
    assert seen[0] == seen[1] == seen[2]
    assert any("runs as Python" in str(c.message) for c in caught)


# --- noticed ---


def _state():
    scheduler = argosy.optimizer.lr.StepDecay(0.5, 1)
    layer = argosy.nn.Linear(2, 2)
    layer.kind = "a"
    layer.long = list(range(3000))
    return types.SimpleNamespace(
        scheduler=scheduler, layer=layer, rate=0.25, array=np.ones(5000, "float32"),
        table={i: i for i in range(2000)},
        scheduled=argosy.optimizer.SGD(scheduler, parameters=layer.parameters()),
        fixed=argosy.optimizer.SGD(0.25, parameters=layer.parameters()),
    )  # fmt: skip


def _rate(s, a):
    return a * s.fixed.get_lr()


def _scheduled_rate(s, a):
    return a * s.scheduled.get_lr()


def _scheduler(s, a):
    return a * s.scheduler.get_lr()


def _called_scheduler(s, a):
    return a * s.scheduler()


def _long_list(s, a):
    return a * s.layer.long[0]


def _end_of_list(s, a):
    return a * s.layer.long[-1]


def _long_array(s, a):
    return a * float(s.array[0])


def _long_dict(s, a):
    return a * s.table[0]


CHANGES = [
    (_rate, lambda s, i: s.fixed.set_lr(10.0 * i + 7)),
    (_scheduled_rate, lambda s, i: s.scheduler.step()),
    (_scheduler, lambda s, i: s.scheduler.step()),
    (_called_scheduler, lambda s, i: s.scheduler.step()),
    (_long_list, lambda s, i: s.layer.long.__setitem__(0, 10 * i + 7)),
    (_end_of_list, lambda s, i: s.layer.long.__setitem__(-1, 10 * i + 7)),
    (_long_array, lambda s, i: s.array.__setitem__(0, 10 * i + 7)),
    (_long_dict, lambda s, i: s.table.__setitem__(0, 10 * i + 7)),
]


@pytest.mark.parametrize("function, change", CHANGES)
def test_changes_are_noticed(function, change):
    results = []
    for captured in (False, True):
        s = _state()

        def call(a):
            return function(s, a)

        run, seen = to_static(call) if captured else call, []
        for i in range(4):
            seen.append(run(T([1.0, 2.0])).tolist())
            seen.append(run(T([3.0, 2.0])).tolist())
            change(s, i)
        results.append(seen)
    assert results[0] == results[1]
    assert len({str(v) for v in results[0][::2]}) == 4
    assert len([c for c in run.program_cache.values() if c is not None]) == 1


class _Setting(argosy.nn.Layer):
    def __init__(self):
        super().__init__()
        self.mode, self.size, self.other = "none", None, types.SimpleNamespace(seen=0)
        self.weight = self.create_parameter(
            [2], default_initializer=argosy.nn.initializer.Constant(3.0)
        )

    def forward(self, x):
        self.mode = "run"
        self.size = tuple(x.shape)
        self.other.seen = x.shape[0]
        setattr(self, "named", 3)
        self.tensor = x * self.weight
        self.other.tensor = self.tensor + 1
        return x * 2


def test_attributes_that_are_only_set_are_set_by_each_call():
    layer = to_static(_Setting())
    for n in (2, 3, 2, 3):
        layer.mode, layer.size, layer.other.seen, layer.named = "none", None, 0, 0
        layer(argosy.full([n, 2], float(n)))
        assert layer.tensor.tolist() == [[3.0 * n] * 2] * n
        assert layer.other.tensor.tolist() == [[3.0 * n + 1] * 2] * n
        layer.weight.clear_grad(set_to_zero=False)
        layer.other.tensor.sum().backward()
        assert layer.weight.grad.tolist() == [1.0 * n * n] * 2
        assert (layer.mode, layer.size, layer.other.seen) == ("run", (n, 2), n)
        assert layer.named == 3
    assert len([c for c in layer.forward.program_cache.values() if c is not None]) == 2


def test_a_tensor_of_an_object_that_is_set_runs_as_python():
    s = types.SimpleNamespace(x=T([1.0, 2.0]))

    def call(a):
        s.x = s.x + a
        return s.x * 1

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        run = to_static(call)
        results = [run(T([1.0, 1.0])).tolist() for _ in range(4)]
    assert results == [[2.0, 3.0], [3.0, 4.0], [4.0, 5.0], [5.0, 6.0]]
    assert s.x.tolist() == [5.0, 6.0]


class _Holder:
    pass


def _set_behind(x):
    made = _Holder()
    made.value = x * 2
    return made


def _set_in_init(x):
    return types.SimpleNamespace(value=x * 2)


def _set_in_a_list(x):
    made = types.SimpleNamespace(value=x * 2, more=0)
    made.more, made.value = [made.value], None
    return {"made": made}


def test_an_object_with_a_list_of_tensors_is_another_one_in_each_call():
    run = to_static(_set_in_a_list)
    with pytest.warns(UserWarning, match="makes a SimpleNamespace that holds tensors"):
        first = run(T([1.0]))["made"]
    second = run(T([3.0]))["made"]
    assert (first.more[0].tolist(), second.more[0].tolist()) == ([2.0], [6.0])


@pytest.mark.parametrize("function", [_set_behind, _set_in_init])
def test_an_object_that_is_made_and_returned_is_another_one_in_each_call(function):
    run = to_static(function)
    with pytest.warns(UserWarning, match="that holds tensors, and returns it. Do this: return the"):
        first = run(T([1.0]))
    second = run(T([3.0]))
    assert (first.value.tolist(), second.value.tolist()) == ([2.0], [6.0])


def test_an_object_that_is_made_and_not_returned_leaves_the_function_captured():
    def call(x):
        made = _Holder()
        made.value = x * 2
        return made.value + 1

    run = to_static(call)
    assert [run(T([value])).tolist() for value in (1.0, 3.0)] == [[3.0], [7.0]]
    assert len(run.program_cache.concrete_programs()) == 1


class _SettingSeveral(argosy.nn.Layer):
    def forward(self, x):
        self.outs = [x * 2, x * 3]
        self.named = {"sum": x.sum(), "deep": (x + 1, "text")}
        return x


def test_attributes_that_hold_several_tensors_are_set_by_each_call():
    layer = to_static(_SettingSeveral())
    for value in (1.0, 4.0):
        x = _leaf(value)
        layer(x)
        assert [out.tolist() for out in layer.outs] == [[2 * value], [3 * value]]
        assert layer.named["sum"].item() == value
        assert (layer.named["deep"][0].tolist(), layer.named["deep"][1]) == ([value + 1], "text")
        layer.outs[1].sum().backward()
        assert x.grad.tolist() == [3.0]
    assert len(layer.forward.program_cache.concrete_programs()) == 1


class _SettingItsResult(argosy.nn.Layer):
    def forward(self, x):
        self.out = x * 2
        return self.out


def test_an_attribute_that_is_set_to_the_result_is_the_result():
    layer = to_static(_SettingItsResult())
    for value in (1.0, 4.0):
        out = layer(_leaf(value))
        assert layer.out is out and out.tolist() == [2 * value]
