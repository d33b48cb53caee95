"""Schedulers: rates at some steps as Paddle 3.3.1 gives them, resuming, errors."""

import math

import pytest

from argosy.optimizer import lr

STEPS = (0, 1, 4, 7, 15, 33, 49)

# class, arguments, rates at STEPS
TABLE = [
    (
        "NoamDecay",
        (64, 10),
        [
            0.0,
            0.00395284707521,
            0.0158113883008,
            0.0276699295265,
            0.0322748612184,
            0.0217597069945,
            0.0178571428571,
        ],
    ),
    ("PiecewiseDecay", ([3, 7, 20], [0.1, 0.2, 0.3, 0.4]), [0.1, 0.1, 0.2, 0.3, 0.3, 0.4, 0.4]),
    (
        "NaturalExpDecay",
        (0.5, 0.1),
        [
            0.5,
            0.452418709018,
            0.335160023018,
            0.248292651896,
            0.111565080074,
            0.0184415837006,
            0.00372329153546,
        ],
    ),
    (
        "InverseTimeDecay",
        (0.5, 0.1),
        [0.5, 0.454545454545, 0.357142857143, 0.294117647059, 0.2, 0.116279069767, 0.0847457627119],
    ),
    ("PolynomialDecay", (0.5, 20), [0.5, 0.475005, 0.40002, 0.325035, 0.125075, 0.0001, 0.0001]),
    ("PolynomialDecay", (0.5, 7, 0.01, 2.0, True), [0.5, 0.37, 0.1, 0.01, 0.05, 0.0116, 0.01]),
    ("LinearWarmup", (0.5, 20, 0.0, 0.4), [0.0, 0.02, 0.08, 0.14, 0.3, 0.5, 0.5]),
    (
        "ExponentialDecay",
        (0.5, 0.9),
        [0.5, 0.45, 0.32805, 0.23914845, 0.102945566047, 0.0154515771913, 0.00286320844851],
    ),
    ("MultiStepDecay", (0.5, [3, 8, 30]), [0.5, 0.5, 0.05, 0.05, 0.005, 0.0005, 0.0005]),
    ("StepDecay", (0.5, 7, 0.5), [0.5, 0.5, 0.5, 0.25, 0.125, 0.03125, 0.00390625]),
    (
        "CosineAnnealingDecay",
        (0.5, 10, 0.01),
        [
            0.5,
            0.488008846492,
            0.330709163622,
            0.110992613188,
            0.255,
            0.110992613188,
            0.0219911535077,
        ],
    ),
    (
        "OneCycleLR",
        (0.5, 60),
        [
            0.02,
            0.0240864560759,
            0.082637859867,
            0.194320882383,
            0.483793335057,
            0.34136698904,
            0.0668236846361,
        ],
    ),
    (
        "OneCycleLR",
        (0.5, 60, 10.0, 0.001, 0.25, "linear", True),
        [
            0.05,
            0.0821428571429,
            0.178571428571,
            0.275,
            0.467857142857,
            0.0420967741935,
            0.0168064516129,
        ],
    ),
    ("CyclicLR", (0.1, 0.5, 5), [0.1, 0.18, 0.42, 0.34, 0.5, 0.34, 0.18]),
    ("CyclicLR", (0.1, 0.5, 5, 8, "triangular2"), [0.1, 0.18, 0.42, 0.4, 0.18, 0.175, 0.11875]),
    (
        "CyclicLR",
        (0.1, 0.5, 5, None, "exp_range", 0.9),
        [0.1, 0.172, 0.309952, 0.214791256, 0.182356452838, 0.107416757052, 0.100458113352],
    ),
    (
        "LinearLR",
        (0.5, 20),
        [0.166666666667, 0.183333333333, 0.233333333333, 0.283333333333, 0.416666666667, 0.5, 0.5],
    ),
    (
        "CosineAnnealingWarmRestarts",
        (0.5, 5, 2, 0.01),
        [
            0.5,
            0.453209163622,
            0.0567908363781,
            0.453209163622,
            0.5,
            0.0219911535077,
            0.366227672436,
        ],
    ),
]


def rates(scheduler, count):
    out = []
    for _ in range(count):
        out.append(scheduler())
        scheduler.step()
    return out


