"""Learning rates as functions: schedulers, or values of a Program that count its runs."""

import math

import numpy as np
import pytest

import argosy
from argosy import static
from argosy.optimizer import lr

RUNS = 6


def clipped_cycle(n):
    length = 3 * max(1, math.ceil(n / 3))
    return 0.4 * (1 - n / length) ** 2 + 0.1


TABLE = [
    (lr.noam_decay, (16, 3, 0.5), lambda n: 0.5 / 4 * min((n + 1) ** -0.5, (n + 1) * 3**-1.5)),
    (lr.exponential_decay, (0.5, 2, 0.5), lambda n: 0.5 * 0.5 ** (n / 2)),
    (lr.exponential_decay, (0.5, 2, 0.5, True), lambda n: 0.5 * 0.5 ** (n // 2)),
    (lr.natural_exp_decay, (0.5, 2, 0.5, True), lambda n: 0.5 * math.exp(-0.5 * (n // 2))),
    (lr.inverse_time_decay, (0.5, 2, 0.5), lambda n: 0.5 / (1 + 0.5 * n / 2)),
    (lr.polynomial_decay, (0.5, 3, 0.1, 2.0), lambda n: 0.4 * (1 - min(n, 3) / 3) ** 2 + 0.1),
    (lr.polynomial_decay, (0.5, 3, 0.1, 2.0, True), clipped_cycle),
    (
        lr.piecewise_decay,
        ([1, 3], [0.1, 0.2, 0.3]),
        lambda n: 0.1 if n < 1 else 0.2 if n < 3 else 0.3,
    ),
    (lr.cosine_decay, (0.5, 2, 5), lambda n: 0.25 * (1 + math.cos(n // 2 * math.pi / 5))),
    (lr.linear_lr_warmup, (0.5, 3, 0.0, 0.3), lambda n: 0.1 * n if n < 3 else 0.5),
]


@pytest.mark.parametrize("function, arguments, rate", TABLE)
def test_in_a_program(function, arguments, rate):
    argosy.enable_static()
    try:
        main, startup = static.Program(), static.Program()
        with static.program_guard(main, startup), static.scope_guard(static.Scope()):
            value = function(*arguments)
            exe = static.Executor()
            exe.run(startup)
            got = [exe.run(main, fetch_list=[value])[0] for _ in range(RUNS)]
    finally:
        argosy.disable_static()
    assert all(v.shape == (1,) and v.dtype == np.float32 for v in got)
    np.testing.assert_allclose(np.concatenate(got), [rate(n) for n in range(RUNS)], rtol=1e-5)


def test_two_rates_count_runs_once():
    argosy.enable_static()
    try:
        with (
            static.program_guard(static.Program(), static.Program()),
            static.scope_guard(static.Scope()),
        ):
            decayed = lr.exponential_decay(0.5, 1, 0.5)
            warm = lr.linear_lr_warmup(decayed, 2, 0.0, 0.2)
            exe = static.Executor()
            exe.run(static.default_startup_program())
            got = [float(exe.run(fetch_list=[warm])[0][0]) for _ in range(4)]
    finally:
        argosy.disable_static()
    np.testing.assert_allclose(got, [0.0, 0.1, 0.5**3, 0.5**4], rtol=1e-5)


@pytest.mark.parametrize(
    "function, arguments, kind",
    [
        (lr.noam_decay, (16, 3), lr.NoamDecay),
        (lr.exponential_decay, (0.5, 2, 0.5), lr.ExponentialDecay),
        (lr.natural_exp_decay, (0.5, 2, 0.5), lr.NaturalExpDecay),
        (lr.inverse_time_decay, (0.5, 2, 0.5), lr.InverseTimeDecay),
        (lr.polynomial_decay, (0.5, 3), lr.PolynomialDecay),
        (lr.piecewise_decay, ([1], [0.1, 0.2]), lr.PiecewiseDecay),
        (lr.cosine_decay, (0.5, 2, 5), lr.CosineAnnealingDecay),
        (lr.linear_lr_warmup, (0.5, 3, 0.0, 0.3), lr.LinearWarmup),
    ],
)
def test_where_ops_run_at_once(function, arguments, kind):
    assert type(function(*arguments)) is kind


def test_errors():
    with pytest.raises(ValueError, match="expected 2, one more than boundaries, got 1"):
        lr.piecewise_decay([1], [0.1])
    with pytest.raises(TypeError, match="learning_rate: expected float"):
        lr.cosine_decay("a", 2, 5)
