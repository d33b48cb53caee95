"""Learning rate schedulers.

A scheduler is given to an optimizer as its ``learning_rate``. It counts calls of ``step()`` in
``last_epoch`` (the constructor makes the first one, so training starts at 0) and keeps the current
rate in ``last_lr``. Whether a step is an epoch or a batch is the caller's choice. All arithmetic is
on Python floats; ``state_dict()`` holds everything a resumed run needs.
"""

import math

from argosy._support import ArgumentError, check_choice

from .cycles import CosineAnnealingDecay, CosineAnnealingWarmRestarts, CyclicLR, OneCycleLR
from .rates import (  # noqa: F401
    autoincreased_step_counter,
    cosine_decay,
    exponential_decay,
    inverse_time_decay,
    linear_lr_warmup,
    natural_exp_decay,
    noam_decay,
    piecewise_decay,
    polynomial_decay,
)
from .scheduler import (
    LRScheduler,
    _check_callable,
    _check_rate,
    _check_type,
    _is_number,
)

__all__ = [
    "LRScheduler",
    "NoamDecay",
    "PiecewiseDecay",
    "NaturalExpDecay",
    "InverseTimeDecay",
    "PolynomialDecay",
    "LinearWarmup",
    "ExponentialDecay",
    "MultiStepDecay",
    "StepDecay",
    "LambdaDecay",
    "ReduceOnPlateau",
    "CosineAnnealingDecay",
    "MultiplicativeDecay",
    "OneCycleLR",
    "CyclicLR",
    "LinearLR",
    "CosineAnnealingWarmRestarts",
]

# Files of saved schedulers name this module, here as in Paddle.
for _scheduler in (CosineAnnealingDecay, CosineAnnealingWarmRestarts, CyclicLR, OneCycleLR):
    _scheduler.__module__ = __name__


class NoamDecay(LRScheduler):
    """``learning_rate * d_model^-0.5 * min(n^-0.5, n * warmup_steps^-1.5)`` at step n: a linear rise
    for `warmup_steps` steps, then decay by the inverse square root.

    Args:
        d_model (int): Width of the model, > 0.
        warmup_steps (int): Steps of the rise.
        learning_rate (float): Factor on the rate, >= 0.
        last_epoch (int): Number of the step to continue after; -1 to start.
        verbose (bool): Whether to print the rate after each step.

    Raises:
        ValueError: d_model is not positive.

    Paper: Attention Is All You Need (https://arxiv.org/abs/1706.03762).

    Example:
        >>> scheduler = argosy.optimizer.lr.NoamDecay(64, 10)
        >>> scheduler.step()
        >>> scheduler()
        0.004
    """

    def __init__(self, d_model, warmup_steps, learning_rate=1.0, last_epoch=-1, verbose=False):
        if d_model <= 0:
            raise ValueError(
                f"[NoamDecay] d_model is out of range: expected > 0, got {d_model}."
                " Do this: pass the model's width."
            )
        self.d_model = d_model
        self.warmup_steps = warmup_steps
        super().__init__(learning_rate, last_epoch, verbose)

    def get_lr(self):
        n = self.last_epoch
        decay = 1 if n == 0 else n**-0.5
        rise = self.warmup_steps**-1.5 * n
        return self.base_lr * (self.d_model**-0.5) * min(decay, rise)


class PiecewiseDecay(LRScheduler):
    """Constant pieces: ``values[i]`` while the step number is below ``boundaries[i]``, and the last
    value afterwards.

    Args:
        boundaries (list[int]): Steps at which the rate changes, rising; not empty.
        values (list[float]): Rates, one more than `boundaries`.
        last_epoch (int): Number of the step to continue after; -1 to start.
        verbose (bool): Whether to print the rate after each step.

    Raises:
        ValueError: boundaries is empty, or there are too few values.

    Example:
        >>> scheduler = argosy.optimizer.lr.PiecewiseDecay([1, 2], [0.1, 0.05, 0.01])
        >>> rates = []
        >>> for _ in range(4):
        ...     rates.append(scheduler())
        ...     scheduler.step()
        >>> rates
        [0.1, 0.05, 0.01, 0.01]
    """

    def __init__(self, boundaries, values, last_epoch=-1, verbose=False):
        if len(boundaries) == 0:
            raise ValueError(
                "[PiecewiseDecay] boundaries is empty: expected at least one step."
                " Do this: pass the steps at which the rate changes."
            )
        if len(values) <= len(boundaries):
            raise ValueError(
                "[PiecewiseDecay] too few values: expected len(boundaries) + 1 = "
                f"{len(boundaries) + 1}, got {len(values)}."
                " Do this: pass one value more than boundaries."
            )
        self.boundaries = boundaries
        self.values = values
        super().__init__(last_epoch=last_epoch, verbose=verbose)

    def get_lr(self):
        for boundary, value in zip(self.boundaries, self.values):
            if self.last_epoch < boundary:
                return value
        return self.values[len(self.values) - 1]


