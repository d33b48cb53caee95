"""Strategy, to_static, Engine and annotations of auto_parallel, in one process."""

import numpy as np
import pytest

import argosy as paddle
import argosy.distributed as dist
from argosy.distributed.fleet import auto

RNG = np.random.default_rng(4)
X = RNG.standard_normal((16, 3)).astype("float32")
Y = (X @ np.array([[1.0], [-2.0], [0.5]]) + 0.3).astype("float32")


def linear(rate=0.1, optimizer=paddle.optimizer.SGD):
    layer = paddle.nn.Linear(3, 1)
    layer.weight.set_value(paddle.ones([3, 1]))
    return layer, optimizer(rate, parameters=layer.parameters())


def data():
    return paddle.io.TensorDataset([paddle.to_tensor(X), paddle.to_tensor(Y)])


def trained(steps, batches, rate=0.1):
    """Plain training: losses and the weight after it."""
    layer, optimizer = linear(rate)
    losses = []
    for i in range(steps):
        x, y = batches[i % len(batches)]
        loss = paddle.nn.functional.mse_loss(layer(paddle.to_tensor(x)), paddle.to_tensor(y))
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
        losses.append(float(loss))
    return losses, layer.weight.numpy()


# --- Strategy ---


def test_strategies_have_categories():
    strategy = dist.Strategy()
    assert strategy is not auto.Strategy() and dist.Strategy is auto.Strategy
    assert strategy.sharding.enable is False and strategy.sharding.stage == 1
    assert strategy.amp.level == "o1" and strategy.gradient_merge.k_steps == 1
    assert strategy.pipeline.schedule_mode == "1F1B" and strategy.full_graph is True
    strategy.sharding.enable = True
    assert strategy.sharding.enable and not dist.Strategy().sharding.enable


def test_strategies_from_dicts():
    config = {
        "amp": {"enable": True, "dtype": "bfloat16", "other": 3},
        "seed": 5,
        "full_graph": False,
    }
    strategy = dist.Strategy(config)
    assert strategy.amp.enable and strategy.amp.dtype == "bfloat16" and strategy.seed == 5
    assert not strategy.full_graph and not hasattr(strategy.amp, "other")
    assert strategy.to_dict()["amp"]["dtype"] == "bfloat16" and strategy.get("seed") == 5
    assert strategy.amp.get("nothing", 7) == 7
    strategy.amp.custom_white_list.append("add")
    assert dist.Strategy(config).amp.custom_white_list == []
    assert '"k_steps":"1"' in repr(strategy.gradient_merge)


@pytest.mark.parametrize("config", ["strategy.yml", {"amp": True}])
def test_strategies_want_dicts(config):
    with pytest.raises(ValueError, match="expected a dict"):
        dist.Strategy(config)


# --- to_static ---


def test_a_model_trains_as_by_hand():
    layer, optimizer = linear()
    model = dist.to_static(layer, None, paddle.nn.MSELoss(), optimizer)
    losses = [float(model(paddle.to_tensor(X), paddle.to_tensor(Y))) for _ in range(6)]
    wanted, weight = trained(6, [(X, Y)])
    np.testing.assert_allclose(losses, wanted, rtol=1e-5)
    np.testing.assert_allclose(layer.weight.numpy(), weight, rtol=1e-5)


def test_modes():
    layer, optimizer = linear()
    model = dist.to_static(layer, None, paddle.nn.MSELoss(), optimizer)
    x, y = paddle.to_tensor(X), paddle.to_tensor(Y)
    model.eval()
    before = layer.weight.numpy()
    wanted = float(paddle.nn.functional.mse_loss(layer(x), y))
    np.testing.assert_allclose(float(model(x, y)), wanted, rtol=1e-6)
    assert (layer.weight.numpy() == before).all() and not layer.training
    model.predict()
    assert (model(x).numpy() == layer(x).numpy()).all()
    model.train()
    model([x], [y])
    assert (layer.weight.numpy() != before).any() and layer.training


def test_modes_that_lack_something():
    layer, _ = linear()
    x = paddle.to_tensor(X)
    model = dist.to_static(layer)
    assert list(model(x).shape) == [16, 1]
    model.eval()
    with pytest.raises(ValueError, match="eval needs a loss"):
        model(x, x)
    model.train()
    with pytest.raises(ValueError, match="train needs a loss and an optimizer"):
        model(x, x)
    with pytest.raises(TypeError, match="expected tensors or lists"):
        model(3)
    with pytest.raises(NotImplementedError, match="jit.save"):
        model.dist_main_program()
    with pytest.raises(ValueError, match="mode: expected one of"):
        model.dist_main_program("fit")


