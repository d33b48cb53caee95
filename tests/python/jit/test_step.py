"""Captured training steps against the same steps in eager mode."""

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