class NaturalExpDecay(LRScheduler):
    """``learning_rate * e^(-gamma * n)`` at step n.

    Args:
        learning_rate (float): The rate to start from, >= 0.
        gamma (float): > 0.
        last_epoch (int): Number of the step to continue after; -1 to start.
        verbose (bool): Whether to print the rate after each step.

    Raises:
        AssertionError: gamma is not positive.

    Example:
        >>> scheduler = argosy.optimizer.lr.NaturalExpDecay(1.0, gamma=0.5)
        >>> scheduler.step()
        >>> scheduler()
        0.6065
    """

    def __init__(self, learning_rate, gamma, last_epoch=-1, verbose=False):
        if not gamma > 0.0:
            raise AssertionError(
                f"[NaturalExpDecay] gamma is out of range: expected > 0, got {gamma}."
                " Do this: pass a positive gamma, such as 0.5."
            )
        self.gamma = gamma
        super().__init__(learning_rate, last_epoch, verbose)

    def get_lr(self):
        return self.base_lr * math.exp(-1 * self.gamma * self.last_epoch)


class InverseTimeDecay(LRScheduler):
    """``learning_rate / (1 + gamma * n)`` at step n.

    Args:
        learning_rate (float): The rate to start from, >= 0.
        gamma (float): How fast the rate falls.
        last_epoch (int): Number of the step to continue after; -1 to start.
        verbose (bool): Whether to print the rate after each step.

    Example:
        >>> scheduler = argosy.optimizer.lr.InverseTimeDecay(1.0, gamma=0.5)
        >>> scheduler.step(2)
        >>> scheduler()
        0.5
    """

    def __init__(self, learning_rate, gamma, last_epoch=-1, verbose=False):
        self.gamma = gamma
        super().__init__(learning_rate, last_epoch, verbose)

    def get_lr(self):
        return self.base_lr / (1 + self.gamma * self.last_epoch)


class PolynomialDecay(LRScheduler):
    """From `learning_rate` to `end_lr` in `decay_steps` steps along ``(1 - n / decay_steps)^power``.

    Args:
        learning_rate (float): The rate to start from, >= 0.
        decay_steps (int): Steps of the decay, > 0.
        end_lr (float): The rate at its end.
        power (float): > 0; 1 is a line.
        cycle (bool): Whether the span grows to the next multiple of `decay_steps` each time it is passed,
            so that the rate jumps up and decays again; without it, the rate stays at `end_lr`.
        last_epoch (int): Number of the step to continue after; -1 to start.
        verbose (bool): Whether to print the rate after each step.

    Raises:
        ValueError: decay_steps is no positive int.
        AssertionError: power is not positive.

    Example:
        >>> scheduler = argosy.optimizer.lr.PolynomialDecay(1.0, decay_steps=4, end_lr=0.0)
        >>> scheduler.step()
        >>> scheduler()
        0.75
    """

    def __init__(
        self,
        learning_rate,
        decay_steps,
        end_lr=0.0001,
        power=1.0,
        cycle=False,
        last_epoch=-1,
        verbose=False,
    ):
        if not isinstance(decay_steps, int) or decay_steps <= 0:
            raise ArgumentError(
                f"[PolynomialDecay] decay_steps: expected a positive int, got {decay_steps!r}."
                " Do this: pass a whole number of steps."
            )
        if not power > 0.0:
            raise AssertionError(
                f"[PolynomialDecay] power is out of range: expected > 0, got {power}."
                " Do this: pass a positive power, such as 1.0."
            )
        self.decay_steps = decay_steps
        self.end_lr = end_lr
        self.power = power
        self.cycle = cycle
        super().__init__(learning_rate, last_epoch, verbose)

    def get_lr(self):
        n, span = self.last_epoch, self.decay_steps
        if self.cycle:
            span *= max(1, math.ceil(float(n) / float(span)))
        else:
            n = min(n, span)
        left = (1 - float(n) / float(span)) ** self.power
        return (self.base_lr - self.end_lr) * left + self.end_lr


