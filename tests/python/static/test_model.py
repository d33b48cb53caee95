"""Model in static mode does what it does in eager mode."""

import numpy as np
import pytest

import argosy
from argosy import nn, static

rng = np.random.default_rng(2)
X = rng.random((64, 4)).astype("float32")
Y = (X.sum(1, keepdims=True) > 2).astype("int64")


class Data(argosy.io.Dataset):
    def __getitem__(self, i):
        return X[i], Y[i]

    def __len__(self):
        return len(X)


def make():
    network = nn.Sequential(
        nn.Linear(4, 8, bias_attr=False), nn.BatchNorm1D(8), nn.ReLU(), nn.Linear(8, 2)
    )
    specs = static.InputSpec([None, 4], "float32", "x"), static.InputSpec([None, 1], "int64", "y")
    model = argosy.Model(network, *specs)
    optimizer = argosy.optimizer.Adam(0.05, parameters=model.parameters())
    model.prepare(optimizer, nn.CrossEntropyLoss(), argosy.metric.Accuracy())
    return model


def outcome(model):
    losses = [model.train_batch([X], [Y])[0][0] for _ in range(4)]
    judged = model.evaluate(Data(), batch_size=16, verbose=0)
    predicted = model.predict(Data(), batch_size=16, stack_outputs=True, verbose=0)[0]
    return [*losses, judged["acc"], predicted]


def test_equals_eager(tmp_path):
    model = make()
    path = str(tmp_path / "model")
    model.save(path)
    got = outcome(model)
    model.save(path + "_trained")
    argosy.disable_static()
    with argosy.utils.unique_name.guard():
        other = make()
        other.load(path)
        for a, b in zip(got, outcome(other)):
            np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5)
        other.load(path + "_trained", reset_optimizer=True)
        np.testing.assert_allclose(other.predict_batch([X])[0], got[-1], rtol=1e-5, atol=1e-6)
    argosy.enable_static()


def test_fit_save_and_errors(tmp_path):
    model = make()
    model.fit(Data(), epochs=20, batch_size=16, verbose=0)
    assert model.evaluate(Data(), batch_size=16, verbose=0)["acc"] > 0.8
    prefix = str(tmp_path / "inference")
    model.save(prefix, training=False)
    want = model.predict_batch([X])[0]
    exe = static.Executor()
    with static.scope_guard(static.Scope()):
        program, names, outputs = static.load_inference_model(prefix, exe)
        assert names == ["x"]
        np.testing.assert_allclose(exe.run(program, feed={"x": X}, fetch_list=outputs)[0], want)
    with pytest.raises(AssertionError, match="update=False"):
        model.train_batch([X], [Y], update=False)
    with pytest.raises(TypeError, match="'inputs' must be given"):
        argosy.Model(nn.Linear(4, 2))
    with pytest.raises(ValueError, match=r"\['x', 'y'\], got 1"):
        model.train_batch([X])
