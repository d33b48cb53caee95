"""incubate.autograd and autograd.jacobian/hessian: eager, in a static Program and captured, against
derivatives written by hand and numeric differences."""

import numpy as np
import pytest

import argosy as paddle
from argosy import static
from argosy.incubate import autograd as ia

RNG = np.random.default_rng(0)


def values(*shape):
    return RNG.uniform(0.2, 1.5, shape)


def numeric(f, arrays, eps=1e-6):
    """[outputs, inputs], all flattened one after the other."""

    def flat(arrays):
        given = [paddle.to_tensor(a) for a in arrays]
        found = f(*given)
        found = found if isinstance(found, (list, tuple)) else [found]
        return np.concatenate([y.numpy().reshape(-1) for y in found])

    columns = []
    for k, array in enumerate(arrays):
        for at in np.ndindex(array.shape):
            ends = []
            for sign in (1, -1):
                moved = [a.copy() for a in arrays]
                moved[k][at] += sign * eps
                ends.append(flat(moved))
            columns.append((ends[0] - ends[1]) / (2 * eps))
    return np.stack(columns, 1)


def in_program(compute, arrays, open_batch=False):
    """What compute(*variables) gives, run as a static Program."""
    paddle.enable_static()
    try:
        main = static.Program()
        with static.program_guard(main):
            xs = []
            for i, a in enumerate(arrays):
                shape = [-1, *a.shape[1:]] if open_batch else list(a.shape)
                xs.append(static.data(f"x{i}", shape, "float64"))
                xs[-1].stop_gradient = False
            found = compute(*xs)
        feed = {f"x{i}": a for i, a in enumerate(arrays)}
        return static.Executor().run(main, feed=feed, fetch_list=list(found))
    finally:
        paddle.disable_static()


def at_once(compute, arrays, open_batch=False):
    return [y.numpy() for y in compute(*map(paddle.to_tensor, arrays))]


def captured(compute, arrays, open_batch=False):
    function = paddle.jit.to_static(lambda *xs: list(compute(*xs)), full_graph=True)
    return [y.numpy() for y in function(*map(paddle.to_tensor, arrays))]


MODES = pytest.mark.parametrize("mode", [at_once, in_program, captured])

FUNCTIONS = {
    "square": (lambda x: x * x, [(2, 3)]),
    "product": (paddle.multiply, [(3,), (3,)]),
    "broadcast": (lambda x, y: x + y * y, [(2, 3), (1, 3)]),
    "matmul": (paddle.matmul, [(2, 3), (3, 2)]),
    "two results": (lambda x: (paddle.matmul(x, x), paddle.tanh(x)), [(2, 2)]),
    "reduced": (lambda x: paddle.sum(paddle.exp(x), axis=0), [(2, 3)]),
    "softmax": (lambda x: paddle.nn.functional.softmax(x @ x, -1), [(3, 3)]),
    "where": (lambda x: paddle.where(x > 0.7, x * x, paddle.sin(x)), [(2, 3)]),
    "slices": (lambda x: x[:, 1:] * x[:, :-1], [(2, 4)]),
    "unused": (lambda x, y: x * x, [(2,), (3,)]),
}
TABLE = pytest.mark.parametrize("name", FUNCTIONS)


@MODES
@TABLE
def test_vjp_and_jvp(name, mode):
    f, shapes = FUNCTIONS[name]
    arrays = [values(*s) for s in shapes]
    jacobian = numeric(f, arrays)
    outputs = f(*map(paddle.to_tensor, arrays))
    outputs = outputs if isinstance(outputs, tuple) else (outputs,)
    vs = [values(*y.shape) for y in outputs]
    us = [values(*s) for s in shapes]

    def flat(parts):
        return list(parts) if isinstance(parts, (list, tuple)) else [parts]

    def compute(*given):
        xs, rest = list(given[: len(shapes)]), list(given[len(shapes) :])
        v, u = rest[: len(vs)], rest[len(vs) :]
        one = len(xs) == 1
        back = ia.vjp(f, xs[0] if one else xs, v if len(v) > 1 else v[0])[1]
        ahead = ia.jvp(f, xs[0] if one else xs, u[0] if one else u)[1]
        ones = ia.jvp(f, xs[0] if one else xs)[1]
        return [*flat(back), *flat(ahead), *flat(ones)]

    found = mode(compute, [*arrays, *vs, *us])

    def joined(parts):
        return np.concatenate([p.reshape(-1) for p in parts])

    n, m = len(shapes), len(vs)
    np.testing.assert_allclose(joined(found[:n]), joined(vs) @ jacobian, atol=1e-7)
    np.testing.assert_allclose(joined(found[n : n + m]), jacobian @ joined(us), atol=1e-7)
    np.testing.assert_allclose(joined(found[n + m :]), jacobian.sum(1), atol=1e-7)


@MODES
@TABLE
@pytest.mark.parametrize(
    "key", [np.s_[:], np.s_[:, :], np.s_[0, :], np.s_[:, 1], np.s_[-1], np.s_[0:1, 0:2]], ids=str
)
def test_jacobian(name, mode, key):
    f, shapes = FUNCTIONS[name]
    arrays = [values(*s) for s in shapes]
    want = numeric(f, arrays)

    def compute(*xs):
        found = ia.Jacobian(f, list(xs) if len(xs) > 1 else xs[0])
        assert type(found.shape) is tuple and found.shape == want.shape
        return [found[key]]

    np.testing.assert_allclose(mode(compute, arrays)[0], want[key], atol=1e-7)


