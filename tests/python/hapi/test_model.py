"""Model: loops, figures, callbacks, saving and resuming."""

import os
import warnings

import numpy as np
import pytest

import argosy
from argosy import callbacks, io, metric, nn, optimizer
from argosy.utils import unique_name


@pytest.fixture(autouse=True)
def fresh_names():
    with unique_name.guard():
        argosy.seed(0)
        yield


class Points(io.Dataset):
    """20 points of 4 numbers; the class is the sign of their sum."""

    def __init__(self, n=20, labels=True):
        rng = np.random.default_rng(0)
        self.x = rng.standard_normal((n, 4)).astype("float32")
        self.y = (self.x.sum(1) > 0).astype("int64")[:, None]
        self.labels = labels

    def __getitem__(self, i):
        return (self.x[i], self.y[i]) if self.labels else (self.x[i],)

    def __len__(self):
        return len(self.x)


def build(rate=0.01, metrics=True, **kw):
    net = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 2))
    model = argosy.Model(net, **kw)
    model.prepare(
        optimizer.Adam(rate, parameters=net.parameters()),
        nn.CrossEntropyLoss(),
        metric.Accuracy() if metrics else None,
    )
    return model


def weights(model):
    return [p.numpy().copy() for p in model.parameters()]


def by_hand(model, batches):
    """Trains a copy of the model without Model; returns losses."""
    net, loss, opt = model.network, nn.CrossEntropyLoss(), model._optimizer
    out = []
    for x, y in batches:
        value = loss(net(argosy.to_tensor(x)), argosy.to_tensor(y))
        value.backward()
        opt.step()
        opt.clear_grad()
        out.append(float(value))
    return out


def test_fit_is_the_plain_loop():
    data = Points()
    model, other = build(), build()
    other.network.set_state_dict({k: v.clone() for k, v in model.network.state_dict().items()})
    model.fit(data, batch_size=5, epochs=2, shuffle=False, verbose=0)
    batches = [(data.x[i : i + 5], data.y[i : i + 5]) for i in range(0, 20, 5)]
    by_hand(other, batches * 2)
    for a, b in zip(weights(model), weights(other)):
        assert a.tobytes() == b.tobytes()


def test_learning():
    data = Points(200)
    model = build(0.05)
    before = model.evaluate(data, batch_size=50, verbose=0)
    model.fit(data, batch_size=20, epochs=15, verbose=0)
    after = model.evaluate(data, batch_size=50, verbose=0)
    assert after["acc"] > 0.97 > before["acc"]
    assert list(after) == ["loss", "acc"] and isinstance(after["loss"], list)


def test_single_batches():
    data, model = Points(), build()
    x, y = data.x[:4], data.y[:4]
    start = weights(model)
    losses, figures = model.eval_batch([argosy.to_tensor(x)], [argosy.to_tensor(y)])
    assert losses[0].shape == () and len(figures) == 1
    model.train_batch([x], [y], update=False)
    assert all((a == b).all() for a, b in zip(start, weights(model)))
    model.train_batch([x], [y])
    assert any((a != b).any() for a, b in zip(start, weights(model)))
    (out,) = model.predict_batch([x])
    assert out.shape == (4, 2)
    plain = build(metrics=False)
    assert plain.train_batch([x], [y])[0].shape == ()
    assert plain.eval_batch(argosy.to_tensor(x), argosy.to_tensor(y))[0].shape == ()


def test_accumulated_gradients_are_one_larger_batch():
    data = Points()
    model, other = build(), build()
    other.network.set_state_dict({k: v.clone() for k, v in model.network.state_dict().items()})
    loss = nn.CrossEntropyLoss(reduction="sum")
    for m in (model, other):
        m.prepare(optimizer.SGD(0.01, parameters=m.parameters()), loss)
    model.fit(data, batch_size=3, shuffle=False, accumulate_grad_batches=2, verbose=0)
    other.fit(data, batch_size=6, shuffle=False, verbose=0)
    for a, b in zip(weights(model), weights(other)):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)


def test_predict():
    data, model = Points(labels=False), build()
    out = model.predict(data, batch_size=8, verbose=0)
    assert len(out) == 1 and [b.shape for b in out[0]] == [(8, 2), (8, 2), (4, 2)]
    (stacked,) = model.predict(data, batch_size=8, stack_outputs=True, verbose=0)
    assert (stacked == np.concatenate(out[0])).all()
    (again,) = model.predict(Points(), batch_size=20, stack_outputs=True, verbose=0)
    np.testing.assert_allclose(again, stacked, rtol=1e-6)  # labels are left out