class LinearWarmup(LRScheduler):
    """From `start_lr` to `end_lr` linearly in `warmup_steps` steps, then `learning_rate`.

    Args:
        learning_rate (float | LRScheduler): The rate after the warm-up; a scheduler's own step 0 is the
            first step after it.
        warmup_steps (int): Steps of the warm-up, > 0.
        start_lr (float): The rate at step 0.
        end_lr (float): The rate that the line leads to, > start_lr.
        last_epoch (int): Number of the step to continue after; -1 to start.
        verbose (bool): Whether to print the rate after each step.

    Raises:
        TypeError: learning_rate is neither a number nor a scheduler.
        AssertionError: warmup_steps is no positive int, or end_lr is not greater than start_lr.

    Example:
        >>> scheduler = argosy.optimizer.lr.LinearWarmup(0.5, 4, start_lr=0.0, end_lr=0.4)
        >>> scheduler.step()
        >>> scheduler()
        0.1
        >>> scheduler.step(4)
        >>> scheduler()
        0.5
    """

    def __init__(self, learning_rate, warmup_steps, start_lr, end_lr, last_epoch=-1, verbose=False):
        if not isinstance(learning_rate, LRScheduler) and not _is_number(learning_rate):
            raise TypeError(
                "[LinearWarmup] learning_rate has the wrong type: expected float, int or "
                f"LRScheduler, got {type(learning_rate).__name__}."
                " Do this: pass a number or a scheduler."
            )
        if not isinstance(warmup_steps, int) or warmup_steps <= 0:
            raise AssertionError(
                f"[LinearWarmup] warmup_steps: expected a positive int, got {warmup_steps!r}."
                " Do this: pass a whole number of steps."
            )
        if not end_lr > start_lr:
            raise AssertionError(
                f"[LinearWarmup] end_lr must be greater than start_lr, got start_lr={start_lr}, "
                f"end_lr={end_lr}."
                " Do this: exchange them."
            )
        self.learning_rate = learning_rate
        self.warmup_steps = warmup_steps
        self.start_lr = start_lr
        self.end_lr = end_lr
        super().__init__(start_lr, last_epoch, verbose)

    def state_dict(self):
        """The state, and under ``LinearWarmup_LR`` that of the wrapped scheduler if there is one."""
        state = super().state_dict()
        if isinstance(self.learning_rate, LRScheduler):
            state["LinearWarmup_LR"] = self.learning_rate.state_dict()
        return state

    def set_state_dict(self, state_dict):
        """Takes over what ``state_dict()`` gave, the wrapped scheduler's part included."""
        own = {k: v for k, v in state_dict.items() if k != "LinearWarmup_LR"}
        super().set_state_dict(own)
        if isinstance(self.learning_rate, LRScheduler):
            self.learning_rate.set_state_dict(state_dict["LinearWarmup_LR"])

    set_dict = set_state_dict

    def get_lr(self):
        if self.last_epoch < self.warmup_steps:
            span = self.end_lr - self.start_lr
            return span * float(self.last_epoch) / float(self.warmup_steps) + self.start_lr
        if isinstance(self.learning_rate, LRScheduler):
            self.learning_rate.step(self.last_epoch - self.warmup_steps)
            return self.learning_rate()
        return self.learning_rate


class ExponentialDecay(LRScheduler):
    """``learning_rate * gamma^n`` at step n.

    Args:
        learning_rate (float): The rate to start from, >= 0.
        gamma (float): Between 0 and 1, both left out.
        last_epoch (int): Number of the step to continue after; -1 to start.
        verbose (bool): Whether to print the rate after each step.

    Raises:
        AssertionError: gamma is out of range.

    Example:
        >>> scheduler = argosy.optimizer.lr.ExponentialDecay(1.0, gamma=0.5)
        >>> scheduler.step(3)
        >>> scheduler()
        0.125
    """

    def __init__(self, learning_rate, gamma, last_epoch=-1, verbose=False):
        if not 0.0 < gamma < 1.0:
            raise AssertionError(
                f"[ExponentialDecay] gamma is out of range: expected 0 < gamma < 1, got {gamma}."
                " Do this: pass a gamma such as 0.9."
            )
        self.gamma = gamma
        super().__init__(learning_rate, last_epoch, verbose)

    def get_lr(self):
        return self.base_lr * (self.gamma**self.last_epoch)


