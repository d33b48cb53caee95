"""Models written as Paddle has them: read back they give what the layer gives. Real Paddle runs the same
nets by tools/paddle_models.py --written."""

import json
import subprocess
import sys

import numpy as np
import pytest
from tests.python.inference.paddle_cases import cases
from tests.python.onnx.test_export import flat, floats

import argosy as paddle
from argosy.static import InputSpec

nn = paddle.nn
F = nn.functional
CASES = cases()
X = InputSpec([None, 4], "float32", "x")


def same(got, wanted):
    assert len(got) == len(wanted)
    for g, w in zip(got, wanted):
        assert g.dtype == w.dtype and g.shape == w.shape
        scale = max(np.abs(w).max(initial=0), 1e-30)
        np.testing.assert_allclose(g / scale, w / scale, rtol=0, atol=1e-5)


@pytest.mark.parametrize("form", ["paddle", "pdmodel"])
@pytest.mark.parametrize("name", CASES)
def test_read_back(name, form, tmp_path):
    layer, specs, inputs = CASES[name]
    paddle.jit.save(layer, str(tmp_path / "net"), input_spec=specs, format=form)
    loaded = paddle.jit.load(str(tmp_path / "net"))
    tensors = [paddle.to_tensor(x) for x in inputs]
    got = [v.numpy() for v in flat(loaded(*tensors))]
    same(got, [v.numpy() for v in flat(layer(*tensors))])


def test_files(tmp_path):
    net = nn.Sequential(nn.Linear(4, 3), nn.Dropout(0.5), nn.BatchNorm1D(3))
    paddle.jit.save(net, str(tmp_path / "deep" / "net"), input_spec=[X], format="paddle")
    assert net.training
    files = sorted(p.name for p in (tmp_path / "deep").iterdir())
    assert files == ["net.json", "net.pdiparams"]
    program = json.loads((tmp_path / "deep/net.json").read_text())
    assert program["base_code"]["magic"] == "pir"
    operations = program["program"]["regions"][0]["blocks"][0]["ops"]
    assert not any("dropout" in o["#"] for o in operations)
    names = [o["A"][3] for o in operations if o["#"] == "p"]
    assert len(names) == len(set(names)) == 6
    # As it is in evaluation, whatever mode it was in.
    x = paddle.to_tensor(floats(3, 4))
    got = paddle.jit.load(str(tmp_path / "deep/net"))(x).numpy()
    net.eval()
    same([got], [net(x).numpy()])


def test_files_of_paddle_2(tmp_path):
    class Net(nn.Layer):  # outputs that are an input, a parameter, and one value twice
        def __init__(self):
            super().__init__()
            self.bias = self.create_parameter([4])

        def forward(self, x):
            y = x + self.bias
            return x, self.bias, y, y

    net = Net()
    spec = [InputSpec([None, 4], "float32", "feed")]
    paddle.jit.save(net, str(tmp_path / "net"), input_spec=spec, format="pdmodel")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["net.pdiparams", "net.pdmodel"]
    x = paddle.to_tensor(floats(3, 4))
    got = [v.numpy() for v in paddle.jit.load(str(tmp_path / "net"))(x)]
    same(got, [v.numpy() for v in net(x)])


def test_files_of_paddle_2_have_feeds_as_jit_load_takes_them(tmp_path):
    """Paddle's jit.load gives the inputs in the opposite order of the operations that feed them."""

    def f(first_input, second_input):
        return first_input - second_input.sum()

    specs = [InputSpec([None, 4], "float32", n) for n in ("first_input", "second_input")]
    paddle.jit.save(f, str(tmp_path / "net"), input_spec=specs, format="pdmodel")
    content = (tmp_path / "net.pdmodel").read_bytes()

    def feeds(name):  # variables come before operations, and feeds before others
        return content.index(name, content.index(name) + 1)

    assert feeds(b"second_input") < feeds(b"first_input")
    x, y = floats(3, 4), floats(2, 4)
    got = paddle.jit.load(str(tmp_path / "net"))(paddle.to_tensor(x), paddle.to_tensor(y))
    same([got.numpy()], [x - y.sum()])