class Record(callbacks.Callback):
    def __init__(self):
        super().__init__()
        self.seen = []

    def __getattribute__(self, name):
        if name.startswith("on_"):
            return lambda *args: self.seen.append((name[3:], *args))
        return super().__getattribute__(name)


def test_callbacks_see_every_event():
    record = Record()
    model, data = build(), Points()
    model.fit(data, data, batch_size=10, epochs=1, verbose=0, callbacks=[record])
    assert [e[0] for e in record.seen] == [
        "train_begin",
        "epoch_begin",
        *["train_batch_begin", "train_batch_end"] * 2,
        "epoch_end",
        "eval_begin",
        *["eval_batch_begin", "eval_batch_end"] * 2,
        "eval_end",
        "train_end",
    ]
    assert record.params == {
        "batch_size": None,
        "epochs": 1,
        "steps": 2,
        "verbose": 0,
        "metrics": ["loss", "acc"],
    }
    assert record.model is model
    ends = [e for e in record.seen if e[0] == "train_batch_end"]
    assert [e[1] for e in ends] == [0, 1]
    logs = ends[1][2]
    assert set(logs) == {"loss", "acc", "step", "batch_size"}
    assert logs["step"] == 1 and logs["batch_size"] == 10 and isinstance(logs["loss"][0], float)


def test_num_iters_counts_over_epochs():
    record, model = Record(), build()
    model.fit(Points(), batch_size=4, epochs=5, verbose=0, num_iters=7, callbacks=record)
    assert sum(e[0] == "train_batch_end" for e in record.seen) == 7
    assert sum(e[0] == "epoch_end" for e in record.seen) == 2
    result = model.evaluate(Points(), batch_size=4, verbose=0, num_iters=2)
    assert set(result) == {"loss", "acc"}


def test_gradients_that_num_iters_cuts_off_stay():
    batches = [(p.x[i : i + 4], p.y[i : i + 4]) for p in [Points()] for i in range(0, 20, 4)]
    model, net = build(), nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 2))
    net.set_state_dict(model.network.state_dict())
    opt, loss = optimizer.Adam(0.01, parameters=net.parameters()), nn.CrossEntropyLoss()
    for i, (x, y) in enumerate(batches[:4]):
        loss(net(argosy.to_tensor(x)), argosy.to_tensor(y)).backward()
        if i == 2:
            opt.step()
            opt.clear_grad()
    model.fit(
        Points(), batch_size=4, verbose=0, shuffle=False, num_iters=4, accumulate_grad_batches=3
    )
    for ours, theirs in zip(model.parameters(), net.parameters()):
        assert np.array_equal(ours.numpy(), theirs.numpy())
        assert np.array_equal(ours.grad.numpy(), theirs.grad.numpy())
        assert np.abs(theirs.grad.numpy()).max() > 0


def test_evaluation_every_so_often():
    record = Record()
    build().fit(
        Points(), Points(), batch_size=10, epochs=5, eval_freq=2, verbose=0, callbacks=record
    )
    assert sum(e[0] == "eval_begin" for e in record.seen) == 3  # after epochs 0, 2 and 4


def test_loaders_and_plain_batches():
    data, model = Points(), build()
    record = Record()
    model.fit(io.DataLoader(data, batch_size=10), verbose=0, callbacks=record)
    model.fit([[data.x[:4], data.y[:4]]] * 3, verbose=0, callbacks=record)
    assert sum(e[0] == "train_batch_end" for e in record.seen) == 5

    class Stream(io.IterableDataset):
        def __iter__(self):
            yield from (data[i] for i in range(7))

    model.fit(Stream(), batch_size=2, verbose=0, callbacks=record)
    assert sum(e[0] == "train_batch_end" for e in record.seen) == 9
    model.fit(data, batch_size=10, verbose=0, num_workers=2)


def test_which_fields_are_inputs():
    class Two(nn.Layer):
        def __init__(self):
            super().__init__()
            self.a, self.b = nn.Linear(4, 2), nn.Linear(4, 2)

        def forward(self, x, mask=None):
            return self.a(x) if mask is None else self.a(x) + self.b(mask)

    model = argosy.Model(Two())
    x, y = np.zeros((3, 4), "float32"), np.zeros((3, 1), "int64")
    assert [len(part) for part in model._split([x, y], "train")] == [1, 1]
    assert [len(part) for part in model._split([x, x, y], "train")] == [2, 1]
    assert [len(part) for part in model._split([x, x, y], "predict")] == [2, 1]
    assert [len(part) for part in model._split([x], "predict")] == [1, 0]


