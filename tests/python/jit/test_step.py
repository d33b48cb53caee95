"""Captured training steps against the same steps in eager mode."""

import warnings

import numpy as np
import pytest

import argosy
from argosy import jit, nn, optimizer


class Model(nn.Layer):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(50, 8)
        self.lstm = nn.LSTM(8, 16)
        self.norm = nn.BatchNorm1D(16)
        self.dropout = nn.Dropout(0.2)
        self.out = nn.Linear(16, 5)

    def forward(self, x):
        h, _ = self.lstm(self.embedding(x))
        h = self.norm(h[:, -1])
        if h.mean() > 100:
            h = h * 0
        return self.out(self.dropout(h))


def twins(make, make_optimizer):
    pairs = []
    for _ in range(2):
        argosy.seed(0)
        model = make()
        pairs.append((model, make_optimizer(model.parameters())))
    return pairs


def eager_step(model, loss, opt, *batch):
    value = loss(model(*batch[:-1]), batch[-1])
    value.backward()
    opt.step()
    opt.clear_grad()
    return value


def assert_same_state(a, b, **tolerance):
    for (name, p), q in zip(a.state_dict().items(), b.state_dict().values()):
        np.testing.assert_allclose(p.numpy(), q.numpy(), err_msg=name, **tolerance)


def test_a_model_with_everything():
    (a, oa), (b, ob) = twins(
        Model,
        lambda p: optimizer.AdamW(
            optimizer.lr.CosineAnnealingDecay(0.01, 20),
            parameters=p,
            grad_clip=nn.ClipGradByGlobalNorm(1.0),
        ),
    )
    loss = nn.CrossEntropyLoss()
    step = jit.compile_step(a, loss, oa)
    rng = np.random.default_rng(0)
    for i in range(10):
        x = argosy.to_tensor(rng.integers(0, 50, (6, 7)))
        y = argosy.to_tensor(rng.integers(0, 5, (6,)))
        argosy.seed(i)
        got = step(x, y)
        argosy.seed(i)
        want = eager_step(b, loss, ob, x, y)
        np.testing.assert_allclose(float(got), float(want), rtol=1e-5)
        for o in (oa, ob):
            o._learning_rate.step()
    assert got.stop_gradient
    assert_same_state(a, b, rtol=1e-4, atol=1e-6)
    assert len(step.program_cache) == 1
    assert all(p.grad is None for p in a.parameters())


@pytest.mark.parametrize(
    "name",
    ["SGD", "Momentum", "Adam", "Adagrad", "Adadelta", "Adamax", "RMSProp", "Lamb", "NAdam"]
    + ["RAdam", "ASGD", "Rprop"],
)
def test_every_optimizer(name):
    def make_optimizer(parameters):
        return getattr(optimizer, name)(learning_rate=0.01, parameters=parameters)

    (a, oa), (b, ob) = twins(lambda: nn.Linear(4, 2), make_optimizer)
    loss = nn.MSELoss()
    step = jit.compile_step(a, loss, oa)
    x, y = argosy.ones([3, 4]), argosy.zeros([3, 2])
    for _ in range(4):
        got, want = step(x, y), eager_step(b, loss, ob, x, y)
        np.testing.assert_allclose(float(got), float(want), rtol=1e-6)
    assert_same_state(a, b, rtol=1e-6, atol=1e-8)


def test_forms_modes_and_eager_steps_between():
    (a, oa), (b, ob) = twins(
        lambda: nn.Sequential(nn.Linear(4, 4), nn.Dropout(0.5)),
        lambda p: optimizer.Momentum(0.1, parameters=p),
    )
    loss = nn.MSELoss()
    step = jit.compile_step(a, loss, oa)
    for i, size in enumerate((3, 5, 3)):
        x = np.ones([size, 4], "float32")  # arrays are taken too
        argosy.seed(i)
        step(x, x)
        argosy.seed(i)
        eager_step(b, loss, ob, argosy.to_tensor(x), argosy.to_tensor(x))
    assert len(step.program_cache) == 2
    # State is shared with eager mode, both ways.
    x = argosy.ones([3, 4])
    for model, opt in ((a, oa), (b, ob)):
        argosy.seed(9)
        eager_step(model, loss, opt, x, x)
    argosy.seed(10)
    step(x, x)
    argosy.seed(10)
    eager_step(b, loss, ob, x, x)
    assert_same_state(a, b, rtol=1e-6)
    a.eval()
    step(x, x)
    assert len(step.program_cache) == 3