@pytest.mark.parametrize("name,args,expected", TABLE, ids=lambda v: v if isinstance(v, str) else "")
def test_rates(name, args, expected):
    found = rates(getattr(lr, name)(*args), 50)
    assert [found[i] for i in STEPS] == pytest.approx(expected, rel=1e-10, abs=1e-15)


@pytest.mark.parametrize("name,args,expected", TABLE, ids=lambda v: v if isinstance(v, str) else "")
def test_a_saved_state_goes_on_exactly(name, args, expected):
    whole = getattr(lr, name)(*args)
    rates(whole, 23)
    resumed = getattr(lr, name)(*args)
    resumed.set_state_dict(whole.state_dict())
    assert resumed() == whole()
    assert rates(resumed, 20) == rates(whole, 20)


@pytest.mark.parametrize(
    "name",
    ["NaturalExpDecay", "StepDecay", "CosineAnnealingDecay", "LinearLR", "PiecewiseDecay"],
)
def test_step_to_an_epoch_gives_the_rate_of_counting(name):
    args = next(row[1] for row in TABLE if row[0] == name)
    counted = rates(getattr(lr, name)(*args), 30)
    jumping = getattr(lr, name)(*args)
    for epoch in (3, 29, 11):
        jumping.step(epoch)
        assert jumping() == pytest.approx(counted[epoch], rel=1e-9)


def test_functions():
    assert rates(lr.LambdaDecay(0.5, lambda n: 0.9**n), 4) == [0.5 * 0.9**n for n in range(4)]
    found = rates(lr.MultiplicativeDecay(0.5, lambda n: n / 10), 4)
    assert found == pytest.approx([0.5, 0.05, 0.01, 0.003])
    assert "lr_lambda" not in lr.LambdaDecay(0.5, lambda n: 1.0).state_dict()


def test_warm_up_then_scheduler():
    inner = lr.ExponentialDecay(0.5, 0.9)
    warm = lr.LinearWarmup(inner, 4, 0.0, 0.5)
    found = rates(warm, 7)
    assert found == pytest.approx([0, 0.125, 0.25, 0.375, 0.5, 0.45, 0.405])
    state = warm.state_dict()
    assert set(state) == {"last_epoch", "last_lr", "LinearWarmup_LR"}
    again = lr.LinearWarmup(lr.ExponentialDecay(0.5, 0.9), 4, 0.0, 0.5)
    again.set_state_dict(state)
    assert rates(again, 3) == rates(warm, 3)


def test_warm_restarts_at_a_fraction():
    s = lr.CosineAnnealingWarmRestarts(1.0, 10)
    s.step(2.5)
    assert s() == pytest.approx((1 + math.cos(math.pi * 0.25)) / 2)
    assert s.last_epoch == 2
    old = {"last_epoch": 3, "last_lr": 0.1}
    s.set_state_dict(old)  # a state from before T_cur and T_i were saved
    assert (s.T_cur, s.T_i) == (3, 10)


def test_reduce_on_plateau():
    s = lr.ReduceOnPlateau(1.0, factor=0.5, patience=2, cooldown=1, min_lr=0.2)
    seen = []
    for metric in [3.0, 2.0, 2.0, 2.0, 2.0, 9.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0]:
        s.step(metric)
        seen.append(s())
    assert seen == [1.0] * 4 + [0.5] * 4 + [0.25] * 4 + [0.2]
    up = lr.ReduceOnPlateau(1.0, mode="max", patience=0, threshold=0.5, threshold_mode="abs")
    for metric, rate in [(1.0, 1.0), (1.4, 0.1), (1.6, 0.1), (1.5, 0.01)]:
        up.step(metric)
        assert up() == pytest.approx(rate)


def test_reduce_on_plateau_takes_arrays_of_one_element():
    import numpy as np

    s = lr.ReduceOnPlateau(1.0, patience=0)
    s.step(np.array([1.0]))
    s.step(np.array([2.0]))
    assert s() == pytest.approx(0.1)
    with pytest.raises(ValueError, match=r"one element, got shape \[2\]"):
        s.step(np.ones(2))
    with pytest.raises(TypeError, match="metrics has the wrong type"):
        s.step("low")


