"""FLAGS_check_nan_inf and amp.debugging."""

import csv
import inspect
import re

import numpy as np
import pytest

import argosy as paddle
from argosy import _support
from argosy.amp import debugging
from argosy.amp.debugging import DebugMode, TensorCheckerConfig

HERE = __file__
FLAGS = ("FLAGS_check_nan_inf", "FLAGS_check_nan_inf_level")


@pytest.fixture(autouse=True)
def flags_as_before():
    saved = paddle.get_flags(list(FLAGS))
    yield
    debugging.disable_tensor_checker()
    paddle.set_flags(saved)


@pytest.fixture
def checking():
    paddle.set_flags({"FLAGS_check_nan_inf": True, "FLAGS_check_nan_inf_level": 0})


def bad():
    return paddle.to_tensor([1.0, 0.0, -1.0])


def message(body):
    with pytest.raises(RuntimeError) as caught:
        body()
    return str(caught.value)


# --- the flag -----------------------------------------------------------------------------------


def test_the_op_and_its_ranges_are_named(checking):
    assert message(lambda: paddle.log(bad())) == (
        "(PreconditionNotMet) [log] NaN or Inf in the result: out has num_nan=1, num_inf=1 among 3 values.\n"
        "  input x: float32 [3], num_nan=0, num_inf=0, min=-1, max=1\n"
        "  output out: float32 [3], num_nan=1, num_inf=1, min=-inf, max=0\n"
        "Do this: the inputs are finite, so this op made them; keep its inputs in the range where "
        "it is defined, or scale them down."
    )


def test_the_error_is_raised_at_the_line(checking):
    x = bad()
    with pytest.raises(RuntimeError) as caught:
        x = x * 2
        line = inspect.currentframe().f_lineno + 1
        x = x.sqrt()
        x = x + 1
    (entry,) = [entry for entry in caught.traceback if str(entry.path) == HERE]
    assert entry.lineno + 1 == line


def test_what_came_in_is_told_from_what_was_made(checking):
    nan = paddle.to_tensor([1.0, float("nan")])
    text = message(lambda: nan + bad()[:2])
    assert text.startswith(
        "(PreconditionNotMet) [add] NaN or Inf in the result: out has num_nan=1, num_inf=0 among 2"
    )
    assert "input x: float32 [2], num_nan=1, num_inf=0, min=1, max=1" in text
    assert "input y: float32 [2], num_nan=0, num_inf=0, min=0, max=1" in text
    assert "an input has them already" in text


def test_lists_and_several_outputs(checking):
    inf = paddle.to_tensor([float("inf")])
    text = message(lambda: paddle.concat([bad(), inf]))
    assert "input x[0]: float32 [3], num_nan=0" in text
    assert "input x[1]: float32 [1], num_nan=0, num_inf=1, min=inf, max=inf" in text
    text = message(lambda: paddle.topk(paddle.to_tensor([1.0, float("inf"), 3.0]), 2))
    assert text.startswith("(PreconditionNotMet) [topk]") and ": int64 [2]" in text


def test_in_place(checking):
    text = message(lambda: bad().sqrt_())
    assert text.startswith("(PreconditionNotMet) [sqrt] NaN or Inf in the result")
    assert "input x: float32 [3], overwritten by the result" in text


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64", "complex64"])
@pytest.mark.parametrize("value", ["nan", "inf", "-inf"])
def test_every_dtype(checking, dtype, value):
    x = paddle.to_tensor([1.0, 2.0]).astype(dtype)
    y = paddle.to_tensor(np.array([1.0, float(value)]), dtype=dtype)
    text = message(lambda: x * y)
    counts = "num_nan=1, num_inf=0" if value == "nan" else "num_nan=0, num_inf=1"
    if dtype == "complex64":
        assert text.startswith("(PreconditionNotMet) [multiply]")
    else:
        assert f"out has {counts} among 2 values" in text
    x * x