class MultiStepDecay(LRScheduler):
    """The rate is multiplied by `gamma` at each of some steps.

    Args:
        learning_rate (float): The rate to start from, >= 0.
        milestones (list[int] | tuple[int]): Their numbers, strictly rising.
        gamma (float): The factor, < 1.
        last_epoch (int): Number of the step to continue after; -1 to start.
        verbose (bool): Whether to print the rate after each step.

    Raises:
        TypeError: milestones is no list or tuple.
        ValueError: milestones do not rise, or gamma is 1 or more.

    Example:
        >>> scheduler = argosy.optimizer.lr.MultiStepDecay(1.0, [2, 4], gamma=0.5)
        >>> scheduler.step(3)
        >>> scheduler()
        0.5
    """

    def __init__(self, learning_rate, milestones, gamma=0.1, last_epoch=-1, verbose=False):
        if not isinstance(milestones, (tuple, list)):
            raise TypeError(
                "[MultiStepDecay] milestones has the wrong type: expected tuple or list, got "
                f"{type(milestones).__name__}."
                " Do this: pass a list of epochs."
            )
        if any(a >= b for a, b in zip(milestones, milestones[1:])):
            raise ValueError(
                f"[MultiStepDecay] milestones must increase strictly, got {list(milestones)}."
                " Do this: sort them and drop what is there twice."
            )
        if gamma >= 1.0:
            raise ValueError(
                f"[MultiStepDecay] gamma is out of range: expected < 1, got {gamma}."
                " Do this: pass a gamma such as 0.1."
            )
        self.milestones = milestones
        self.gamma = gamma
        super().__init__(learning_rate, last_epoch, verbose)

    def get_lr(self):
        passed = len(self.milestones)
        for i, milestone in enumerate(self.milestones):
            if self.last_epoch < milestone:
                passed = i
                break
        return self.base_lr * (self.gamma**passed)


