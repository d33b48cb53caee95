"""examples/cpp/run_model: a saved model runs in C++ and gives what it gives in Python."""

import subprocess

import numpy as np
import pytest

import argosy
from argosy import _core
from argosy._recorder import Recorder
from argosy.static.nn.control_flow import while_loop


@pytest.fixture
def run_model(runner):
    """Calls the program."""

    def run(*arguments):
        return subprocess.run([runner, *arguments], capture_output=True, text=True)

    return run


def test_saved_model(run_model, tmp_path):
    """A convolution, a large constant, and a loop as long as an input says."""
    argosy.seed(3)
    layer = argosy.nn.Sequential(
        argosy.nn.Conv2D(3, 8, 3, padding=1), argosy.nn.BatchNorm2D(8), argosy.nn.ReLU()
    )
    layer.eval()
    table = argosy.randn([200, 8])
    with Recorder() as r:
        x = r.input([-1, 3, 8, 8], "float32")
        n = r.input([], "int64")
        y = layer(x).mean(axis=[2, 3])
        i = argosy.full([], 0, "int64")
        y = while_loop(lambda i, y: i < n, lambda i, y: (i + 1, (y * 1.1).tanh()), [i, y])[1]
        scores = argosy.matmul(y, table, transpose_y=True)
    _core.program_add_output(r._program, "scores", scores)
    _core.program_add_output(r._program, "features", y)
    prefix = tmp_path / "model"
    _core.program_save(r._program, prefix, None)

    feeds = {"x0": argosy.randn([5, 3, 8, 8]), "x1": argosy.to_tensor(3)}
    _core.weights_save(tmp_path / "in.safetensors", feeds, None)
    done = run_model(prefix, tmp_path / "in.safetensors", tmp_path / "out.safetensors")
    assert done.returncode == 0, done.stderr
    assert "input x0: float32[5, 3, 8, 8]" in done.stdout
    assert "scores: float32[5, 200] = " in done.stdout
    got, _ = _core.weights_load(tmp_path / "out.safetensors")
    want = r.run(list(feeds.values()), [scores])[0].numpy()
    np.testing.assert_array_equal(got["scores"].numpy(), want)

    assert run_model(prefix).returncode == 0  # on ones


def test_model_of_jit_save(run_model, tmp_path):
    class Net(argosy.nn.Layer):
        def __init__(self):
            super().__init__()
            self.inner = argosy.nn.Sequential(
                argosy.nn.Linear(6, 8), argosy.nn.Dropout(0.5), argosy.nn.LayerNorm(8)
            )

        def forward(self, x):
            y = self.inner(x)
            if y.sum() > 0:
                y = -y
            return y, x.sum(axis=-1)

    net = Net()
    net.eval()
    prefix = str(tmp_path / "net")
    spec = argosy.static.InputSpec([None, 6], "float32", name="features")
    argosy.jit.save(net, prefix, input_spec=[spec])
    x = argosy.randn([4, 6])
    _core.weights_save(tmp_path / "in.safetensors", {"features": x}, None)
    done = run_model(prefix, tmp_path / "in.safetensors", tmp_path / "out.safetensors")
    assert done.returncode == 0, done.stderr
    got, _ = _core.weights_load(tmp_path / "out.safetensors")
    for name, want in zip(("output_0", "output_1"), net(x)):
        np.testing.assert_allclose(got[name].numpy(), want.numpy(), rtol=1e-6, atol=1e-6)


def test_errors(run_model, tmp_path):
    done = run_model(tmp_path / "nothing")
    assert done.returncode == 1 and "nothing.argosy" in done.stderr
    (tmp_path / "bad.argosy").write_bytes(b"argosy\r\n" + bytes(30))
    _core.weights_save(tmp_path / "bad.safetensors", {}, None)
    done = run_model(tmp_path / "bad")
    assert done.returncode == 1 and "damaged" in done.stderr
    assert run_model().returncode == 2