def test_finite_results_pass(checking):
    x = paddle.to_tensor(np.linspace(-1e30, 1e30, 100003, dtype="float32"))
    assert np.isfinite(float((x + 1).sum()))
    assert float(paddle.to_tensor([65504.0], dtype="float16") * 1) == 65504
    assert float(paddle.to_tensor([3.3895314e38], dtype="bfloat16") * 1) > 3.38e38
    assert (paddle.zeros([0]) + 1).shape == [0]
    assert int(paddle.to_tensor([1]) // paddle.to_tensor([1])) == 1
    assert paddle.empty([1000]).shape == [1000]


@pytest.mark.parametrize("at", [0, 65535, 65536, 99999])
def test_one_among_many(checking, at):
    x = np.ones(100000, "float32")
    x[at] = np.inf
    x = paddle.to_tensor(x)
    assert "num_nan=0, num_inf=1 among 100000 values" in message(lambda: x + 1)


def test_infinities_inside_a_formula_are_no_results(checking):
    x = paddle.to_tensor([1000.0, -1000.0, 0.0], stop_gradient=False)
    for f in ("softplus", "sigmoid", "gelu", "log_sigmoid", "silu"):
        getattr(paddle.nn.functional, f)(x).sum().backward()
    mask = paddle.to_tensor([[0.0, -float("inf")], [0.0, 0.0]])
    assert np.isfinite(paddle.nn.functional.softmax(mask).numpy()).all()


def test_data_that_come_in_are_no_results(checking):
    nan = float("nan")
    x = paddle.to_tensor([nan, 1.0])
    paddle.to_tensor(np.array([nan]), dtype="float32")
    paddle.to_tensor(nan)
    assert np.isnan(x.numpy()[0]) and bool(paddle.isnan(x)[0]) and "nan" in str(x)
    x[1:]


def test_gradients(checking):
    x = paddle.to_tensor([0.0, 4.0], stop_gradient=False)
    y = paddle.sqrt(x).sum()
    text = message(y.backward)
    assert text.startswith(
        "(PreconditionNotMet) [sqrt_grad] NaN or Inf in the result: gradient of x has num_nan=0, num_inf=1 among 2"
    )
    assert "input gradient of output 0: float32 [2], num_nan=0, num_inf=0, min=1, max=1" in text


def test_ops_of_a_pylayer_are_checked(checking):
    class Mine(paddle.autograd.PyLayer):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, dy):
            return dy / (dy - dy)

    x = paddle.to_tensor([1.0], stop_gradient=False)
    y = Mine.apply(x)
    assert message(y.backward).startswith("(PreconditionNotMet) [divide]")


def test_training_goes_on_after_the_error(checking):
    layer = paddle.nn.Linear(2, 2)
    with pytest.raises(RuntimeError, match=r"\[linear\] NaN or Inf"):
        layer(paddle.to_tensor([[1.0, float("inf")]]))
    layer(paddle.to_tensor([[1.0, 2.0]])).sum().backward()
    assert np.isfinite(layer.weight.grad.numpy()).all()


def test_off_is_off():
    paddle.set_flags({"FLAGS_check_nan_inf": True})
    paddle.set_flags({"FLAGS_check_nan_inf": False})
    assert np.isnan(paddle.log(bad()).numpy()[2])


LINE = re.compile(
    r"\[PRECISION\] \[ERROR\] in \[device=cpu, op=log, tensor=out, dtype=fp32\], numel=3, "
    r"num_nan=1, num_inf=1, num_zero=1, max=0.000000e\+00, min=-inf, mean=-?nan "
    r"\((.*):(\d+)\)"
)


@pytest.mark.cpu_only("is about texts that name the CPU")
@pytest.mark.parametrize(
    "level, lines", [(1, ["log"]), (2, ["log", "scale"]), (3, ["log", "abs", "scale"])]
)
def test_levels_that_print(capsys, level, lines):
    x = bad()
    paddle.set_flags({"FLAGS_check_nan_inf": True, "FLAGS_check_nan_inf_level": level})
    y = paddle.log(x)
    line = inspect.currentframe().f_lineno - 1
    paddle.abs(x)
    paddle.scale(x, 1e5)
    paddle.set_flags({"FLAGS_check_nan_inf": False})
    assert np.isnan(y.numpy()[2])
    printed = capsys.readouterr().out.splitlines()
    assert [re.search("op=([a-z]+)", text)[1] for text in printed] == lines
    match = LINE.fullmatch(printed[0])
    assert match and match.groups() == (HERE, str(line))
    for text in printed[1:]:
        assert text.startswith("[PRECISION] in [device=cpu") and "num_nan" not in text


# --- check_numerics -----------------------------------------------------------------------------