def test_two_metrics_and_their_names():
    model = build()
    model.prepare(
        model._optimizer,
        nn.CrossEntropyLoss(),
        [metric.Accuracy(topk=(1, 2)), metric.Accuracy(name="b")],
    )
    result = model.evaluate(Points(), batch_size=8, verbose=0)
    assert list(result) == ["loss", "acc_top1", "acc_top2", "b"]
    assert result["acc_top2"] == 1.0 and result["acc_top1"] == result["b"]


def test_what_callbacks_are_told_at_the_end():
    told = {}

    class Watch(callbacks.Callback):
        def on_eval_end(self, logs=None):
            told["eval"] = sorted(logs)

        def on_train_end(self, logs=None):
            told["train"] = sorted(logs)

    build().fit(Points(), Points(), batch_size=8, verbose=0, callbacks=Watch())
    assert told == {name: ["acc", "batch_size", "loss", "step"] for name in ("eval", "train")}


def test_lines(capsys):
    model = build()
    model.fit(Points(), Points(), batch_size=8, epochs=1, log_freq=2, verbose=2)
    lines = capsys.readouterr().out.splitlines()
    assert lines[1] == "Epoch 1/1"
    assert lines[2].startswith("step 2/3 - loss: ") and " - acc: 0." in lines[2]
    assert lines[3].startswith("step 3/3 - loss: ")
    assert lines[4] == "Eval begin..." and lines[-1] == "Eval samples: 20"
    model.predict(Points(labels=False), batch_size=8)
    assert capsys.readouterr().out.splitlines()[-1] == "Predict samples: 20"
    model.fit(Points(), batch_size=8, verbose=0)
    assert capsys.readouterr().out == ""


def test_save_load_and_go_on_exactly(tmp_path):
    def scheduled():
        model = build()
        schedule = optimizer.lr.ExponentialDecay(0.05, 0.9)
        model.prepare(
            optimizer.AdamW(schedule, parameters=model.parameters()), nn.CrossEntropyLoss()
        )
        return model

    data = Points()
    model = scheduled()
    model.fit(data, batch_size=5, epochs=2, verbose=0)
    path = str(tmp_path / "deep" / "m")
    model.save(path)
    assert sorted(os.listdir(tmp_path / "deep")) == ["m.pdopt", "m.pdparams"]
    model.fit(data, batch_size=5, epochs=2, verbose=0)
    with unique_name.guard():
        again = scheduled()
        again.load(path)
        again.fit(data, batch_size=5, epochs=2, verbose=0)
    for a, b in zip(weights(model), weights(again)):
        assert a.tobytes() == b.tobytes()


def test_load_errors(tmp_path):
    model = build()
    model.save(str(tmp_path / "m"))
    with pytest.raises(AssertionError, match="no file .*zz.pdparams"):
        model.load(str(tmp_path / "zz"))
    with pytest.raises(ValueError, match="'weight' is not in the file"):
        argosy.Model(nn.Linear(4, 2)).load(str(tmp_path / "m"))
    wider = argosy.Model(nn.Sequential(nn.Linear(4, 9), nn.Tanh(), nn.Linear(9, 2)))
    with pytest.raises(ValueError, match=r"shape \[4, 8\] in the file, but \[4, 9\]"):
        wider.load(str(tmp_path / "m.pdparams"))
    with pytest.warns(UserWarning, match="left out"):
        wider.load(str(tmp_path / "m"), skip_mismatch=True)
    os.remove(tmp_path / "m.pdopt")
    with pytest.warns(
        UserWarning, match="no file .*m.pdopt': the optimizer's state stays as it is"
    ):
        model.load(str(tmp_path / "m"))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.load(str(tmp_path / "m"), reset_optimizer=True)
    assert wider.network[2].bias.numpy().tolist() == model.network[2].bias.numpy().tolist()


def test_checkpoints(tmp_path, capsys):
    build().fit(Points(), batch_size=10, epochs=3, save_dir=str(tmp_path), save_freq=2, verbose=0)
    names = {f"{n}.{end}" for n in ("0", "2", "final") for end in ("pdparams", "pdopt")}
    assert set(os.listdir(tmp_path)) == names
    told = [f"save checkpoint at {tmp_path / name}" for name in ("0", "2", "final")]
    assert capsys.readouterr().out.splitlines() == told