def test_a_model_that_returns_the_loss():
    model = nn.Linear(2, 1)

    def forward(x, y):
        return (model(x) - y).square().mean()

    step = jit.compile_step(forward, optimizer=optimizer.SGD(0.1, parameters=model.parameters()))
    x, y = argosy.ones([4, 2]), argosy.ones([4, 1])
    losses = [float(step(x, y)) for _ in range(30)]
    assert losses[-1] < 1e-3 * max(losses[0], 1e-3) + 1e-6


def test_the_oldest_forms_are_dropped():
    model = nn.Linear(2, 1)
    step = jit.compile_step(model, nn.MSELoss(), optimizer.SGD(0.1, parameters=model.parameters()))
    for size in range(1, 71):
        step(argosy.ones([size, 2]), argosy.ones([size, 1]))
    assert len(step.program_cache) == 64


def test_errors():
    model = nn.Linear(4, 2)
    with pytest.raises(TypeError, match="expected an Optimizer, got NoneType"):
        jit.compile_step(model, nn.MSELoss())
    with pytest.raises(TypeError, match=r"LBFGS evaluates the loss as often"):
        jit.compile_step(model, None, optimizer.LBFGS(parameters=model.parameters()))
    opt = optimizer.SGD(0.1, parameters=model.parameters())
    with pytest.raises(TypeError, match=r"the loss must be one number, got a Tensor of shape"):
        jit.compile_step(model, None, opt)(argosy.ones([3, 4]))
    with pytest.raises(ValueError, match="the loss depends on no parameter"):
        jit.compile_step(lambda x: x.mean(), None, opt)(argosy.ones([3, 4]))
    # Eager training goes on as before.
    assert opt.get_lr() == 0.1
    eager_step(model, nn.MSELoss(), opt, argosy.ones([3, 4]), argosy.ones([3, 2]))


def test_parameters_frozen_later_stay_as_they_are():
    model = nn.Sequential(nn.Linear(3, 4), nn.Linear(4, 2))
    step = jit.compile_step(model, nn.MSELoss(), optimizer.Adam(0.1, parameters=model.parameters()))
    x, y = argosy.ones([5, 3]), argosy.zeros([5, 2])
    step(x, y)
    model[0].weight.stop_gradient = True
    frozen, free = model[0].weight.numpy(), model[1].weight.numpy()
    step(x, y)
    assert np.array_equal(model[0].weight.numpy(), frozen)
    assert not np.array_equal(model[1].weight.numpy(), free)


def test_a_smaller_last_batch_is_not_captured_again():
    (a, oa), (b, ob) = twins(
        Model, lambda p: optimizer.Momentum(0.05, parameters=p, weight_decay=1e-3)
    )
    for model in (a, b):
        model.dropout.eval()
    calls = []
    a.register_forward_post_hook(lambda *_: calls.append(1))
    spec = [argosy.static.InputSpec([None, 6], "int64"), argosy.static.InputSpec([-1], "int64")]
    loss = nn.CrossEntropyLoss()
    step = jit.compile_step(a, loss, oa, spec)
    rng = np.random.default_rng(0)
    for size in (8, 8, 5, 8, 5):
        batch = [rng.integers(0, 50, (size, 6)), rng.integers(0, 5, size)]
        got = step(*batch)
        want = eager_step(b, loss, ob, *[argosy.to_tensor(v) for v in batch])
        np.testing.assert_allclose(float(got), float(want), rtol=1e-5)
    assert len(calls) == 1 and len(step.program_cache) == 1
    assert_same_state(a, b, rtol=1e-4, atol=1e-6)


def test_input_spec_is_checked():
    net = nn.Linear(3, 2)
    make = lambda spec: jit.compile_step(  # noqa: E731
        net, nn.MSELoss(), optimizer.SGD(parameters=net.parameters()), spec
    )
    x, y = argosy.ones([4, 3]), argosy.ones([4, 2])
    with pytest.raises(TypeError, match="expected a list of InputSpec"):
        make([[None, 3], [None, 2]])
    step = make([argosy.static.InputSpec([None, 3]), None])
    step(x, y)
    with pytest.raises(ValueError, match=r"argument 0 does not fit .*\[-1, 3\], got .*\[4, 2\]"):
        step(y, y)
    with pytest.raises(ValueError, match="2 entries, the step was called with 1 arguments"):
        step(x)
    step(x[:2], y[:2])  # the second argument has no spec: another form of it is another capture
    assert len(step.program_cache) == 2


