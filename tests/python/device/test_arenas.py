"""Plans of Programs on several devices: every place has an arena, and what moves a value is a step of the
plan."""

import re

import numpy as np
import pytest
from tests.python.device.where import FIRST, SECOND, two_devices

import argosy as paddle
from argosy import _core, static

pytestmark = [
    pytest.mark.adds_device(unless="gpu"),
    pytest.mark.usefixtures("streamed"),
    two_devices,
]

X = np.random.RandomState(3).rand(8, 8).astype("float32")
PLACES = ("cpu", FIRST, SECOND)


@pytest.fixture(autouse=True)
def static_mode():
    paddle.enable_static()
    yield
    paddle.disable_static()


def planned(main, place, fetches):
    executor = _core.executor_new(1)
    with paddle.device_guard(place):
        x = _core.to_tensor(X, None, True)
        return _core.executor_plan(executor, main._handle, [x], fetches, None)


def run(main, place, fetches, feed=X):
    return static.Executor(place).run(main, {"x": feed}, fetches)


def halves():
    """A chain of three values on each of two devices, and back."""
    main = static.Program()
    with static.program_guard(main):
        x = static.data("x", [8, 8])
        h = paddle.tanh(paddle.matmul(paddle.tanh(x), x))
        h = h.to(SECOND)
        h = paddle.exp(paddle.matmul(paddle.sin(h), h))
        out = paddle.matmul(h, h).sum(0).to(FIRST)
    return main, out


@pytest.mark.parametrize("place", PLACES)
def test_no_step_is_left_to_dispatch(place):
    main, out = halves()
    report, text = planned(main, place, [out])
    assert report["dispatched"] == 0 and report["kernels"] == report["steps"], text
    assert report["lower_bound"] <= report["arena"] < 6 * X.nbytes, text
    homes = set(re.findall(r"arena\d+:\S+ on ([a-z:0-9]+)", text))  # beside that of the run
    assert homes == ({SECOND} if place != SECOND else set()), text
    h = np.tanh(np.tanh(X) @ X)
    h = np.exp(np.sin(h) @ h)
    np.testing.assert_allclose(run(main, place, [out])[0], (h @ h).sum(0), rtol=1e-4)


def test_runs_take_no_memory_of_the_other_device_but_its_arena():
    main, out = halves()
    executor = static.Executor(FIRST)
    for _ in range(3):
        executor.run(main, {"x": X}, [out])
    paddle.device.synchronize()
    before = paddle.device.memory_allocated(SECOND)
    paddle.device.reset_max_memory_allocated(SECOND)
    for _ in range(3):
        executor.run(main, {"x": X}, [out])
    assert paddle.device.max_memory_allocated(SECOND) == before  # what the frame keeps


def test_views_and_values_written_in_place_on_another_device():
    main = static.Program()
    with static.program_guard(main):
        x = static.data("x", [8, 8])
        y = (x + 1).to(SECOND)
        z = y.reshape([4, 16])[:, 2:].T
        total = (z * 2).sum() + y[0, 0]
        y = paddle.exp(y) + paddle.concat([y, y])[:8]
    for place in PLACES:
        got = run(main, place, [z, total, y])
        want = X + 1
        np.testing.assert_array_equal(got[0], want.reshape(4, 16)[:, 2:].T)
        np.testing.assert_allclose(got[1], got[0].sum() * 2 + want[0, 0], rtol=1e-5)
        np.testing.assert_allclose(got[2], np.exp(want) + want, rtol=1e-5)


def test_inside_a_loop_and_a_branch():
    main = static.Program()
    with static.program_guard(main):
        x = static.data("x", [8, 8])
        i = paddle.zeros([1], "int64")

        def body(i, h):
            step = paddle.tanh(paddle.matmul(h.to(SECOND), h.to(SECOND))).to(FIRST)
            step = static.nn.cond(
                (i > 1).all(), lambda: paddle.sin(step.to(SECOND)).to(FIRST), lambda: step
            )
            return [i + 1, step * 0.1 + h * 0.3]

        _, out = static.nn.while_loop(lambda i, h: (i < 4).all(), body, [i, x.to(FIRST)])
    want = X
    for i in range(4):
        step = np.tanh(want @ want)
        want = (np.sin(step) if i > 1 else step) * 0.1 + want * 0.3
    np.testing.assert_allclose(run(main, FIRST, [out])[0], want, rtol=1e-4)


def drawn_program(seed):
    """Operations on values of three places, in any order: (Program, fetches, what NumPy says)."""
    rng = np.random.RandomState(seed)
    main, values = static.Program(), []
    with static.program_guard(main):
        x = static.data("x", [8, 8])
        values.append((x.to(FIRST), X, FIRST))
        for _ in range(25):
            kind = rng.randint(5)
            t, n, place = values[rng.randint(len(values))]
            mates = [v for v in values if v[2] == place]
            u, m, _ = mates[rng.randint(len(mates))]
            if kind == 0:
                target = PLACES[rng.randint(3)]
                values.append((t.to(target), n, target))
            elif kind == 1:
                values.append((paddle.tanh(t + u), np.tanh(n + m), place))
            elif kind == 2:
                values.append((paddle.matmul(t, u) * 0.125, n @ m * 0.125, place))
            elif kind == 3:
                values.append((t.T, n.T, place))
            else:
                values.append((paddle.concat([t, u])[4:12], np.concatenate([n, m])[4:12], place))
        picked = [values[i] for i in rng.choice(len(values), 6, replace=False)]
        fetches = [t * 1.5 for t, _, _ in picked]
    return main, fetches, [n * 1.5 for _, n, _ in picked]


@pytest.mark.parametrize("seed", range(30))
def test_any_program_gives_the_numbers_of_numpy(seed):
    main, fetches, want = drawn_program(seed)
    for place in PLACES:
        executor = static.Executor(place)
        for _ in range(2):  # the second time in the memory of the first
            for got, right in zip(executor.run(main, {"x": X}, fetches), want):
                np.testing.assert_allclose(got, right, rtol=1e-4, atol=1e-5)


def test_state_on_another_device_is_updated_there():
    main, startup, scope = static.Program(), static.Program(), static.Scope()
    with static.program_guard(main, startup), static.scope_guard(scope):
        x = static.data("x", [8, 8])
        w = static.create_parameter([8, 8], "float32", name="w_elsewhere")
        executor = static.Executor(SECOND)
        executor.run(startup)
        out = paddle.matmul(x.to(SECOND), w) * 2
        paddle.assign(w + 1, w)
        held = scope.find_var("w_elsewhere").get_tensor()
        before = held.numpy()
        got = static.Executor(FIRST).run(main, {"x": X}, [out])[0]
        np.testing.assert_allclose(got, X @ before * 2, rtol=1e-3, atol=1e-5)
        np.testing.assert_allclose(held.numpy(), before + 1, rtol=1e-6)
        assert str(held._place()) == f"Place({SECOND})"
