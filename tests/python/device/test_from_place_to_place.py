"""What comes from another place than that of the work: feeds, values of scopes, models of files, samples of
worker processes."""

import numpy as np
import pytest
from tests.python.device.where import FIRST, assert_as_on_the_cpu, drawn

import argosy as paddle
from argosy import nn, static

pytestmark = pytest.mark.adds_device(unless="gpu")

X = np.random.RandomState(4).rand(5, 3).astype("float32")


@pytest.fixture
def program(streamed):
    """x @ w and a counter of its runs, with their state."""
    paddle.enable_static()
    main, startup, scope = static.Program(), static.Program(), static.Scope()
    with static.program_guard(main, startup), paddle.utils.unique_name.guard():
        x = static.data("x", [None, 3])
        w = static.create_parameter([3, 2], "float32", name="w")
        count = static.create_global_var([1], 0.0, "float32", persistable=True, name="count")
        y = paddle.matmul(x, w) + 0.5
        paddle.increment(count)
    with static.scope_guard(scope):
        yield main, startup, scope, y
    paddle.disable_static()


def test_values_of_a_scope_go_where_a_run_needs_them(program):
    main, startup, scope, y = program
    static.Executor("cpu").run(startup)
    w, count = (scope.find_var(name).get_tensor() for name in ("w", "count"))
    weight = w.numpy()
    for runs, place in enumerate(("cpu", FIRST, FIRST, "cpu"), 1):
        (got,) = static.Executor(place).run(main, {"x": X}, [y])
        np.testing.assert_allclose(got, X @ weight + 0.5, rtol=1e-3, atol=1e-4)
        assert count.numpy().tolist() == [runs]
        assert str(w._place()) == f"Place({place})" == str(count._place())
    w.set(weight * 2, paddle.CPUPlace())
    (got,) = static.Executor(FIRST).run(main, {"x": X}, [y])
    np.testing.assert_allclose(got, X @ weight * 2 + 0.5, rtol=1e-3, atol=1e-4)


@pytest.fixture
def tensors(streamed):
    return paddle.to_tensor(X, place="cpu"), paddle.to_tensor(X, place=FIRST)


def test_feeds_go_to_the_place_of_the_executor(tensors, program):
    main, startup, _, y = program
    here, there = tensors
    for place in ("cpu", FIRST):
        executor = static.Executor(place)
        executor.run(startup)
        for feed in (X, here, there, static.DenseTensor(here), static.DenseTensor(there)):
            (got,) = executor.run(main, {"x": feed}, [y], return_numpy=False)
            assert str(got._place()) == f"Place({place})"
    assert "cpu" in str(here.place) and str(there.place) == f"Place({FIRST})"


@pytest.mark.parametrize("form", ["argosy", "paddle"])
def test_models_are_written_and_read_wherever_they_are(streamed, tmp_path, form):
    net = drawn(lambda: nn.Sequential(nn.Conv1D(1, 4, 3), nn.ReLU(), nn.Flatten(), nn.Linear(4, 2)))
    net.eval()
    x = paddle.to_tensor(X[:, None])
    path = str(tmp_path / "net")
    spec = [static.InputSpec([None, 1, 3], "float32", "x")]
    paddle.jit.save(net, path, spec, **({"format": "paddle"} if form == "paddle" else {}))
    want = net(x).numpy()
    for place in (FIRST, "cpu"):
        paddle.device.set_device(place)
        loaded = paddle.jit.load(path)
        assert_as_on_the_cpu(loaded(paddle.to_tensor(X[:, None])).numpy(), want)


class Pictures(paddle.io.Dataset):
    def __len__(self):
        return 6

    def __getitem__(self, i):
        return paddle.to_tensor(X[0]) * i


def test_samples_of_worker_processes_are_made_on_the_cpu(streamed):
    batches = list(paddle.io.DataLoader(Pictures(), batch_size=3, num_workers=1))
    assert [str(b.place) for b in batches] == [f"Place({FIRST})"] * 2
    want = X[0] * np.arange(6, dtype="float32")[:, None]
    np.testing.assert_array_equal(np.concatenate([b.numpy() for b in batches]), want)


def test_a_cleared_gradient_stays_the_tensor_that_it_was(streamed):
    x = paddle.to_tensor(X, stop_gradient=False)
    (x * 2).sum().backward()
    held = x.grad
    x.clear_gradient()
    assert x.grad is held and not held.numpy().any()


def test_no_values_are_searched(streamed):
    line = paddle.to_tensor([1.0, 2.0])
    for shape in ([0], [2, 0]):
        assert paddle.searchsorted(line, paddle.zeros(shape)).shape == shape
