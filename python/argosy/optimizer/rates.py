"""Learning rates as functions: where ops run at once each gives its scheduler; in a Program, a value
that changes with the number of runs."""

from __future__ import annotations

import math

from argosy import static, tensor
from argosy._core import Tensor
from argosy._framework import in_dynamic_mode
from argosy._support import need_type

_DECAY_COUNTER = "@LR_DECAY_COUNTER@"


def _schedulers():
    from argosy.optimizer import lr  # which takes these functions in

    return lr


def autoincreased_step_counter(counter_name=None, begin=1, step=1):
    """A variable of the default Program that counts its runs.

    Args:
        counter_name (str, optional): Programs have one counter for each name.
        begin (int): Its value in the first run.
        step (int): How much each run adds.

    Returns:
        Tensor: int64 [1].

    Example:
        >>> argosy.enable_static()
        >>> n = argosy.optimizer.lr.autoincreased_step_counter()
        >>> exe = argosy.static.Executor()
        >>> exe.run(argosy.static.default_startup_program())
        []
        >>> [exe.run(fetch_list=[n])[0].tolist() for _ in range(2)]
        [[1], [2]]
    """
    name = counter_name or "@STEP_COUNTER@"
    block = static.default_main_program().global_block()
    if block.has_var(name):
        return block.var(name)
    counter = static.create_global_var([1], begin - 1, "int64", persistable=True, name=name)
    tensor.increment(counter, step)
    counter.stop_gradient = True
    return counter


def _steps(begin=0):
    return tensor.cast(autoincreased_step_counter(_DECAY_COUNTER, begin), "float32")


def _periods(decay_steps, staircase):
    periods = _steps() / decay_steps
    return tensor.floor(periods) if staircase else periods


def noam_decay(d_model, warmup_steps, learning_rate=1.0):
    """``learning_rate * d_model^-0.5 * min(n^-0.5, n * warmup_steps^-1.5)`` at step n.

    Args:
        d_model (int): Width of the model, > 0.
        warmup_steps (int): Steps of the rise.
        learning_rate (float): Factor on the rate.

    Returns:
        NoamDecay | Tensor: In a Program the rate of the n-th run, float32 [1].

    Example:
        >>> argosy.optimizer.lr.noam_decay(4, 10).last_lr
        0.0
    """
    if in_dynamic_mode():
        return _schedulers().NoamDecay(d_model, warmup_steps, learning_rate=learning_rate)
    steps = _steps(1)
    return learning_rate * d_model**-0.5 * tensor.minimum(steps**-0.5, steps * warmup_steps**-1.5)


def exponential_decay(learning_rate, decay_steps, decay_rate, staircase=False):
    """``learning_rate * decay_rate^(n / decay_steps)`` after n steps.

    Args:
        learning_rate (float): The first rate.
        decay_steps (int): Steps until the rate is decay_rate times as large. A scheduler counts each of its
            steps as that many.
        decay_rate (float): The factor.
        staircase (bool): Whether n / decay_steps is rounded down. (Of a scheduler it is whole.)

    Returns:
        ExponentialDecay | Tensor: In a Program the rate of this run, float32 [1].

    Example:
        >>> argosy.optimizer.lr.exponential_decay(0.1, 100, 0.5).last_lr
        0.1
    """
    if in_dynamic_mode():
        return _schedulers().ExponentialDecay(learning_rate, decay_rate)
    return learning_rate * decay_rate ** _periods(decay_steps, staircase)


def natural_exp_decay(learning_rate, decay_steps, decay_rate, staircase=False):
    """``learning_rate * exp(-decay_rate * n / decay_steps)`` after n steps.

    Args:
        learning_rate (float): The first rate.
        decay_steps (int): See exponential_decay.
        decay_rate (float): The exponent's factor.
        staircase (bool): See exponential_decay.

    Returns:
        NaturalExpDecay | Tensor: In a Program the rate of this run, float32 [1].

    Example:
        >>> argosy.optimizer.lr.natural_exp_decay(0.1, 100, 0.5).last_lr
        0.1
    """
    if in_dynamic_mode():
        return _schedulers().NaturalExpDecay(learning_rate, decay_rate)
    return learning_rate * tensor.exp(-decay_rate * _periods(decay_steps, staircase))


def inverse_time_decay(learning_rate, decay_steps, decay_rate, staircase=False):
    """``learning_rate / (1 + decay_rate * n / decay_steps)`` after n steps.

    Args:
        learning_rate (float): The first rate.
        decay_steps (int): See exponential_decay.
        decay_rate (float): The denominator's factor.
        staircase (bool): See exponential_decay.

    Returns:
        InverseTimeDecay | Tensor: In a Program the rate of this run, float32 [1].

    Example:
        >>> argosy.optimizer.lr.inverse_time_decay(0.1, 100, 0.5).last_lr
        0.1
    """
    if in_dynamic_mode():
        return _schedulers().InverseTimeDecay(learning_rate, decay_rate)
    return learning_rate / (1 + decay_rate * _periods(decay_steps, staircase))