@pytest.mark.cpu_only("is about texts that name the CPU")
def test_check_numerics_counts(capsys):
    stats, values = debugging.check_numerics(paddle.to_tensor([1.0, 0.0, 3.0]), "pow", "res")
    assert stats.dtype == paddle.int64 and stats.tolist() == [0, 0, 1]
    assert values.dtype == paddle.float32
    np.testing.assert_allclose(values.numpy(), [3, 0, 4 / 3], rtol=1e-6)
    assert capsys.readouterr().out == ""
    x = paddle.to_tensor([1.0, float("nan"), float("-inf"), 0.0])
    stats, values = debugging.check_numerics(x, "pow", "res", DebugMode.CHECK_NAN_INF)
    assert stats.tolist() == [1, 1, 1]
    np.testing.assert_array_equal(values.numpy(), [1, -np.inf, np.nan])
    assert "op=pow, tensor=res, dtype=fp32], numel=4, num_nan=1" in capsys.readouterr().out
    debugging.check_numerics(x[:1], "pow", "res", DebugMode.CHECK_ALL)
    assert capsys.readouterr().out.startswith("[PRECISION] in [device=cpu, op=pow, tensor=res")


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float64"])
def test_check_numerics_of_other_dtypes(dtype):
    x = paddle.to_tensor([[1.0, 0.0], [-1.0, 0.5]]).astype(dtype).t()
    stats, values = debugging.check_numerics(x, "op", "x")
    assert stats.tolist() == [0, 0, 1]
    np.testing.assert_array_equal(values.numpy(), np.float32([1, -1, 0.125]))


def test_check_numerics_of_nothing_and_of_what_it_does_not_take():
    stats, values = debugging.check_numerics(paddle.zeros([0]), "op", "x")
    assert stats.tolist() == [0, 0, 0] and values.tolist() == [0, 0, 0]
    with pytest.raises(TypeError, match=r"\[check_numerics\] expected a Tensor of floating"):
        debugging.check_numerics(paddle.to_tensor([1, 2]), "op", "x")
    with pytest.raises(TypeError, match=r"\[check_numerics\] expected a Tensor, got int"):
        debugging.check_numerics(3, "op", "x")


def test_check_numerics_aborts():
    x = paddle.to_tensor([1.0, float("nan")])
    text = message(lambda: debugging.check_numerics(x, "pow", "res"))
    assert text.startswith(
        "(PreconditionNotMet) [pow] NaN or Inf in the result: res has num_nan=1, num_inf=0 among 2"
    )


# --- the checker --------------------------------------------------------------------------------


def test_a_setting_of_the_checker_without_effect():
    _support._told.clear()
    with pytest.warns(
        UserWarning, match=r"\[TensorCheckerConfig\] stack_height_limit has no effect"
    ):
        TensorCheckerConfig(enable=False, stack_height_limit=3)


def test_checker_raises_and_is_undone():
    config = TensorCheckerConfig(enable=True)
    debugging.enable_tensor_checker(config)
    with pytest.raises(RuntimeError, match=r"\[log\]"):
        paddle.log(bad())
    debugging.disable_tensor_checker()
    paddle.log(bad())
    debugging.enable_tensor_checker(TensorCheckerConfig(enable=False))
    paddle.log(bad())


def test_checker_looks_at_some_ops():
    debugging.enable_tensor_checker(TensorCheckerConfig(True, checked_op_list=["sqrt"]))
    paddle.log(bad())
    with pytest.raises(RuntimeError, match=r"\[sqrt\]"):
        paddle.sqrt(bad())
    debugging.disable_tensor_checker()
    debugging.enable_tensor_checker(TensorCheckerConfig(True, skipped_op_list=["sqrt"]))
    paddle.sqrt(bad())
    with pytest.raises(RuntimeError, match=r"\[log\]"):
        paddle.log(bad())
    debugging.disable_tensor_checker()
    paddle.set_flags({"FLAGS_check_nan_inf": True, "FLAGS_check_nan_inf_level": 0})
    with pytest.raises(RuntimeError, match=r"\[sqrt\]"):
        paddle.sqrt(bad())


@pytest.mark.parametrize(
    "steps, checked", [([0, 2], [0, 1]), ([1, 3], [1, 2]), (None, [0, 1, 2, 3])]
)
def test_checker_counts_steps(monkeypatch, steps, checked):
    monkeypatch.setattr(TensorCheckerConfig, "current_step_id", 0)
    config = TensorCheckerConfig(True, debug_step=steps)
    found = []
    for step in range(4):
        debugging.enable_tensor_checker(config)
        try:
            paddle.log(bad())
        except RuntimeError:
            found.append(step)
    assert found == checked