def test_schedulers_step_by_batch_or_epoch():
    for callback, rate in (
        (None, 0.5**6),
        (callbacks.LRScheduler(by_step=False, by_epoch=True), 0.5**3),
    ):
        model = build()
        schedule = optimizer.lr.ExponentialDecay(1.0, 0.5)
        model.prepare(optimizer.SGD(schedule, parameters=model.parameters()), nn.CrossEntropyLoss())
        model.fit(Points(), batch_size=10, epochs=3, verbose=0, callbacks=callback)
        assert schedule() == rate
    with pytest.raises(ValueError, match="exclude each other"):
        callbacks.LRScheduler(by_step=True, by_epoch=True)


def test_early_stopping(tmp_path, capsys):
    model = build(rate=0.0)  # nothing gets better
    record = Record()
    stop = callbacks.EarlyStopping(monitor="loss", patience=2)
    model.fit(
        Points(), Points(), batch_size=10, epochs=9, verbose=0, save_dir=str(tmp_path),
        save_freq=100, callbacks=[stop, record],
    )  # fmt: skip
    assert sum(e[0] == "epoch_end" for e in record.seen) == 3
    assert "early stopping, loss has not got better" in capsys.readouterr().out
    assert (tmp_path / "best_model.pdparams").exists()
    with pytest.warns(UserWarning, match="no figure 'f1': it has .'loss', 'acc'."):
        model.fit(
            Points(), Points(), batch_size=10, verbose=0, callbacks=callbacks.EarlyStopping("f1")
        )


def test_reduce_lr_on_plateau(capsys):
    model = build(rate=0.0)
    model.prepare(optimizer.SGD(1e-9, parameters=model.parameters()), nn.CrossEntropyLoss())
    reduce = callbacks.ReduceLROnPlateau(patience=1, factor=0.5, min_lr=2e-10)
    model.fit(Points(), Points(), batch_size=10, epochs=5, verbose=0, callbacks=reduce)
    assert model._optimizer.get_lr() == pytest.approx(2e-10)
    assert "lowered from 1e-09 to 5e-10" in capsys.readouterr().out
    with pytest.raises(ValueError, match="factor"):
        callbacks.ReduceLROnPlateau(factor=1.0)


@pytest.mark.parametrize(
    "call,error,text",
    [
        (lambda m: m.prepare(None, 3), TypeError, "loss has the wrong type"),
        (lambda m: m.prepare(None, None, 3), AssertionError, "metric.Metric, got int"),
        (lambda m: m.fit(), AssertionError, "train_data is missing"),
        (lambda m: m.train_batch([0], [0]), AssertionError, "no optimizer"),
        (lambda m: m.fit(Points()), AssertionError, "no optimizer"),
        (lambda m: m.summary(), AssertionError, "input_size is needed"),
        (lambda m: m.save("somewhere/"), ValueError, "end in a file name"),
    ],
)
def test_errors(call, error, text):
    with pytest.raises(error, match=text):
        call(argosy.Model(nn.Linear(4, 2)))


def test_callbacks_are_checked():
    with pytest.raises(TypeError, match="callbacks.Callback, got str"):
        build().fit(Points(), verbose=0, callbacks=["print"])


def test_mixed_precision_settings_are_accepted():
    model = build()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.prepare(model._optimizer, nn.CrossEntropyLoss(), amp_configs="O1")
        model.fit(Points(), batch_size=10, verbose=0)
    with pytest.raises(ValueError, match="amp_configs"):
        model.prepare(model._optimizer, nn.CrossEntropyLoss(), amp_configs="O7")
    with pytest.raises(ValueError, match="unknown arguments: .* got use_pure_fp16. Do this"):
        model.prepare(model._optimizer, nn.CrossEntropyLoss(), amp_configs={"use_pure_fp16": True})


@pytest.mark.parametrize(
    "name", ["eval_freq", "save_freq", "log_freq", "accumulate_grad_batches", "epochs", "num_iters"]
)
def test_counts_are_checked_before_anything_runs(name):
    least = 0 if name in ("epochs", "num_iters") else 1
    for value in (least - 1, 1.5):
        with pytest.raises(
            ValueError, match=rf"\[Model.fit\] {name}: expected an int of {least} or"
        ):
            build().fit(Points(), verbose=0, **{name: value})
    if name in ("log_freq", "num_iters"):
        with pytest.raises(ValueError, match=rf"\[Model.evaluate\] {name}: expected an int of"):
            build().evaluate(Points(), verbose=0, **{name: -1})
