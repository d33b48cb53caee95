"""LookAhead, ModelAverage and the quasi-Newton minimizers."""

import numpy as np
import pytest
from scipy import optimize

import argosy as paddle
from argosy.incubate import LookAhead, ModelAverage
from argosy.incubate.optimizer.functional import minimize_bfgs, minimize_lbfgs


def test_lookahead():
    w = paddle.create_parameter([2], "float32")
    w.set_value(np.zeros(2, "float32"))
    look = LookAhead(paddle.optimizer.SGD(1.0, parameters=[w]), alpha=0.5, k=2)
    slow, fast = 1.0, 0.0  # slow: where the first step ends
    for step in range(1, 5):
        (w.sum() * -1).backward()  # the gradient is -1: a step of +1
        look.step()
        look.clear_grad()
        fast += 1.0
        if step % 2 == 0:
            slow += 0.5 * (fast - slow)
            fast = slow
        np.testing.assert_allclose(w.numpy(), fast)
    assert look.get_lr() == 1.0
    with pytest.raises(AssertionError, match=r"\[LookAhead\] alpha"):
        LookAhead(look, alpha=2.0)


def test_model_average():
    w = paddle.create_parameter([1], "float32")
    average = ModelAverage(0.15, [w], min_average_window=2, max_average_window=4)
    for value in (1.0, 2.0, 3.0):
        w.set_value(np.array([value], "float32"))
        average.step()
    with average.apply():
        np.testing.assert_allclose(w.numpy(), 2.0)  # 1 and 2 are the old window, 3 the new one
    np.testing.assert_allclose(w.numpy(), 3.0)
    average.apply(need_restore=False)  # nobody enters it
    np.testing.assert_allclose(w.numpy(), 3.0)
    for _ in range(2):
        with average.apply(need_restore=False):
            np.testing.assert_allclose(w.numpy(), 2.0)
        np.testing.assert_allclose(w.numpy(), 2.0)
        average.restore()
        np.testing.assert_allclose(w.numpy(), 3.0)
    with pytest.raises(KeyError), average.apply():
        raise KeyError("of the body")
    np.testing.assert_allclose(w.numpy(), 3.0)
    w.sum().backward()
    average.clear_grad()
    np.testing.assert_array_equal(w.grad.numpy(), 0.0)


def _windows(values, rate, least, most):
    """Averages after each step, from all values that were seen."""
    start = old = 0
    for k in range(1, len(values) + 1):
        if k - start >= least and k - start >= min(most, int(k * rate)):
            old, start = start, k
        yield np.mean(values[old:k])


@pytest.mark.parametrize("rate, least, most", [(0.5, 2, 4), (0.34, 1, 100), (0.1, 3, 3)])
def test_model_average_by_windows(rate, least, most):
    values = [1.0, 3.0, 5.0, 9.0, 2.0, 7.0, 8.0, 11.0, 4.0, 6.0, 0.0, -3.0, 12.0]
    w = paddle.create_parameter([1], "float32")
    average = ModelAverage(rate, [w], min_average_window=least, max_average_window=most)
    for value, want in zip(values, _windows(values, rate, least, most), strict=True):
        w.set_value(np.array([value], "float32"))
        average.step()
        with average.apply():
            np.testing.assert_allclose(w.numpy(), want, rtol=1e-6)


@pytest.mark.parametrize("minimize", [minimize_bfgs, minimize_lbfgs])
def test_minimizers(minimize):
    def rosen(x):
        return (100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2).sum()

    start = np.array([-1.2, 1.0, 0.5])
    done, calls, x, value, gradient, *rest = minimize(
        rosen, paddle.to_tensor(start), max_iters=200, dtype="float64"
    )
    assert done.tolist() == [True] and calls.shape == [1]
    np.testing.assert_allclose(x.numpy(), 1.0, atol=1e-5)
    assert float(value) < 1e-9 and float(gradient.abs().max()) < 1e-3
    want = optimize.minimize(lambda v: optimize.rosen(v), start, method="BFGS")
    np.testing.assert_allclose(x.numpy(), want.x, atol=1e-3)
    if minimize is minimize_bfgs:
        assert rest[0].shape == [3, 3]
    stuck, *_ = minimize(rosen, paddle.to_tensor(start), max_iters=2, dtype="float64")
    assert stuck.tolist() == [False]
    with pytest.raises(NotImplementedError, match="line_search_fn"):
        minimize(rosen, paddle.to_tensor(start), line_search_fn="armijo", dtype="float64")
    with pytest.raises(ValueError, match="dtype"):
        minimize(rosen, paddle.to_tensor(start))