@pytest.mark.parametrize("average", [True, False])
def test_gradients_are_merged(average):
    strategy = dist.Strategy({"gradient_merge": {"enable": True, "k_steps": 2, "avg": average}})
    layer, optimizer = linear()
    model = dist.to_static(layer, None, paddle.nn.MSELoss(), optimizer, strategy)
    halves = [(X[:8], Y[:8]), (X[8:], Y[8:])]
    for _ in range(3):
        for x, y in halves:
            model(paddle.to_tensor(x), paddle.to_tensor(y))
    _, weight = trained(3, [(X, Y)], rate=0.1 if average else 0.2)
    np.testing.assert_allclose(layer.weight.numpy(), weight, rtol=1e-4)


def test_bfloat16():
    strategy = dist.Strategy({"amp": {"enable": True, "dtype": "bfloat16", "level": "o1"}})
    layer, optimizer = linear()
    model = dist.to_static(layer, None, paddle.nn.MSELoss(), optimizer, strategy)
    losses = [float(model(paddle.to_tensor(X), paddle.to_tensor(Y))) for _ in range(6)]
    wanted, _ = trained(6, [(X, Y)])
    np.testing.assert_allclose(losses, wanted, rtol=5e-2)
    model.predict()
    assert model(paddle.to_tensor(X)).dtype == paddle.bfloat16


@pytest.mark.parametrize(
    "category", ["sharding", "pipeline", "recompute", "qat", "tuning", "dataset"]
)
def test_what_is_not_there_is_refused_by_name(category):
    strategy = dist.Strategy({category: {"enable": True}})
    layer, optimizer = linear()
    for make in (dist.to_static, lambda *a: auto.Engine(*a[:1], *a[2:4], strategy=a[4])):
        with pytest.raises(NotImplementedError, match=rf"{category}.enable is not supported"):
            make(layer, None, paddle.nn.MSELoss(), optimizer, strategy)


def test_several_processes_are_refused(monkeypatch):
    monkeypatch.setattr("argosy.distributed.auto_parallel.dist_model.get_world_size", lambda: 2)
    with pytest.raises(NotImplementedError, match="DataParallel"):
        dist.to_static(paddle.nn.Linear(1, 1))


def test_states():
    layer, optimizer = linear(optimizer=paddle.optimizer.Adam)
    model = dist.to_static(layer, None, paddle.nn.MSELoss(), optimizer)
    model(paddle.to_tensor(X), paddle.to_tensor(Y))
    assert set(model.state_dict("param")) == {"weight", "bias"}
    state = {k: v.clone() if hasattr(v, "clone") else v for k, v in model.state_dict().items()}
    assert len(state) > 4
    model(paddle.to_tensor(X), paddle.to_tensor(Y))
    moved = layer.weight.numpy()
    model.set_state_dict(state)
    assert (layer.weight.numpy() == state["weight"].numpy()).all()
    model(paddle.to_tensor(X), paddle.to_tensor(Y))
    np.testing.assert_allclose(layer.weight.numpy(), moved, rtol=1e-6)
    with pytest.raises(ValueError, match="mode: expected one of"):
        model.state_dict("params")


def test_sizes_may_change_with_a_spec():
    layer, optimizer = linear()
    spec = paddle.static.InputSpec
    model = dist.to_static(
        layer, None, paddle.nn.MSELoss(), optimizer,
        input_spec=[[spec([-1, 3], "float32")], [spec([-1, 1], "float32")]],
    )  # fmt: skip
    for rows in (4, 7):
        assert np.isfinite(float(model(paddle.to_tensor(X[:rows]), paddle.to_tensor(Y[:rows]))))


# --- Engine ---


class Worst(paddle.metric.Metric):
    """The largest distance of a prediction from its label."""

    def __init__(self):
        super().__init__()
        self.reset()

    def compute(self, pred, label):
        return paddle.abs(pred - label).max()

    def update(self, distance):
        self.largest = max(self.largest, float(distance))

    def reset(self):
        self.largest = 0.0

    def accumulate(self):
        return self.largest

    def name(self):
        return "worst"


