"""Training on the streamed test device gives the bits that it gives on the CPU."""

import re

import numpy as np
import pytest
from tests.python.device.where import FIRST, SECOND, STREAMED, assert_as_on_the_cpu, drawn

import argosy as paddle
import argosy.nn.functional as F
from argosy import _core, nn

pytestmark = pytest.mark.adds_device(unless="gpu")

RNG = np.random.RandomState(0)
X = RNG.rand(16, 1, 8, 8).astype("float32")
Y = RNG.randint(0, 4, [16])

OPTIMIZERS = {
    "sgd": lambda p: paddle.optimizer.SGD(0.1, parameters=p),
    "momentum": lambda p: paddle.optimizer.Momentum(0.1, 0.9, parameters=p),
    "adam": lambda p: paddle.optimizer.Adam(0.01, parameters=p),
    "adamw, clipped": lambda p: paddle.optimizer.AdamW(
        0.01, parameters=p, weight_decay=0.1, grad_clip=nn.ClipGradByGlobalNorm(0.5)
    ),
    "lamb": lambda p: paddle.optimizer.Lamb(0.01, parameters=p),
    "rmsprop": lambda p: paddle.optimizer.RMSProp(0.01, parameters=p),
}


class Net(nn.Layer):
    def __init__(self):
        super().__init__()
        # A bias before the normalization has no gradient but rounding, which Adam makes as large as others.
        self.conv = nn.Conv2D(1, 4, 3, padding=1, bias_attr=False)
        self.norm = nn.BatchNorm2D(4)
        self.drop = nn.Dropout(0.2 if STREAMED else 0.0)
        self.out = nn.Linear(64, 4)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.norm(self.conv(x))), 2)
        return self.out(self.drop(x.flatten(1)))


def on(device, program):
    """What program gives with everything on a device, from the same seed."""
    paddle.device.set_device(device)
    paddle.seed(3)
    result = program()
    paddle.device.set_device("cpu")
    return result


def same_on_both(program):
    want, got = on("cpu", program), on(FIRST, program)
    assert len(want) == len(got)
    for a, b in zip(want, got):
        assert_as_on_the_cpu(b, a)


def trained(make_optimizer, steps=4):
    net = drawn(Net)
    optimizer = make_optimizer(net.parameters())
    losses = []
    for _ in range(steps):
        loss = F.cross_entropy(net(paddle.to_tensor(X)), paddle.to_tensor(Y))
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
        losses.append(loss)
    return [*(loss.numpy() for loss in losses), *(v.numpy() for v in net.state_dict().values())]


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_optimizers(streamed, name):
    same_on_both(lambda: trained(OPTIMIZERS[name]))


def test_a_step_does_not_wait(streamed):
    net = drawn(Net)
    net.drop.p = 0.2
    optimizer = OPTIMIZERS["adam"](net.parameters())
    x, y = paddle.to_tensor(X), paddle.to_tensor(Y)

    def step():
        loss = F.cross_entropy(net(x), y)
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()

    step()
    before = _core.host_waits()
    step()
    assert _core.host_waits() == before


def test_a_captured_step_does_not_wait(streamed):
    """Its learning rate is a number of the host, whatever it is by then; each large parameter has an
    update of its own, which reads it."""

    def losses(waits=None):
        net = drawn(lambda: nn.Sequential(nn.Linear(64, 300), nn.GELU(), nn.Linear(300, 300)))
        rate = paddle.optimizer.lr.StepDecay(0.01, 1, 0.5)
        optimizer = paddle.optimizer.AdamW(rate, parameters=net.parameters())
        step = paddle.jit.compile_step(net, lambda out, y: ((out - y) ** 2).mean(), optimizer)
        x, y = paddle.to_tensor(X.reshape(16, 64)), paddle.to_tensor(np.ones([16, 300], "float32"))
        found = []
        for i in range(4):
            before = _core.host_waits()
            found.append(step(x, y))
            if waits is not None and i:
                waits.append(_core.host_waits() - before)
            rate.step()
        return [v.numpy() for v in found] + [v.numpy() for v in net.state_dict().values()]

    want, waits = on("cpu", losses), []
    for a, b in zip(want, on(FIRST, lambda: losses(waits))):
        assert_as_on_the_cpu(b, a)
    assert waits == [0, 0, 0]