class StepDecay(LRScheduler):
    """The rate is multiplied by `gamma` every `step_size` steps.

    Args:
        learning_rate (float): The rate to start from, >= 0.
        step_size (int): Steps from one change to the next, > 0.
        gamma (float): The factor, < 1.
        last_epoch (int): Number of the step to continue after; -1 to start.
        verbose (bool): Whether to print the rate after each step.

    Raises:
        TypeError: step_size is no int.
        AssertionError: step_size is not positive.
        ValueError: gamma is 1 or more.

    Example:
        >>> scheduler = argosy.optimizer.lr.StepDecay(1.0, step_size=2, gamma=0.5)
        >>> scheduler.step(5)
        >>> scheduler()
        0.25
    """

    def __init__(self, learning_rate, step_size, gamma=0.1, last_epoch=-1, verbose=False):
        _check_type("StepDecay", "step_size", step_size, int)
        if step_size <= 0:
            raise AssertionError(
                f"[StepDecay] step_size is out of range: expected > 0, got {step_size}."
                " Do this: pass the number of epochs between two steps."
            )
        if gamma >= 1.0:
            raise ValueError(
                f"[StepDecay] gamma is out of range: expected < 1, got {gamma}."
                " Do this: pass a gamma such as 0.1."
            )
        self.step_size = step_size
        self.gamma = gamma
        super().__init__(learning_rate, last_epoch, verbose)

    def get_lr(self):
        return self.base_lr * (self.gamma ** (self.last_epoch // self.step_size))


class LambdaDecay(LRScheduler):
    """``learning_rate * lr_lambda(n)`` at step n.

    Args:
        learning_rate (float): The rate to start from, >= 0.
        lr_lambda (callable): Gets the number of the step, returns the factor. It is not saved by state_dict.
        last_epoch (int): Number of the step to continue after; -1 to start.
        verbose (bool): Whether to print the rate after each step.

    Raises:
        TypeError: lr_lambda is not callable.

    Example:
        >>> scheduler = argosy.optimizer.lr.LambdaDecay(0.5, lambda n: 0.9**n)
        >>> scheduler.step()
        >>> scheduler()
        0.45
    """

    def __init__(self, learning_rate, lr_lambda, last_epoch=-1, verbose=False):
        _check_callable("LambdaDecay", "lr_lambda", lr_lambda)
        self.lr_lambda = lr_lambda
        super().__init__(learning_rate, last_epoch, verbose)

    def get_lr(self):
        return self.base_lr * self.lr_lambda(self.last_epoch)


class MultiplicativeDecay(LRScheduler):
    """``learning_rate * lr_lambda(1) * ... * lr_lambda(n)`` at step n.

    Args:
        learning_rate (float): The rate to start from, >= 0.
        lr_lambda (callable): Gets the number of a step, returns its factor. It is not saved by state_dict.
        last_epoch (int): Number of the step to continue after; -1 to start.
        verbose (bool): Whether to print the rate after each step.

    Raises:
        TypeError: lr_lambda is not callable.

    Example:
        >>> scheduler = argosy.optimizer.lr.MultiplicativeDecay(1.0, lambda n: 0.5)
        >>> scheduler.step()
        >>> scheduler()
        0.5
    """

    def __init__(self, learning_rate, lr_lambda, last_epoch=-1, verbose=False):
        _check_callable("MultiplicativeDecay", "lr_lambda", lr_lambda)
        self.lr_lambda = lr_lambda
        super().__init__(learning_rate, last_epoch, verbose)

    def get_lr(self):
        rate = self.base_lr
        for n in range(1, self.last_epoch + 1):
            rate = rate * self.lr_lambda(n)
        return rate


class ReduceOnPlateau(LRScheduler):
    """Multiplies the rate by `factor` once a metric has not improved for more than `patience` steps.

    ``step(metrics)`` takes the metric: a number or a tensor or array of one element.

    Args:
        learning_rate (float): The rate to start from, >= 0.
        mode (str): ``"min"`` if smaller is better, ``"max"`` if larger is.
        factor (float): < 1.
        patience (int): Steps without improvement that are tolerated.
        threshold (float): How much better counts as better.
        threshold_mode (str): ``"rel"``: relative to the best value; ``"abs"``: absolute.
        cooldown (int): Steps after a reduction during which nothing is counted.
        min_lr (float): The rate never goes below it.
        epsilon (float): A reduction smaller than this is not made.
        verbose (bool): Whether to print the rate after each reduction.

    Raises:
        ValueError: mode or threshold_mode is another one, factor is 1 or more, or learning_rate negative.
        TypeError: learning_rate is no number.

    Example:
        >>> scheduler = argosy.optimizer.lr.ReduceOnPlateau(1.0, factor=0.5, patience=1)
        >>> for loss in [3.0, 3.0, 3.0]:
        ...     scheduler.step(loss)
        >>> scheduler()
        0.5
    """

    def __init__(
        self,
        learning_rate,
        mode="min",
        factor=0.1,
        patience=10,
        threshold=1e-4,
        threshold_mode="rel",
        cooldown=0,
        min_lr=0,
        epsilon=1e-8,
        verbose=False,
    ):
        mode = mode.lower()
        check_choice("ReduceOnPlateau", "mode", mode, ("min", "max"))
        if factor >= 1.0:
            raise ValueError(
                f"[ReduceOnPlateau] factor is out of range: expected < 1, got {factor}."
                " Do this: pass a factor such as 0.1."
            )
        threshold_mode = threshold_mode.lower()
        check_choice("ReduceOnPlateau", "threshold_mode", threshold_mode, ("rel", "abs"))
        _check_rate("ReduceOnPlateau", "learning_rate", learning_rate)
        self.mode = mode
        self.factor = factor
        self.patience = patience
        self.threshold = threshold
        self.threshold_mode = threshold_mode
        self.cooldown = cooldown
        self.min_lr = min_lr
        self.epsilon = epsilon
        self.cooldown_counter = 0
        self.best = None
        self.num_bad_epochs = 0
        # Not the base class's constructor: it would make a step, which needs a metric here.
        self.base_lr = float(learning_rate)
        self.last_lr = float(learning_rate)
        self.last_epoch = 0
        self.verbose = verbose
        self._var_name = None

    def state_keys(self):
        """``cooldown_counter``, ``best``, ``num_bad_epochs``, ``last_epoch``, ``last_lr``."""
        self.keys = ["cooldown_counter", "best", "num_bad_epochs", "last_epoch", "last_lr"]

    def step(self, metrics, epoch=None):
        """Counts one step with the value `metrics` and lowers the rate if it is due."""
        self.last_epoch = self.last_epoch + 1 if epoch is None else epoch
        if not _is_number(metrics):
            shape = getattr(metrics, "shape", None)
            if shape is None:
                raise TypeError(
                    "[ReduceOnPlateau.step] metrics has the wrong type: expected a number, tensor "
                    f"or array of one element, got {type(metrics).__name__}."
                    " Do this: pass the value to watch, such as the mean loss."
                )
            size = math.prod(shape)
            if size != 1:
                raise ArgumentError(
                    "[ReduceOnPlateau.step] metrics must have one element, got shape "
                    f"{list(shape)}. Do this: reduce it first, for example with mean()."
                )
        if self.cooldown_counter > 0:
            self.cooldown_counter -= 1
        else:
            if self.best is None or self._is_better(metrics, self.best):
                self.best = metrics
                self.num_bad_epochs = 0
            else:
                self.num_bad_epochs += 1
            if self.num_bad_epochs > self.patience:
                self.cooldown_counter = self.cooldown
                self.num_bad_epochs = 0
                rate = max(self.last_lr * self.factor, self.min_lr)
                if self.last_lr - rate > self.epsilon:
                    self.last_lr = rate
                    self._report()

    def _is_better(self, current, best):
        relative = self.threshold_mode == "rel"
        if self.mode == "min":
            return current < (best - best * self.threshold if relative else best - self.threshold)
        return current > (best + best * self.threshold if relative else best + self.threshold)


class LinearLR(LRScheduler):
    """The factor on `learning_rate` goes from `start_factor` to `end_factor` linearly and stays there.

    Args:
        learning_rate (float): The rate to start from, >= 0.
        total_steps (int): Steps of the ramp, > 0.
        start_factor (float): 0 < start_factor <= 1.
        end_factor (float): 0 <= end_factor <= 1.
        last_epoch (int): Number of the step to continue after; -1 to start.
        verbose (bool): Whether to print the rate after each step.

    Raises:
        ValueError: A number is out of range.

    Example:
        >>> scheduler = argosy.optimizer.lr.LinearLR(1.0, total_steps=4, start_factor=0.5)
        >>> scheduler(), scheduler.step(), scheduler()
        (0.5, None, 0.625)
    """

    def __init__(
        self,
        learning_rate,
        total_steps,
        start_factor=1.0 / 3,
        end_factor=1.0,
        last_epoch=-1,
        verbose=False,
    ):
        if not 0 < start_factor <= 1.0:
            raise ValueError(
                f"[LinearLR] start_factor is out of range: expected 0 < factor <= 1, got "
                f"{start_factor}."
                " Do this: pass a factor such as 0.33."
            )
        if not 0 <= end_factor <= 1.0:
            raise ValueError(
                f"[LinearLR] end_factor is out of range: expected 0 <= factor <= 1, got {end_factor}."
                " Do this: pass a factor such as 1.0."
            )
        if total_steps <= 0:
            raise ValueError(
                f"[LinearLR] total_steps must be positive, got {total_steps}."
                " Do this: pass the number of steps of the ramp."
            )
        self.start_factor = start_factor
        self.end_factor = end_factor
        self.total_steps = total_steps
        super().__init__(learning_rate, last_epoch, verbose)

    def get_lr(self):
        n, total = self.last_epoch, self.total_steps
        if n == 0:
            return self.base_lr * self.start_factor
        if n > total:
            return self.last_lr
        span = self.end_factor - self.start_factor
        return self.last_lr * (1.0 + span / (total * self.start_factor + (n - 1) * span))

    def _get_closed_form_lr(self):
        done = min(self.total_steps, self.last_epoch) / self.total_steps
        return self.base_lr * (self.start_factor + (self.end_factor - self.start_factor) * done)