def test_an_engine_trains_evaluates_and_predicts(capsys):
    layer, optimizer = linear()
    engine = auto.Engine(layer, paddle.nn.MSELoss(), optimizer, Worst())
    history = engine.fit(data(), batch_size=8, epochs=3, valid_data=data(), verbose=0)
    batches = [(X[:8], Y[:8]), (X[8:], Y[8:])]
    losses, weight = trained(6, batches)
    np.testing.assert_allclose(history["loss"], losses[1::2], rtol=1e-4)
    np.testing.assert_allclose(layer.weight.numpy(), weight, rtol=1e-4)
    assert len(history["val_loss"]) == 3 and len(history["val_worst"]) == 3
    found = engine.evaluate(data(), batch_size=8, verbose=0)
    out = layer(paddle.to_tensor(X)).numpy()
    np.testing.assert_allclose(found["loss"], ((out - Y) ** 2).mean(), rtol=1e-4)
    np.testing.assert_allclose(found["worst"], np.abs(out - Y).max(), rtol=1e-4)
    made = engine.predict(data(), batch_size=8, verbose=0)
    np.testing.assert_allclose(np.concatenate([m[0] for m in made]), out, rtol=1e-5)
    assert capsys.readouterr().out == ""
    engine.fit(data(), batch_size=8, steps_per_epoch=1, log_freq=1)
    assert capsys.readouterr().out.count("loss:") == 1


def test_an_engine_saves_and_loads(tmp_path):
    layer, optimizer = linear(optimizer=paddle.optimizer.Adam)
    engine = auto.Engine(layer, paddle.nn.MSELoss(), optimizer)
    engine.fit(data(), batch_size=16, epochs=2, verbose=0, save_dir=str(tmp_path))
    path = str(tmp_path / "epoch0")
    after = layer.weight.numpy()
    engine.load(path)
    assert (layer.weight.numpy() != after).any()
    engine.fit(data(), batch_size=16, verbose=0)
    np.testing.assert_allclose(layer.weight.numpy(), after, rtol=1e-5)
    other = auto.Engine(paddle.nn.Sequential(paddle.nn.Linear(3, 1)))
    with pytest.raises(ValueError, match="lacks 0.weight"):
        other.load(path)
    other.load(path, strict=False)


def test_rates_move_from_pass_to_pass():
    layer = paddle.nn.Linear(3, 1)
    rate = paddle.optimizer.lr.StepDecay(0.1, 1, 0.5)
    optimizer = paddle.optimizer.SGD(rate, parameters=layer.parameters())
    history = auto.Engine(layer, paddle.nn.MSELoss(), optimizer).fit(
        data(), batch_size=16, epochs=3, verbose=0
    )
    np.testing.assert_allclose(history["lr"], [0.1, 0.05, 0.025])


def test_an_engine_refuses():
    layer, optimizer = linear()
    with pytest.raises(NotImplementedError, match="cluster"):
        auto.Engine(layer, cluster=3)
    engine = auto.Engine(layer, paddle.nn.MSELoss(), optimizer)
    with pytest.raises(NotImplementedError, match="callbacks"):
        engine.fit(data(), callbacks=[3])
    with pytest.raises(AssertionError, match="mode: expected one of"):
        engine.to_mode("fit")


# --- annotations ---


def test_tensors_are_placed_by_names():
    mesh = dist.ProcessMesh([[0]], dim_names=["x", "y"])
    x = paddle.ones([2, 3])
    assert auto.shard_tensor(x, mesh, ["y", None]) is x
    assert x.placements == [dist.Replicate(), dist.Shard(0)]
    with pytest.raises(ValueError, match="got 'z'"):
        auto.shard_tensor(x, mesh, ["z"])
    with pytest.raises(AssertionError, match="shard_spec: expected a list"):
        auto.shard_tensor(x, mesh, "x")
    with pytest.raises(NotImplementedError, match="mesh of one"):
        auto.shard_tensor(x, dist.ProcessMesh([0, 1], dim_names=["x"]), ["x"])
    add = auto.shard_op(paddle.add, mesh, [["x", None], None], [[None, "y"]])
    out = add(x, x)
    assert out.placements == [dist.Replicate(), dist.Shard(1)]


def test_recomputed_functions_have_gradients():
    layer = paddle.nn.Linear(2, 2)
    x = paddle.ones([1, 2])
    auto.recompute(layer)(x).sum().backward()
    assert layer.weight.grad.numpy().tolist() == [[1, 1], [1, 1]]


def test_the_grid_of_all_processes():
    before = dist.get_mesh()
    try:
        mesh = auto.create_mesh([("dp", 1), ("mp", 1)])
        assert dist.get_mesh() is mesh and mesh.shape == [1, 1]
    finally:
        dist.set_mesh(before)