def test_few_parameters_have_an_update_of_their_own(streamed):
    """Each is launched by itself: of 70 that would have one on the CPU, those that are much of all."""

    def updates():
        layers = [nn.Linear(260, 260, bias_attr=False) for _ in range(70)]
        net = nn.Sequential(*layers, nn.Linear(260, 3000, bias_attr=False))
        optimizer = paddle.optimizer.SGD(0.1, parameters=net.parameters())
        step = paddle.jit.compile_step(net, lambda out, y: (out - y).mean(), optimizer)
        data = [paddle.zeros([2, 260]), paddle.zeros([2, 3000])]
        program, fetches = step._capture(data)
        feeds = [*data, step._current_rate(data)]
        _, text = _core.executor_plan(_core.executor_new(1), program, feeds, fetches, None)
        return len(re.findall(r"dispatch sgd_:", text))

    assert on("cpu", updates) == 71
    assert on(FIRST, updates) == 2


def test_hooks_pylayer_and_second_order(streamed):
    class Cube(paddle.autograd.PyLayer):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x * x

        @staticmethod
        def backward(ctx, dy):
            (x,) = ctx.saved_tensor()
            return dy * 3 * x * x

    def program():
        x = paddle.to_tensor([1.0, 2.0, 3.0], stop_gradient=False)
        seen = []
        x.register_hook(lambda g: seen.append(g) or g * 2)
        Cube.apply(x).sum().backward()
        first = x.grad.numpy()
        z = paddle.to_tensor([0.5, 1.5], stop_gradient=False)
        (g,) = paddle.grad((z**4).sum(), z, create_graph=True)
        (h,) = paddle.grad(g.sum(), z)
        return [first, seen[0].numpy(), h.numpy()]

    same_on_both(program)


def test_save_and_load(streamed, tmp_path):
    net = drawn(Net)
    optimizer = OPTIMIZERS["adam"](net.parameters())
    F.cross_entropy(net(paddle.to_tensor(X)), paddle.to_tensor(Y)).backward()
    optimizer.step()
    paddle.save(net.state_dict(), str(tmp_path / "net.pdparams"))
    paddle.save(optimizer.state_dict(), str(tmp_path / "net.pdopt"))
    again = drawn(Net)
    again.set_state_dict(paddle.load(str(tmp_path / "net.pdparams")))
    for a, b in zip(net.state_dict().values(), again.state_dict().values()):
        np.testing.assert_array_equal(a.numpy(), b.numpy())
    assert str(again.out.weight.place) == f"Place({FIRST})"
    OPTIMIZERS["adam"](again.parameters()).set_state_dict(paddle.load(str(tmp_path / "net.pdopt")))


def test_to_static(streamed):
    def program():
        net = paddle.jit.to_static(drawn(Net))
        loss = F.cross_entropy(net(paddle.to_tensor(X)), paddle.to_tensor(Y))
        loss.backward()
        return [loss.numpy(), *(p.grad.numpy() for p in net.parameters() if not p.stop_gradient)]

    same_on_both(program)


def test_compiled_step(streamed):
    def program():
        net = drawn(Net)
        optimizer = OPTIMIZERS["adam"](net.parameters())
        step = paddle.jit.compile_step(net, nn.CrossEntropyLoss(), optimizer)
        losses = [step(paddle.to_tensor(X), paddle.to_tensor(Y)).numpy() for _ in range(3)]
        return [*losses, *(v.numpy() for v in net.state_dict().values())]

    same_on_both(program)


def test_control_flow_in_a_program(streamed):
    def program():
        @paddle.jit.to_static
        def f(x):
            while x.sum() < 100:
                if x[0] > 4:
                    x = x * 3
                else:
                    x = x + 1
            return x

        return [f(paddle.to_tensor([1.0, 2.0])).numpy()]

    same_on_both(program)


def test_high_level_model(streamed):
    def program():
        model = paddle.Model(drawn(Net))
        model.prepare(OPTIMIZERS["adam"](model.parameters()), nn.CrossEntropyLoss())
        data = paddle.io.TensorDataset([paddle.to_tensor(X), paddle.to_tensor(Y)])
        model.fit(data, batch_size=8, epochs=1, shuffle=False, verbose=0)
        return [v.numpy() for v in model.network.state_dict().values()]

    same_on_both(program)


def test_static_program(streamed):
    def program():
        paddle.enable_static()
        try:
            main, startup = paddle.static.Program(), paddle.static.Program()
            with paddle.static.program_guard(main, startup):
                x = paddle.static.data("x", [None, 8])
                weight = nn.initializer.Constant(0.1)  # a GPU draws other numbers than the CPU
                loss = paddle.static.nn.fc(x, 3, weight_attr=weight, activation="tanh").mean()
                OPTIMIZERS["adam"](None).minimize(loss)
            executor = paddle.static.Executor()
            paddle.seed(5)
            executor.run(startup)
            feed = {"x": X.reshape(-1, 8)}
            return [executor.run(main, feed, [loss])[0] for _ in range(3)]
        finally:
            paddle.disable_static()

    same_on_both(program)