@MODES
def test_hessian(mode):
    arrays = [values(2, 2), values(3)]
    given = np.concatenate([a.reshape(-1) for a in arrays])

    def f(x, y):
        return paddle.sum(paddle.matmul(x, x)) * paddle.sum(y * y * y)

    (found,) = mode(lambda *xs: [ia.Hessian(f, list(xs))[:]], arrays)
    slope = numeric(lambda *xs: [ia.Jacobian(f, list(xs))[0]], arrays, 1e-5)
    assert found.shape == (given.size,) * 2
    np.testing.assert_allclose(found, slope, atol=1e-6)


@MODES
@pytest.mark.parametrize(
    "key", [np.s_[:, :, :], np.s_[:, 1, :], np.s_[:, :, 0], np.s_[0, :, :]], ids=str
)
def test_batches_may_have_any_size(mode, key):
    x, y = values(4, 2), values(4, 2)
    eye = np.eye(2)
    want = np.concatenate(
        [
            np.concatenate([eye * y[:, None], eye * x[:, None]], 2),
            np.concatenate([eye * 2 * x[:, None], np.zeros((4, 2, 2))], 2),
        ],
        1,
    )

    def compute(x, y):
        return [ia.Jacobian(lambda x, y: (x * y, x * x), [x, y], is_batched=True)[key]]

    np.testing.assert_allclose(mode(compute, [x, y], True)[0], want[key], atol=1e-12)

    def second(x):
        def cubes(x):
            return paddle.sum(x * x * x, axis=1, keepdim=True)

        return [ia.Hessian(cubes, x, is_batched=True)[:]]

    np.testing.assert_allclose(mode(second, [x], True)[0], eye * 6 * x[:, None], atol=1e-12)


@MODES
def test_derivatives_of_computed_tensors(mode):
    x, b = values(3), values(4, 3)
    jacobian, hessian = paddle.autograd.jacobian, paddle.autograd.hessian

    def compute(x, b):
        x.stop_gradient = b.stop_gradient = False
        return [
            jacobian(x * x, x)[:],
            jacobian(b * b, b, batch_axis=0)[:],
            hessian(paddle.sum(x * x * x), x)[:],
            hessian(paddle.sum(b * b * b, -1), b, batch_axis=0)[:],
        ]

    found = mode(compute, [x, b])
    wants = [np.diag(2 * x), np.eye(3) * 2 * b[:, None], np.diag(6 * x), np.eye(3) * 6 * b[:, None]]
    for got, want in zip(found, wants):
        np.testing.assert_allclose(got, want, atol=1e-12)


def test_gradients_of_made_values_in_a_program():
    """A value that an op without a gradient made may be what a gradient is asked for."""

    def compute(x):
        seed = paddle.zeros_like(x)
        seed.stop_gradient = False
        (found,) = static.gradients(x * seed * 3, seed)
        return [found]

    x = values(2, 3)
    np.testing.assert_allclose(in_program(compute, [x])[0], 3 * x)


def test_forward_grad_and_grad():
    x, y, v = values(2, 3), values(2, 3), values(2, 3)

    def compute(x, y, v):
        z = paddle.tanh(x * y)
        return [ia.forward_grad(z, [x, y], [v, v]), ia.grad(z, x), *ia.grad([z], [x, y], v)]

    slope = 1 - np.tanh(x * y) ** 2
    wants = [slope * (x + y) * v, slope * y, slope * y * v, slope * x * v]
    for got, want in zip(in_program(compute, [x, y, v]), wants):
        np.testing.assert_allclose(got, want, atol=1e-12)


def test_switch_of_primitives():
    assert not ia.prim_enabled()
    ia.enable_prim()
    assert ia.prim_enabled()
    ia.disable_prim()
    assert not ia.prim_enabled()
    assert ia.prim2orig() is None


@pytest.mark.parametrize(
    "call, error, text",
    [
        (lambda x: ia.vjp(1, x), TypeError, r"\[vjp\] func: expected a function"),
        (lambda x: ia.vjp(paddle.exp, 1.0), TypeError, r"\[vjp\] xs: expected a Tensor"),
        (lambda x: ia.jvp(paddle.exp, x, "v"), TypeError, r"\[jvp\] v: expected a Tensor"),
        (lambda x: ia.vjp(paddle.exp, x, [x, x]), RuntimeError, r"\[vjp\] v: expected 1 tensors"),
        (lambda x: ia.jvp(paddle.exp, x, x[:1]), RuntimeError, r"\[jvp\] v must have the shapes"),
        (lambda x: ia.Jacobian(3, x), TypeError, r"\[Jacobian\] func: expected a function"),
        (lambda x: ia.grad(3, x), TypeError, r"\[grad\] outputs: expected a Tensor"),
        (lambda x: ia.Hessian(paddle.exp, x)[:], RuntimeError, r"\[Hessian\] func must return a scalar"),
    ],
)  # fmt: skip
def test_errors(call, error, text):
    with pytest.raises(error, match=text):
        call(paddle.to_tensor(values(2)))
