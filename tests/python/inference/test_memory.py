"""How much memory a load touches: what a process had at most, asked of the system."""

import json
import subprocess
import sys

import numpy as np
import pytest

import argosy as paddle
from argosy import inference, static

LOAD = """
import json, sys
import argosy
from argosy import inference

def of(field):
    with open("/proc/self/status") as f:
        return next(int(line.split()[1]) << 10 for line in f if line.startswith(field))

predictor = inference.create_predictor(inference.Config(sys.argv[2]))  # a small one: code, threads
before = of("VmRSS:")
predictor = inference.create_predictor(inference.Config(sys.argv[1]))
handle = predictor.get_input_handle(predictor.get_input_names()[0])
handle.copy_from_cpu(argosy.ones(json.loads(sys.argv[3]), sys.argv[4]).numpy())
predictor.run()
print(json.dumps([of("VmHWM:") - before, of("VmRSS:") - before]))
"""


def linears():
    """Products with matrices of 4 MB."""
    layers = [paddle.nn.Linear(1024, 1024) for _ in range(16)]
    return paddle.nn.Sequential(*layers), [1, 1024], "float32"


def convolutions():
    """Windows of 9 MB and products of 1 MB in turns, as residual nets have them."""
    layers = []
    for _ in range(6):
        layers += [
            paddle.nn.Conv2D(512, 512, 3, padding=1, bias_attr=False),
            paddle.nn.BatchNorm2D(512),
            paddle.nn.ReLU(),
            paddle.nn.Conv2D(512, 512, 1, bias_attr=False),
            paddle.nn.BatchNorm2D(512),
        ]
    return paddle.nn.Sequential(*layers), [1, 512, 4, 4], "float32"


def table():
    """A matrix of 64 MB that stays as it was read."""
    net = paddle.nn.Sequential(paddle.nn.Embedding(16384, 1024), paddle.nn.Linear(1024, 64))
    return net, [1, 8], "int64"


def saved(folder, net, shape, dtype):
    net.eval()
    prefix = str(folder / "net")
    paddle.jit.save(net, prefix, input_spec=[static.InputSpec(shape, dtype, "x")])
    return prefix


@pytest.mark.parametrize("make", [linears, convolutions, table])
def test_weights_are_in_memory_once(tmp_path, make):
    net, shape, dtype = make()
    weights = sum(p.numel().item() * 4 for p in net.parameters())
    small = saved(tmp_path / "small", paddle.nn.Linear(64, 64), [1, 64], "float32")
    prefix = saved(tmp_path / "large", net, shape, dtype)
    done = subprocess.run(
        [sys.executable, "-c", LOAD, prefix, small, json.dumps(shape), dtype],
        capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    most, held = json.loads(done.stdout)
    # As read and as packed at once would be twice as much. What else there is: one weight, a run.
    assert most < weights * 1.25 + (16 << 20), (most, weights)
    assert held < weights * 1.15 + (12 << 20), (held, weights)


class ReadTwice(paddle.nn.Layer):
    """Weights that are packed in two orders, packed twice in one, and read as they are."""

    def __init__(self):
        super().__init__()
        self.matrix = self.create_parameter([96, 96])
        self.window = self.create_parameter([96, 96, 3, 3])

    def forward(self, x):
        rows = paddle.matmul(paddle.matmul(x, self.matrix), self.matrix, transpose_y=True)
        rows = paddle.matmul(rows, self.matrix) + self.matrix.max()
        image = rows.reshape([1, 8, 4, 96]).transpose([0, 3, 1, 2])
        conv2d = paddle.nn.functional.conv2d
        image = conv2d(conv2d(image, self.window, padding=1), self.window, stride=2, padding=1)
        return conv2d(image, self.window, padding=1), self.window, self.matrix


def test_a_weight_that_is_read_again_is_not_dropped(tmp_path):
    net = ReadTwice()
    prefix = saved(tmp_path, net, [32, 96], "float32")
    x = np.random.RandomState(0).rand(32, 96).astype("float32")
    wanted = [t.numpy() for t in net(paddle.to_tensor(x))]
    predictor = inference.create_predictor(inference.Config(prefix))
    predictor.get_input_handle("x").copy_from_cpu(x)
    for _ in range(2):
        predictor.run()
        got = [predictor.get_output_handle(n).copy_to_cpu() for n in predictor.get_output_names()]
        for a, b in zip(got, wanted, strict=True):
            np.testing.assert_allclose(a, b, atol=1e-4 * np.abs(b).max(), rtol=0)