def polynomial_decay(learning_rate, decay_steps, end_learning_rate=0.0001, power=1.0, cycle=False):
    """From learning_rate to end_learning_rate within decay_steps, as a power of what is left.

    Args:
        learning_rate (float): The first rate.
        decay_steps (int): Steps of the fall.
        end_learning_rate (float): The last rate.
        power (float): Of the part that is left.
        cycle (bool): Whether the fall begins again, each time over one more multiple of decay_steps.

    Returns:
        PolynomialDecay | Tensor: In a Program the rate of this run, float32 [1].

    Example:
        >>> argosy.optimizer.lr.polynomial_decay(0.1, 100).last_lr
        0.1
    """
    if in_dynamic_mode():
        return _schedulers().PolynomialDecay(
            learning_rate, decay_steps, end_learning_rate, power, cycle
        )
    steps = _steps()
    if cycle:
        length = decay_steps * tensor.clip(tensor.ceil(steps / decay_steps), min=1.0)
    else:
        length = decay_steps
        steps = tensor.clip(steps, max=float(decay_steps))
    return (learning_rate - end_learning_rate) * (1 - steps / length) ** power + end_learning_rate


def piecewise_decay(boundaries, values):
    """``values[i]`` until step ``boundaries[i]``, the last value from then on.

    Args:
        boundaries (list[int]): Steps where the rate changes, ascending.
        values (list[float]): One more than there are boundaries.

    Returns:
        PiecewiseDecay | Tensor: In a Program the rate of this run, float32 [1].

    Raises:
        ValueError: There are not len(boundaries) + 1 values.

    Example:
        >>> argosy.optimizer.lr.piecewise_decay([10], [0.1, 0.01]).last_lr
        0.1
    """
    if len(values) - len(boundaries) != 1:
        raise ValueError(
            f"[piecewise_decay] values: expected {len(boundaries) + 1}, one more than boundaries, got"
            f" {len(values)}. Do this: name the rate of each part."
        )
    if in_dynamic_mode():
        return _schedulers().PiecewiseDecay(boundaries, values)
    steps = _steps()
    rate = tensor.full([1], float(values[-1]), "float32")
    for boundary, value in zip(reversed(boundaries), reversed(values[:-1])):
        rate = tensor.where(steps < float(boundary), tensor.full_like(rate, float(value)), rate)
    return rate


def cosine_decay(learning_rate, step_each_epoch, epochs):
    """``learning_rate / 2 * (cos(epoch * pi / epochs) + 1)``, constant within an epoch.

    Args:
        learning_rate (float): The first rate.
        step_each_epoch (int): Steps of an epoch; a scheduler counts epochs itself.
        epochs (int): How many there are.

    Returns:
        CosineAnnealingDecay | Tensor: In a Program the rate of this run, float32 [1].

    Raises:
        TypeError: learning_rate is no number.

    Example:
        >>> argosy.optimizer.lr.cosine_decay(0.1, 100, 10).last_lr
        0.1
    """
    need_type("cosine_decay", "learning_rate", learning_rate, (float, Tensor), "pass a float")
    if in_dynamic_mode():
        return _schedulers().CosineAnnealingDecay(learning_rate, epochs)
    epoch = _periods(step_each_epoch, staircase=True)
    return learning_rate * 0.5 * (tensor.cos(epoch * math.pi / epochs) + 1)


def linear_lr_warmup(learning_rate, warmup_steps, start_lr, end_lr):
    """From start_lr to end_lr in warmup_steps, learning_rate from then on.

    Args:
        learning_rate (float | LRScheduler | Tensor): The rate after the rise.
        warmup_steps (int): Steps of the rise.
        start_lr (float): The first rate.
        end_lr (float): Where the rise leads.

    Returns:
        LinearWarmup | Tensor: In a Program the rate of this run, float32 [1].

    Example:
        >>> argosy.optimizer.lr.linear_lr_warmup(0.1, 10, 0.0, 0.1).last_lr
        0.0
    """
    if in_dynamic_mode():
        return _schedulers().LinearWarmup(learning_rate, warmup_steps, start_lr, end_lr)
    steps = _steps()
    rising = start_lr + (float(end_lr) - float(start_lr)) * (steps / float(warmup_steps))
    if not isinstance(learning_rate, Tensor):
        learning_rate = tensor.full([1], float(learning_rate), "float32")
    return tensor.where(steps < float(warmup_steps), rising, learning_rate)
