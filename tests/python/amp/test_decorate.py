"""decorate and GradScaler with bfloat16."""

import numpy as np
import pytest

import argosy as paddle
from argosy import amp, nn
from argosy.amp.grad_scaler import OptimizerState

BF16, F32 = paddle.bfloat16, paddle.float32


def model_and_optimizer(kind=paddle.optimizer.Adam, **kw):
    paddle.seed(1)
    model = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1D(8), nn.LayerNorm(8), nn.Linear(8, 1))
    return model, kind(0.01, parameters=model.parameters(), **kw)


def dtypes(model):
    return [p.dtype for p in model.parameters() if not p.stop_gradient]


def data():
    return paddle.to_tensor(np.random.RandomState(0).randn(16, 4).astype("float32"))


def test_parameters_but_those_of_batch_norms():
    model, opt = model_and_optimizer()
    weight = model[0].weight.numpy()
    again, same = amp.decorate(model, opt, level="O2", dtype="bfloat16")
    assert again is model and same is opt
    assert dtypes(model) == [BF16, BF16, F32, F32, BF16, BF16, BF16, BF16]
    assert model[1]._mean.dtype == F32
    # The copies begin with what the parameters were.
    np.testing.assert_array_equal(opt._master_weights[model[0].weight.name].numpy(), weight)


def test_level_O1_changes_nothing():
    model, opt = model_and_optimizer()
    amp.decorate(model, opt, level="O1", dtype="bfloat16")
    assert set(dtypes(model)) == {F32} and not opt._multi_precision


@pytest.mark.parametrize("what", [nn.LayerNorm, "instance", [nn.LayerNorm, "instance"]])
def test_excluded_layers(what):
    model, _ = model_and_optimizer()
    layers = [
        model[0] if w == "instance" else w for w in (what if isinstance(what, list) else [what])
    ]
    amp.decorate(model, level="O2", dtype="bfloat16", excluded_layers=layers)
    assert (model[0].weight.dtype == F32) == (model[0] in layers)
    assert (model[2].weight.dtype == F32) == (nn.LayerNorm in layers)
    assert model[3].weight.dtype == BF16


def test_saved_in_another_dtype():
    model, _ = model_and_optimizer()
    amp.decorate(model, level="O2", dtype="bfloat16", save_dtype="float32")
    assert {v.dtype for v in model.state_dict().values()} == {F32}
    assert model[0].weight.dtype == BF16


def test_master_grad():
    model, opt = model_and_optimizer()
    amp.decorate(model, opt, level="O2", dtype="bfloat16", master_grad=True)
    for _ in range(2):
        with amp.auto_cast(level="O2", dtype="bfloat16"):
            model(data()).mean().backward()
        assert {p.grad.dtype for p in model.parameters() if not p.stop_gradient} == {F32}
    opt.step()


@pytest.mark.parametrize(
    "models, kw, error, text",
    [
        (3, {}, TypeError, r"\[decorate\] models: expected a Layer"),
        (nn.Linear(1, 1), {"save_dtype": "int8"}, ValueError, "save_dtype"),
        (nn.Linear(1, 1), {"excluded_layers": 3}, TypeError, "excluded_layers"),
        (nn.Linear(1, 1), {"optimizers": 3}, TypeError, "optimizers"),
    ],
)
def test_errors(models, kw, error, text):
    with pytest.raises(error, match=text):
        amp.decorate(models, level="O2", dtype="bfloat16", **kw)


OPTIMIZERS = ["SGD", "Momentum", "Adam", "AdamW", "Lamb"]


@pytest.mark.parametrize("kind", OPTIMIZERS)
def test_training_with_master_weights(kind):
    def losses(level):
        model, opt = model_and_optimizer(
            getattr(paddle.optimizer, kind), **({} if kind == "SGD" else {})
        )
        if level == "O2":
            amp.decorate(model, opt, level="O2", dtype="bfloat16")
        out = []
        for _ in range(30):
            with amp.auto_cast(enable=level != "O0", level=level, dtype="bfloat16"):
                loss = ((model(data()).astype("float32") - 1.0) ** 2).mean()
            loss.backward()
            opt.step()
            opt.clear_grad()
            out.append(float(loss))
        return np.array(out)

    full = losses("O0")
    np.testing.assert_allclose(losses("O1"), full, rtol=0.05, atol=0.02)
    np.testing.assert_allclose(losses("O2"), full, rtol=0.05, atol=0.02)


# --- GradScaler -----------------------------------------------------------------------------------


def scaled(scaler, value=1.0):
    w = paddle.to_tensor([value], stop_gradient=False)
    opt = paddle.optimizer.SGD(0.5, parameters=[w])
    with amp.auto_cast(dtype="bfloat16"):
        loss = (w * 2.0).sum()
    return w, opt, scaler.scale(loss)


def live(**kw):
    scaler = amp.GradScaler(**kw)
    with amp.auto_cast(dtype="bfloat16"):
        pass
    return scaler