def test_checker_makes_runs_comparable():
    import random

    saved = paddle.get_rng_state(), np.random.get_state(), random.getstate()
    try:
        draws = []
        for _ in range(2):
            TensorCheckerConfig(True)
            draws.append((paddle.rand([1]).item(), np.random.rand(), random.random()))
        assert draws[0] == draws[1]
    finally:
        paddle.set_rng_state(saved[0])
        np.random.set_state(saved[1])
        random.setstate(saved[2])


@pytest.mark.parametrize(
    "options, error, text",
    [
        (dict(checked_op_list="log"), ValueError, "checked_op_list must be list or tuple, got str"),
        (dict(skipped_op_list=3), ValueError, "skipped_op_list must be list or tuple"),
        (dict(debug_step=3), ValueError, "debug_step must be list or tuple"),
        (dict(debug_step=[3]), AssertionError, "debug_step: expected \\[first, end\\]"),
        (dict(debug_step=[3, 1]), AssertionError, "got \\[3, 1\\]"),
        (dict(debug_mode=1), AttributeError, "debug_mode: expected a DebugMode, got 1"),
    ],
)
def test_checkers_that_cannot_be(options, error, text):
    with pytest.raises(error, match=text):
        TensorCheckerConfig(enable=True, **options)


def write_run(folder, scale):
    config = TensorCheckerConfig(True, debug_mode=DebugMode.CHECK_ALL, output_dir=str(folder))
    debugging.enable_tensor_checker(config)
    x = paddle.to_tensor([1.0, 2.0], stop_gradient=False)
    (paddle.exp(x * scale) + paddle.exp(x)).sum().backward()
    debugging.disable_tensor_checker()


def test_two_runs_side_by_side(tmp_path, capsys):
    write_run(tmp_path / "a", 1.0)
    write_run(tmp_path / "b", 100.0)
    assert capsys.readouterr().out == ""
    debugging.compare_accuracy(str(tmp_path / "a"), str(tmp_path / "b"), str(tmp_path / "c.csv"))
    with open(tmp_path / "c.csv", newline="") as file:
        rows = {(row["op"], row["call"]): row for row in csv.DictReader(file)}
    assert rows["exp", "0"]["difference"] == "not finite in the second"
    assert rows["exp", "0"]["num_inf_1"] == "0" and rows["exp", "0"]["num_inf_2"] == "2"
    assert float(rows["exp", "1"]["difference"]) == 0
    assert float(rows["exp", "1"]["mean_1"]) == pytest.approx((np.e + np.e**2) / 2, rel=1e-5)
    assert ("exp_grad", "0") in rows
    with pytest.raises(FileNotFoundError, match=r"\[compare_accuracy\] there is no folder"):
        debugging.compare_accuracy(str(tmp_path / "no"), str(tmp_path), str(tmp_path / "d.csv"))


def test_layers_can_be_checked():
    class Net(paddle.nn.Layer):
        @debugging.check_layer_numerics
        def forward(self, x, scale=1.0):
            return 1 / (x * scale)

    net = Net()
    assert net(paddle.to_tensor([2.0]), scale=2.0).item() == 0.25
    with pytest.raises(RuntimeError, match="num_inf=1"):
        net(paddle.to_tensor([0.0]))
    assert not paddle.get_flags("FLAGS_check_nan_inf")["FLAGS_check_nan_inf"]
    with pytest.raises(RuntimeError, match="first input of this layer must be a Tensor, got float"):
        net(3.0)


# --- dtypes of ops ------------------------------------------------------------------------------


def test_operator_stats(capsys):
    x = paddle.to_tensor([[1.0, 2.0]])
    with debugging.collect_operator_stats():
        layer_in = x.astype("float16")
        paddle.matmul(x, x, transpose_y=True)
        paddle.abs(layer_in)
        paddle.abs(layer_in.astype("bfloat16"))
        paddle.abs(paddle.to_tensor([1]))
        paddle.nn.functional.softplus(x)
    rows = {}
    for line in capsys.readouterr().out.splitlines():
        cells = [cell.strip() for cell in line.split("|")]
        if len(cells) == 5:
            rows[cells[0]] = cells[1:]
    assert rows.pop("Op Name") == ["FP16 Calls", "BF16 Calls", "FP32 Calls", "Other Calls"]
    assert rows == {
        "cast": ["1", "0", "1", "0"],
        "matmul": ["0", "0", "1", "0"],
        "abs": ["1", "1", "0", "1"],
        "softplus": ["0", "0", "1", "0"],
    }
    paddle.abs(x)
    debugging.enable_operator_stats_collection()
    debugging.disable_operator_stats_collection()
    assert "op count: 0" in capsys.readouterr().out