def test_a_scheduler_of_ones_own():
    class Halving(lr.LRScheduler):
        def __init__(self):
            self.extra = 7
            super().__init__(1.0)

        def state_keys(self):
            self.keys = ["last_epoch", "last_lr", "extra"]

        def get_lr(self):
            return self.base_lr * 0.5**self.last_epoch

    s = Halving()
    assert rates(s, 3) == [1.0, 0.5, 0.25]
    assert s.state_dict() == {"last_epoch": 3, "last_lr": 0.125, "extra": 7}
    with pytest.raises(NotImplementedError, match=r"get_lr\(\) is missing"):
        lr.LRScheduler(0.1)


def test_verbose_prints_each_rate(capsys):
    lr.ExponentialDecay(0.5, 0.5, verbose=True).step()
    assert capsys.readouterr().out == (
        "Epoch 0: ExponentialDecay set learning rate to 0.5.\n"
        "Epoch 1: ExponentialDecay set learning rate to 0.25.\n"
    )


def test_states_that_do_not_fit():
    s = lr.StepDecay(0.5, 3)
    with pytest.raises(RuntimeError, match="key 'last_lr' is missing"):
        s.set_state_dict({"last_epoch": 1})
    with pytest.warns(UserWarning, match="not used: .'more'."):
        s.set_state_dict({"last_epoch": 1, "last_lr": 0.5, "more": 0})


@pytest.mark.parametrize(
    "name,args,error,text",
    [
        ("ExponentialDecay", ("a", 0.5), TypeError, "learning_rate has the wrong type"),
        ("ExponentialDecay", (-1.0, 0.5), ValueError, "expected >= 0, got -1.0"),
        ("ExponentialDecay", (0.1, 2.0), AssertionError, "0 < gamma < 1, got 2.0"),
        ("NoamDecay", (0, 1), ValueError, "d_model"),
        ("PiecewiseDecay", ([], [1.0]), ValueError, "boundaries is empty"),
        ("PiecewiseDecay", ([1, 2], [1.0]), ValueError, r"len\(boundaries\) \+ 1 = 3, got 1"),
        ("NaturalExpDecay", (0.1, -1.0), AssertionError, "gamma"),
        ("PolynomialDecay", (0.1, 0), AssertionError, "decay_steps"),
        ("LinearWarmup", ("x", 3, 0.0, 1.0), TypeError, "LRScheduler"),
        ("LinearWarmup", (0.1, 3, 2.0, 1.0), AssertionError, "end_lr must be greater"),
        ("MultiStepDecay", (0.1, 3), TypeError, "milestones"),
        ("MultiStepDecay", (0.1, [3, 2]), ValueError, "increase strictly"),
        ("StepDecay", (0.1, 1.0), TypeError, "step_size"),
        ("StepDecay", (0.1, 3, 1.0), ValueError, "gamma"),
        ("LambdaDecay", (0.1, 3), TypeError, "lr_lambda is not callable"),
        ("ReduceOnPlateau", (0.1, "x"), ValueError, "one of min, max"),
        ("ReduceOnPlateau", (0.1, "min", 1.0), ValueError, "factor"),
        ("CosineAnnealingDecay", (0.1, 1.0), TypeError, "T_max"),
        ("CosineAnnealingDecay", (0.1, 0), AssertionError, "T_max must be positive"),
        ("OneCycleLR", (0.1, 0), ValueError, "total_steps"),
        ("OneCycleLR", (0.1, 10, 25.0, 0.1, 0.6, "cos", True), ValueError, "phase_pct < 0.5"),
        ("CyclicLR", (0.1, 0.5, 3, 0), ValueError, "step_size_down"),
        ("CyclicLR", (0.1, 0.5, 3, 3, "x"), ValueError, "mode"),
        ("LinearLR", (0.1, 3, 0.0), ValueError, "start_factor"),
        ("CosineAnnealingWarmRestarts", (0.1, 2, 0), ValueError, "T_mult"),
    ],
)
def test_errors(name, args, error, text):
    with pytest.raises(error, match=text):
        getattr(lr, name)(*args)


def test_past_the_end_of_one_cycle():
    s = lr.OneCycleLR(0.1, 3)
    with pytest.raises(ValueError, match="past the end of the cycle"):
        rates(s, 5)
