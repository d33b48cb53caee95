"""Callbacks that hand figures to other programs, which are replaced by recorders of calls."""

import sys
import types

import numpy as np
import pytest

import argosy
from argosy import callbacks, io, metric, nn, optimizer


class Points(io.Dataset):
    def __getitem__(self, i):
        return np.full(3, i, "float32"), np.array([i % 2])

    def __len__(self):
        return 10


def build():
    model = argosy.Model(nn.Linear(3, 2))
    adapt = optimizer.SGD(0.01, parameters=model.parameters())
    model.prepare(adapt, nn.CrossEntropyLoss(), metric.Accuracy())
    return model


@pytest.fixture
def visualdl(monkeypatch):
    calls = []

    class LogWriter:
        def __init__(self, folder):
            calls.append(("open", folder))

        def add_scalar(self, tag, step, value):
            assert isinstance(value, float)
            calls.append((tag, step))

        def close(self):
            calls.append("close")

    module = types.ModuleType("visualdl")
    module.LogWriter = LogWriter
    monkeypatch.setitem(sys.modules, "visualdl", module)
    return calls


def test_visualdl(visualdl):
    model, callback = build(), callbacks.VisualDL("somewhere")
    model.fit(Points(), Points(), batch_size=5, epochs=2, verbose=0, callbacks=callback)
    names = ("loss", "acc")
    want = [("open", "somewhere")]
    for epoch in range(2):
        want += [(f"train/{name}", 2 * epoch + step) for step in (1, 2) for name in names]
        want += [(f"eval/{name}", epoch) for name in names]
    assert visualdl == [*want, "close"]
    del visualdl[:]
    model.evaluate(Points(), batch_size=5, verbose=0, callbacks=callbacks.VisualDL("other"))
    assert visualdl == [("open", "other"), ("eval/loss", 0), ("eval/acc", 0), "close"]


def test_only_the_first_process_writes(visualdl, monkeypatch):
    monkeypatch.setenv("PADDLE_TRAINER_ID", "1")
    build().fit(Points(), batch_size=5, verbose=0, callbacks=callbacks.VisualDL("somewhere"))
    assert visualdl == []


def test_wandb(monkeypatch):
    calls = []

    class Run:
        def define_metric(self, name, step_metric=None):
            calls.append((name, step_metric))

        def log(self, figures):
            calls.append(sorted(figures))

        def finish(self):
            calls.append("finish")

    module = types.ModuleType("wandb")
    module.run = None
    module.init = lambda **options: calls.append(options) or Run()
    monkeypatch.setitem(sys.modules, "wandb", module)
    callback = callbacks.WandbCallback("project", mode="offline", tags=["x"])
    assert calls[0]["project"] == "project" and calls[0]["mode"] == "offline"
    assert calls[0]["tags"] == ["x"] and callback.run is callback.run
    build().fit(Points(), Points(), batch_size=5, epochs=1, verbose=0, callbacks=callback)
    assert calls[2] == ("train/*", "train/step") and calls[4] == ("eval/*", "epoch")
    assert calls[5:] == [
        *[["train/acc", "train/loss", "train/step"]] * 2,
        ["epoch", "eval/acc", "eval/loss"],
        "finish",
    ]
    module.run = Run()
    with pytest.warns(UserWarning, match="in progress"):
        assert callbacks.WandbCallback().run is module.run


@pytest.mark.parametrize("name", ["visualdl", "wandb"])
def test_missing_packages(name, monkeypatch):
    monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(ImportError, match=name):
        if name == "wandb":
            callbacks.WandbCallback()
        build().fit(Points(), batch_size=5, verbose=0, callbacks=callbacks.VisualDL("x"))