def test_an_executor_runs_where_it_was_made_for(streamed):
    here = paddle.to_tensor([1.0, 2.0], place="cpu")
    paddle.enable_static()
    try:
        main = paddle.static.Program()
        with paddle.static.program_guard(main):
            x = paddle.static.data("x", [2])
            y = x * 2
        for place in ("cpu", SECOND):
            executor = paddle.static.Executor(place)
            (got,) = executor.run(main, {"x": np.ones(2, "float32")}, [y], return_numpy=False)
            assert repr(executor.place) in repr(got)
        (got,) = executor.run(main, {"x": here}, [y], return_numpy=False)
        assert repr(executor.place) in repr(got)  # a tensor that is fed goes there
    finally:
        paddle.disable_static()


def test_state_and_feeds_of_two_places_are_told_apart(streamed):
    net = paddle.jit.to_static(nn.Linear(2, 2))
    net(paddle.ones([1, 2]))
    with pytest.raises(ValueError, match=f"is on {FIRST}, but this run is on cpu"):
        net(paddle.to_tensor([[1.0, 2.0]], place="cpu"))


def test_a_saved_function_is_loaded_to_the_current_device(streamed, tmp_path):
    net = nn.Linear(6, 3)
    spec = [paddle.static.InputSpec([None, 6])]
    paddle.jit.save(net, str(tmp_path / "net"), input_spec=spec)
    x = paddle.rand([4, 6])
    loaded = paddle.jit.load(str(tmp_path / "net"))
    np.testing.assert_array_equal(loaded(x).numpy(), net(x).numpy())
    paddle.device.set_device("cpu")
    loaded = paddle.jit.load(str(tmp_path / "net"))
    assert_as_on_the_cpu(net(x).numpy(), loaded(x.cpu()).numpy())


def test_batches_of_a_loader(streamed):
    class Rows(paddle.io.Dataset):
        def __len__(self):
            return 8

        def __getitem__(self, i):
            return np.full([3], i, "float32"), i

    for workers in (0, 2):
        loader = paddle.io.DataLoader(Rows(), batch_size=4, num_workers=workers)
        for k, (rows, places) in enumerate(loader):
            assert str(rows.place) == str(places.place) == f"Place({FIRST})"
            assert places.tolist() == list(range(4 * k, 4 * k + 4))


def test_networks_of_other_kinds(streamed):
    def program():
        x = paddle.to_tensor(X.reshape(16, 8, 8))
        lstm = drawn(lambda: nn.LSTM(8, 5))
        encoder = drawn(lambda: nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0))
        table = drawn(lambda: nn.Embedding(10, 8, sparse=True))
        update = paddle.optimizer.Adam(0.1, parameters=table.parameters(), lazy_mode=True)
        out = lstm(encoder(x) + table(paddle.to_tensor(Y)).unsqueeze(1))[0]
        out.square().mean().backward()
        update.step()
        with paddle.amp.auto_cast(level="O1", dtype="bfloat16"):
            half = drawn(lambda: nn.Linear(8, 3))(x)
        values = [out, table.weight, encoder.linear1.weight.grad, half.astype("float32")]
        return [v.numpy() for v in values]

    same_on_both(program)


def test_gradients_of_rows_add_up(streamed):
    """Row-sparse ones among each other, and with a dense one."""

    def program():
        table = drawn(lambda: nn.Embedding(10, 4, sparse=True))
        for k in range(2):
            table(paddle.to_tensor(Y + k)).square().sum().backward()
        rows = _core.ops.rows_to_dense(table.weight.grad)
        (table(paddle.to_tensor(Y)).sum() + (table.weight * 2).sum()).backward()
        return [rows.numpy(), table.weight.grad.numpy()]

    same_on_both(program)


@pytest.mark.parametrize("name", ["Adam", "Momentum", "Lamb"])
def test_states_are_where_a_moved_model_is(name, streamed):
    paddle.device.set_device("cpu")
    model = nn.Linear(3, 2)
    model.to(FIRST)
    optimizer = getattr(paddle.optimizer, name)(0.1, parameters=model.parameters())
    before = model.weight.numpy()
    model(paddle.ones([4, 3]).to(FIRST)).mean().backward()
    optimizer.step()
    assert str(model.weight.place) == f"Place({FIRST})"
    assert (model.weight.numpy() != before).all()