def test_bounds_that_paddle_2_has_as_integers(tmp_path):
    spec = [InputSpec([8], "float32", "x")]

    def f(x):
        return paddle.histogram(x, 4, -0.5, 1.5)

    paddle.jit.save(f, str(tmp_path / "net"), input_spec=spec, format="paddle")
    x = paddle.to_tensor(floats(8))
    same([paddle.jit.load(str(tmp_path / "net"))(x).numpy()], [f(x).numpy()])
    with pytest.raises(
        NotImplementedError, match="histogram: Paddle 2 has integers for min, got -0.5"
    ):
        paddle.jit.save(f, str(tmp_path / "old"), input_spec=spec, format="pdmodel")


def test_attributes_that_paddle_2_asks_for(tmp_path):
    def f(x, y, n):
        return (
            paddle.clip(x, -0.1, 0.3),  # bounds that 32 bits do not hold
            paddle.clip(n, -(2**40) - 1, 2**40 + 1),
            x[::2, 1:4:2],
            F.thresholded_relu(y, 0.5),
            paddle.clip(y, -0.5, 0.5),
            y.expand([n.shape[0], 2, 4]),
            F.softshrink(y, 0.2),
        )

    specs = [
        InputSpec([None, 4], "float64", "x"),
        InputSpec([2, 4], "float32", "y"),
        InputSpec([None], "int64", "n"),
    ]
    paddle.jit.save(f, str(tmp_path / "net"), input_spec=specs, format="pdmodel")
    content = (tmp_path / "net.pdmodel").read_bytes()
    for attribute in (b"infer_flags", b"min", b"max", b"shape", b"lambda"):
        assert bytes([10, len(attribute)]) + attribute in content
    x, y, n = floats(3, 4).astype("float64"), floats(2, 4), np.int64([2**50, -(2**50), 7])
    got = paddle.jit.load(str(tmp_path / "net"))(*map(paddle.to_tensor, (x, y, n)))
    wanted = [
        np.clip(x, -0.1, 0.3),
        np.clip(n, -(2**40) - 1, 2**40 + 1),
        x[::2, 1:4:2],
        np.where(y > 0.5, y, 0),
        np.clip(y, -0.5, 0.5),
        np.broadcast_to(y, [3, 2, 4]),
        np.sign(y) * np.maximum(np.abs(y) - np.float32(0.2), 0),
    ]
    for g, w in zip(got, wanted, strict=True):
        np.testing.assert_array_equal(g.numpy(), w)


def test_loops_that_swap_what_they_carry(tmp_path):
    def fibonacci(x, n):
        a, b, i = x, x, paddle.zeros([], "int64")
        while i < n:
            a, b = b, a + b
            i = i + 1
        return a, b

    specs = [X, InputSpec([], "int64", "n")]
    paddle.jit.save(fibonacci, str(tmp_path / "net"), input_spec=specs, format="pdmodel")
    got = paddle.jit.load(str(tmp_path / "net"))(paddle.ones([1, 4]), paddle.to_tensor(6))
    same([v.numpy() for v in got], [np.full([1, 4], n, "float32") for n in (13, 21)])


def test_numbers_that_only_a_run_knows(tmp_path):
    def f(x, n):
        x = x + 0
        x[:, n : n + 1] = 1
        return x

    specs = [X, InputSpec([], "int64", "n")]
    paddle.jit.save(f, str(tmp_path / "net"), input_spec=specs, format="paddle")
    with pytest.raises(
        NotImplementedError, match="only a run knows has no counterpart in a .pdmodel"
    ):
        paddle.jit.save(f, str(tmp_path / "net"), input_spec=specs, format="pdmodel")
    assert not (tmp_path / "net.pdmodel").exists()


@pytest.mark.parametrize("form", ["paddle", "pdmodel"])
def test_a_value_that_is_fetched_twice(form, tmp_path):
    """Paddle's predictors know an output by the name of the one fetch of its value."""

    def f(x):
        y = x * 2
        return y, y, y

    paddle.jit.save(f, str(tmp_path / "f"), input_spec=[X], format=form)
    if form == "paddle":
        ops = json.loads((tmp_path / "f.json").read_text())["program"]["regions"][0]["blocks"][0][
            "ops"
        ]
        fetched = [o["I"][0]["%"] for o in ops if o["#"].endswith(".fetch")]
        assert len(fetched) == len(set(fetched)) == 3
    x = floats(3, 4)
    same(
        [v.numpy() for v in paddle.jit.load(str(tmp_path / "f"))(paddle.to_tensor(x))], [x * 2] * 3
    )