def _hook_later(model, optimizer):
    model[0].register_forward_post_hook(lambda layer, x, y: y * 2)


def _other_momentum(model, optimizer):
    model[1]._momentum = 0.1


def _clipping_later(model, optimizer):
    optimizer._grad_clip = argosy.nn.ClipGradByGlobalNorm(0.01)


def _other_norm(model, optimizer):
    optimizer._grad_clip.clip_norm = 0.01


def _other_layer(model, optimizer):
    model[2] = argosy.nn.Tanh()


@pytest.mark.parametrize(
    "change", [_hook_later, _other_momentum, _clipping_later, _other_norm, _other_layer]
)
def test_what_changes_between_steps_counts(change):
    seen = []
    for captured in (False, True):
        argosy.seed(1)
        nn = argosy.nn
        model = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1D(4), nn.ReLU(), nn.Linear(4, 1))
        clip = nn.ClipGradByGlobalNorm(0.5) if change is _other_norm else None
        optimizer = argosy.optimizer.SGD(0.1, parameters=model.parameters(), grad_clip=clip)
        loss, losses = nn.MSELoss(), []
        step = argosy.jit.compile_step(model, loss, optimizer)
        for k in range(5):
            if k == 2:
                change(model, optimizer)
            x = argosy.to_tensor(np.random.RandomState(k).randn(4, 3).astype("float32"))
            y = x.sum(1, keepdim=True)
            if captured:
                losses.append(float(step(x, y)))
                continue
            value = loss(model(x), y)
            value.backward()
            optimizer.step()
            optimizer.clear_grad()
            losses.append(float(value))
        seen.append([losses] + [t.numpy() for t in model.state_dict().values()])
    for eager, compiled in zip(*seen):
        np.testing.assert_allclose(compiled, eager, rtol=1e-4, atol=1e-6)


def test_state_that_changes_in_each_step_is_told():
    layer, scale = argosy.nn.Linear(2, 1), [1]
    sgd = argosy.optimizer.SGD(0.0, parameters=layer.parameters())
    step = argosy.jit.compile_step(lambda x: (layer(x) * scale[0]).mean(), None, sgd)
    x = argosy.ones([1, 2])
    with pytest.warns(UserWarning, match="captured 8 times for state that it reads.*scale"):
        for k in range(1, 10):
            scale[0] = k
            assert float(step(x)) == pytest.approx(k * float(layer(x)), rel=1e-5)


def test_python_state_that_a_step_changes_is_told():
    class Counting(nn.Layer):
        steps = 0

        def __init__(self):
            super().__init__()
            self.linear = nn.Linear(2, 1)

        def forward(self, x):
            self.steps = self.steps + 1
            return self.linear(x).mean()

    model = Counting()
    step = jit.compile_step(model, None, optimizer.SGD(0.1, parameters=model.parameters()))
    with pytest.warns(UserWarning, match=r"changes Python state that it reads \(.*steps"):
        step(argosy.ones([1, 2]))


def test_warnings_that_are_errors_leave_no_step_behind():
    class Counting(nn.Layer):
        steps = 0

        def __init__(self):
            super().__init__()
            self.linear = nn.Linear(2, 1)

        def forward(self, x):
            self.steps = self.steps + 1
            return self.linear(x).mean()

    model = Counting()
    step = jit.compile_step(model, None, optimizer.SGD(0.1, parameters=model.parameters()))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(2):
            with pytest.raises(UserWarning, match="changes Python state that it reads"):
                step(argosy.ones([1, 2]))
    assert not step.program_cache


def test_a_clip_that_keeps_what_it_saw_is_captured_once():
    class Keeping(nn.ClipGradByGlobalNorm):
        calls = 0

        def __call__(self, pairs):
            self.calls += 1
            self.first = pairs[0][1] * 1
            return super().__call__(pairs)

    layer, clip = nn.Linear(2, 1), Keeping(0.5)
    sgd = optimizer.SGD(1.0, parameters=layer.parameters(), grad_clip=clip)
    step = jit.compile_step(lambda x: layer(x).sum() * 9, None, sgd)
    for norm, calls in ((0.5, 1), (0.5, 1), (0.25, 2), (0.25, 2)):
        clip.clip_norm = norm
        before = [p.numpy().copy() for p in layer.parameters()]
        step(argosy.ones([1, 2]))
        moved = sum(((p.numpy() - b) ** 2).sum() for p, b in zip(layer.parameters(), before))
        assert moved**0.5 == pytest.approx(norm, rel=1e-4)
        assert clip.calls == calls