def test_lookahead_minimize_gives_parameters_and_gradients():
    w = paddle.create_parameter([2], "float32")
    idle = paddle.create_parameter([1], "float32")
    look = LookAhead(paddle.optimizer.SGD(1.0, parameters=[w, idle]))
    loss = (w * 3).sum()
    before = w.numpy()
    assert look.minimize(loss) == ([], [])  # computes no gradients, as minimize of all optimizers
    np.testing.assert_array_equal(w.numpy(), before)
    loss.backward()
    operations, pairs = look.minimize(loss)
    assert operations == [] and len(pairs) == 1
    assert pairs[0][0] is w and pairs[0][1].tolist() == [3.0, 3.0]
    np.testing.assert_allclose(w.numpy(), before - 3)
    with pytest.raises(NotImplementedError, match=r"\[LookAhead.minimize\] parameters"):
        look.minimize(loss, parameters=[w])
    with pytest.raises(AssertionError, match="loss: expected a Tensor, got float"):
        look.minimize(3.0)


def trained(look, w, steps):
    for step in range(steps):
        ((w - step) ** 2).sum().backward()
        look.step()
        look.clear_grad()
    return w.numpy()


@pytest.mark.parametrize("steps", [1, 3, 5])
def test_lookahead_goes_on_from_its_state(steps):
    def made(name):
        w = paddle.create_parameter([2], "float32", name=name)
        w.set_value(np.array([1.0, -1.0], "float32"))
        rate = paddle.optimizer.lr.ExponentialDecay(0.1, 0.9)
        return w, LookAhead(paddle.optimizer.Adam(rate, parameters=[w]), alpha=0.3, k=4)

    with paddle.utils.unique_name.guard():
        w, look = made("looked")
        trained(look, w, steps)
        saved = {k: paddle.to_tensor(v) if isinstance(v, paddle.Tensor) else v
                 for k, v in look.state_dict().items()}  # fmt: skip
        at = w.numpy()
        want = trained(look, w, 5)
    with paddle.utils.unique_name.guard():
        w, look = made("looked")
        w.set_value(at)
        look.set_state_dict(saved)
        np.testing.assert_array_equal(trained(look, w, 5), want)
    slow = {"looked_slow_0": np.array([7.0, 8.0], "float32")}  # all that Paddle saves
    look.load_state_dict(slow)
    np.testing.assert_array_equal(look.state_dict()["looked_slow_0"].numpy(), slow["looked_slow_0"])
    with pytest.raises(
        ValueError, match=r"\[LookAhead\] slow weights of looked: expected the shape \[2\]"
    ):
        look.set_state_dict({"looked_slow_0": np.ones(3, "float32")})


def test_model_average_goes_on_from_its_state():
    w = paddle.create_parameter([1], "float32")

    def average():
        return ModelAverage(0.5, [w], min_average_window=2, max_average_window=3)

    def follow(average, values):
        for value in values:
            w.set_value(np.array([value], "float32"))
            average.step()
        with average.apply():
            return w.numpy()

    first, second = average(), average()
    follow(first, [1.0, 2.0, 4.0, 8.0, 16.0])
    state = first.state_dict()
    want = follow(first, [3.0, 5.0])
    second.set_state_dict({k: v.numpy() for k, v in state.items()})
    np.testing.assert_array_equal(follow(second, [3.0, 5.0]), want)
    second.set_state_dict(
        {**state, f"{w.name}_sum_2_0": np.array([1.0], "float32")}
    )  # as Paddle has it
    assert second.state_dict()[f"{w.name}_sum_1_0"].item() == state[f"{w.name}_sum_1_0"].item() + 1
    with pytest.raises(KeyError, match="the state has no .*_sum_3_0"):
        second.set_state_dict({f"{w.name}_sum_1_0": np.ones(1, "float32")})
    with pytest.raises(ValueError, match=r"expected the shape \[1\], got \[2\]"):
        second.set_state_dict({**state, f"{w.name}_sum_3_0": np.ones(2, "float32")})