def test_weights_that_are_shared_are_there_once(tmp_path):
    linear = nn.Linear(4, 4)
    paddle.jit.save(
        nn.Sequential(linear, linear), str(tmp_path / "n"), input_spec=[X], format="paddle"
    )
    size = (tmp_path / "n.pdiparams").stat().st_size
    paddle.jit.save(linear, str(tmp_path / "one"), input_spec=[X], format="paddle")
    assert size == (tmp_path / "one.pdiparams").stat().st_size


def test_values_that_json_has_no_number_for(tmp_path):
    def f(x):
        return paddle.where(x > 0, x, paddle.full_like(x, -float("inf"))), paddle.full(
            [2], float("nan")
        )

    paddle.jit.save(f, str(tmp_path / "f"), input_spec=[X], format="paddle")
    x = floats(3, 4)
    low, nothing = paddle.jit.load(str(tmp_path / "f"))(paddle.to_tensor(x))
    np.testing.assert_array_equal(low.numpy(), np.where(x > 0, x, -np.inf))
    assert np.isnan(nothing.numpy()).all()


def test_models_of_files(tmp_path):
    net = nn.Linear(4, 2)
    x = paddle.to_tensor(floats(3, 4))
    paddle.jit.save(net, str(tmp_path / "ours"), input_spec=[X])
    paddle.onnx.export(net, str(tmp_path / "onnx"), [X])
    for model in ("ours", "onnx.onnx"):
        for form in ("paddle", "pdmodel"):
            prefix = str(tmp_path / form / "net")
            paddle.inference.convert_to_paddle(str(tmp_path / model), None, prefix, form)
            same([paddle.jit.load(prefix)(x).numpy()], [net(x).numpy()])
    with pytest.raises(ValueError, match="format: expected one of paddle, pdmodel, got 'json'"):
        paddle.inference.convert_to_paddle(str(tmp_path / "ours"), None, prefix, "json")


@pytest.mark.parametrize(("to", "file"), [("paddle", ".json"), ("pdmodel", ".pdmodel")])
def test_command(to, file, tmp_path):
    net = nn.Linear(4, 2)
    paddle.jit.save(net, str(tmp_path / "ours"), input_spec=[X])
    command = [sys.executable, "-m", "argosy.cli", "convert"]
    there = [*command, str(tmp_path / "ours"), str(tmp_path / "a/paddle"), "--to", to]
    back = [*command, str(tmp_path / f"a/paddle{file}"), str(tmp_path / "b/ours")]
    for run in (there, back):
        done = subprocess.run(run, capture_output=True, text=True, timeout=300)
        assert done.returncode == 0, done.stderr
        assert "input x: float32 [-1, 4]" in done.stdout
    x = paddle.to_tensor(floats(3, 4))
    same([paddle.jit.load(str(tmp_path / "b/ours"))(x).numpy()], [net(x).numpy()])
    done = subprocess.run(
        [*command, str(tmp_path / "none"), str(tmp_path / "c"), "--to", to],
        capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    assert done.returncode == 1 and "there is no model" in done.stderr


@pytest.mark.parametrize(
    ("function", "error", "text"),
    [
        (lambda x: paddle.quantile(x, 0.5), NotImplementedError, "counterpart in Paddle: quantile_positions"),
        (lambda x: F.interpolate(x.unsqueeze([0, 1]), [3, 3], mode="bilinear", antialias=True), NotImplementedError, "antialias"),
    ],
)  # fmt: skip
def test_ops_that_are_not_written(function, error, text, tmp_path):
    with pytest.raises(error, match=text):
        paddle.jit.save(function, str(tmp_path / "f"), input_spec=[X], format="paddle")
    assert not list(tmp_path.iterdir())


def test_a_format_that_is_not_there(tmp_path):
    with pytest.raises(
        ValueError, match="format: expected one of argosy, paddle, pdmodel, got 'pickle'"
    ):
        paddle.jit.save(nn.ReLU(), str(tmp_path / "f"), input_spec=[X], format="pickle")


def test_a_program_that_is_nested_deep_is_refused(tmp_path):
    paddle.jit.save(nn.Linear(4, 2), str(tmp_path / "net"), input_spec=[X], format="paddle")
    deep = "[" * 200_000 + "]" * 200_000
    (tmp_path / "net.json").write_text('{"base_code": {"magic": "pir"}, "program": %s}' % deep)
    with pytest.raises(ValueError, match=r"no Program of Paddle: .*nested deeper than 500"):
        paddle.jit.load(str(tmp_path / "net"))