def test_the_loss_is_scaled_and_gradients_come_back():
    scaler = live(init_loss_scaling=1024.0)
    assert scaler.is_enable() and scaler.is_use_dynamic_loss_scaling()
    w, opt, loss = scaled(scaler)
    assert float(loss) == 2048
    loss.backward()
    assert w.grad.tolist() == [2048.0]
    scaler.unscale_(opt)
    assert w.grad.tolist() == [2.0]
    with pytest.raises(RuntimeError, match="already been called on this optimizer"):
        scaler.unscale_(opt)
    scaler.step(opt)
    assert w.tolist() == [0.0]
    with pytest.raises(RuntimeError, match=r"step\(\) has already been called"):
        scaler.step(opt)
    with pytest.raises(RuntimeError, match=r"after step\(\)"):
        scaler.unscale_(opt)
    scaler.update()
    assert scaler._state_of(opt) is OptimizerState.INIT


@pytest.mark.parametrize("bad", [float("inf"), float("nan"), -float("inf")])
def test_steps_with_infinities_are_left_out(bad, capsys):
    scaler = live(init_loss_scaling=64.0, decr_every_n_nan_or_inf=2, incr_every_n_steps=2)
    w, opt, loss = scaled(scaler)
    scales = []
    for value in (bad, bad, 1.0, 1.0, bad, 1.0):
        w.clear_grad()
        (w * value).sum().backward()
        before = w.tolist()
        scaler.step(opt)
        assert (w.tolist() == before) == (value == bad or np.isnan(value))
        scaler.update()
        scales.append(float(scaler.state_dict()["scale"][0]))
    assert scales == [64, 32, 32, 64, 64, 64]
    assert "Found inf or nan" in capsys.readouterr().out


def test_gradients_that_have_rows_only_are_unscaled():
    scaler = live(init_loss_scaling=8.0)
    table = paddle.nn.Embedding(4, 1, sparse=True)
    before = table.weight.numpy()
    opt = paddle.optimizer.SGD(0.5, parameters=table.parameters())
    for factor in (1.0, float("inf")):
        loss = (table(paddle.to_tensor([1, 1, 3])) * factor).sum()
        scaler.scale(loss).backward()
        scaler.unscale_(opt)
        assert table.weight.grad.to_dense().tolist() == [[0], [2 * factor], [0], [factor]]
        scaler.step(opt)
        scaler.update()
        opt.clear_grad(set_to_zero=False)
        np.testing.assert_allclose((before - table.weight.numpy())[:, 0], [0, 1, 0, 0.5], rtol=1e-6)


def test_minimize_steps_and_updates():
    scaler = live(init_loss_scaling=4.0, incr_every_n_steps=1)
    w, opt, loss = scaled(scaler)
    loss.backward()
    scaler.minimize(opt, loss)
    assert w.tolist() == [0.0] and scaler.state_dict()["scale"].tolist() == [8.0]


def test_the_state_is_saved():
    one, two = live(init_loss_scaling=16.0, incr_ratio=4.0), live()
    w, opt, loss = scaled(one)
    loss.backward()
    one.step(opt)
    one.update()
    state = one.state_dict()
    assert set(state) == {
        "scale", "incr_ratio", "decr_ratio", "incr_every_n_steps", "decr_every_n_nan_or_inf",
        "incr_count", "decr_count", "use_dynamic_loss_scaling",
    }  # fmt: skip
    assert state["scale"].dtype == np.float32 and state["incr_count"] == 1
    two.load_state_dict(state)
    assert two.state_dict() == state and float(two.scale(paddle.ones([]))) == 16
    with pytest.raises(RuntimeError, match="the state is empty"):
        two.load_state_dict({})


def test_a_fixed_scale():
    scaler = live(init_loss_scaling=8.0, use_dynamic_loss_scaling=False, incr_every_n_steps=1)
    w, opt, loss = scaled(scaler)
    loss.backward()
    scaler.step(opt)
    scaler.step(opt)
    scaler.update()
    assert scaler.state_dict()["scale"].tolist() == [8.0]


def test_scale_wants_a_tensor():
    with pytest.raises(TypeError, match=r"\[GradScaler.scale\] var"):
        live().scale(3.0)
    assert not amp.GradScaler(enable=False).is_enable()


@pytest.mark.cpu_only("is about a warning of scalers on the CPU")
def test_a_scaler_that_was_not_used_keeps_the_state_that_it_loaded():
    """A job that is ended before its first step saves what it had."""
    with amp.auto_cast(dtype="bfloat16"):
        scaler = amp.GradScaler(init_loss_scaling=8.0, incr_ratio=4.0)
        saved = scaler.state_dict()
    with pytest.warns(UserWarning, match="has no effect on the CPU"):
        again = amp.GradScaler()
    assert again.state_dict() == {}
    again.load_state_dict(saved)
    assert again.state_dict() == saved and saved["incr_ratio"] == 4.0


def test_a_state_that_lacks_something_changes_nothing():
    with amp.auto_cast(dtype="bfloat16"):
        scaler = amp.GradScaler(init_loss_scaling=8.0)
        before = scaler.state_dict()
        with pytest.raises(
            ValueError, match="the state has no incr_ratio, .*, use_dynamic_loss_scaling"
        ):
            scaler.load_state_dict({"scale": 2.0, "decr_ratio": 0.25, "incr_count": 1})
        assert scaler.state_dict() == before
