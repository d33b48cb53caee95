"""Learning rate schedulers.

A scheduler is given to an optimizer as its ``learning_rate``. It counts calls of ``step()`` in
``last_epoch`` (the constructor makes the first one, so training starts at 0) and keeps the current
rate in ``last_lr``. Whether a step is an epoch or a batch is the caller's choice. All arithmetic is
on Python floats; ``state_dict()`` holds everything a resumed run needs.
"""

import math

from argosy._support import ArgumentError, check_choice

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


class NoamDecay(LRScheduler):
    """``learning_rate * d_model^-0.5 * min(n^-0.5, n * warmup_steps^-1.5)`` at step n: a linear rise
    for `warmup_steps` steps, then decay by the inverse square root.

    Paper: Attention Is All You Need (https://arxiv.org/abs/1706.03762).
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
    value afterwards. `values` has one element more than `boundaries`.
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
    """``learning_rate * e^(-gamma * n)`` at step n."""

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
    """``learning_rate / (1 + gamma * n)`` at step n."""

    def __init__(self, learning_rate, gamma, last_epoch=-1, verbose=False):
        self.gamma = gamma
        super().__init__(learning_rate, last_epoch, verbose)

    def get_lr(self):
        return self.base_lr / (1 + self.gamma * self.last_epoch)


class PolynomialDecay(LRScheduler):
    """From `learning_rate` to `end_lr` in `decay_steps` steps along ``(1 - n / decay_steps)^power``.

    With `cycle` the span grows to the next multiple of `decay_steps` each time it is passed, so the
    rate jumps up and decays again; without it, the rate stays at `end_lr`.
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
    """From `start_lr` to `end_lr` linearly in `warmup_steps` steps, then `learning_rate`, which is a
    number or another scheduler (whose own step 0 is the first step after the warm-up).
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
    """``learning_rate * gamma^n`` at step n; 0 < gamma < 1."""

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
    """The rate is multiplied by `gamma` at each step number in `milestones` (increasing)."""

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
    """The rate is multiplied by `gamma` (< 1) every `step_size` steps."""

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
    """``learning_rate * lr_lambda(n)`` at step n. The function itself is not saved."""

    def __init__(self, learning_rate, lr_lambda, last_epoch=-1, verbose=False):
        _check_callable("LambdaDecay", "lr_lambda", lr_lambda)
        self.lr_lambda = lr_lambda
        super().__init__(learning_rate, last_epoch, verbose)

    def get_lr(self):
        return self.base_lr * self.lr_lambda(self.last_epoch)


class MultiplicativeDecay(LRScheduler):
    """``learning_rate * lr_lambda(1) * ... * lr_lambda(n)`` at step n."""

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
        learning_rate (float): The rate to start from.
        mode (str): ``"min"`` if smaller is better, ``"max"`` if larger is.
        factor (float): < 1.
        patience (int): Steps without improvement that are tolerated.
        threshold (float): How much better counts as better: relative to the best value
            (`threshold_mode` ``"rel"``) or absolute (``"abs"``).
        cooldown (int): Steps after a reduction during which nothing is counted.
        min_lr (float): The rate never goes below it.
        epsilon (float): A reduction smaller than this is not made.
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
                raise ValueError(
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


class CosineAnnealingDecay(LRScheduler):
    """Half a cosine from `learning_rate` to `eta_min` in `T_max` steps, then back up, and so on.

    Computed from the previous rate, so a rate changed by hand is followed; ``step(epoch)`` uses the
    closed form ``eta_min + (learning_rate - eta_min) * (1 + cos(pi * n / T_max)) / 2``.

    Paper: SGDR (https://arxiv.org/abs/1608.03983), without the restarts.
    """

    def __init__(self, learning_rate, T_max, eta_min=0, last_epoch=-1, verbose=False):
        _check_type("CosineAnnealingDecay", "T_max", T_max, int)
        if not _is_number(eta_min):
            raise TypeError(
                f"[CosineAnnealingDecay] eta_min: expected a number, got {eta_min!r}."
                " Do this: pass the smallest learning rate."
            )
        if T_max <= 0:
            raise AssertionError(
                f"[CosineAnnealingDecay] T_max must be positive, got {T_max}."
                " Do this: pass the number of epochs of half a period."
            )
        self.T_max = T_max
        self.eta_min = float(eta_min)
        super().__init__(learning_rate, last_epoch, verbose)

    def get_lr(self):
        n, period = self.last_epoch, self.T_max
        if n == 0:
            return self.base_lr
        if (n - 1 - period) % (2 * period) == 0:
            rise = (self.base_lr - self.eta_min) * (1 - math.cos(math.pi / period)) / 2
            return self.last_lr + rise
        ratio = (1 + math.cos(math.pi * n / period)) / (1 + math.cos(math.pi * (n - 1) / period))
        return ratio * (self.last_lr - self.eta_min) + self.eta_min

    def _get_closed_form_lr(self):
        wave = 1 + math.cos(math.pi * self.last_epoch / self.T_max)
        return self.eta_min + (self.base_lr - self.eta_min) * wave / 2


class OneCycleLR(LRScheduler):
    """One cycle over `total_steps` steps: up from ``max_learning_rate / divide_factor`` to
    `max_learning_rate` during the first `phase_pct` of them, then down to `end_learning_rate`; with
    `three_phase` first down to the starting rate over an equally long phase.

    Args:
        anneal_strategy (str): ``"cos"`` or ``"linear"``, the shape of each phase.

    Paper: Super-Convergence (https://arxiv.org/abs/1708.07120).
    """

    def __init__(
        self,
        max_learning_rate,
        total_steps,
        divide_factor=25.0,
        end_learning_rate=0.0001,
        phase_pct=0.3,
        anneal_strategy="cos",
        three_phase=False,
        last_epoch=-1,
        verbose=False,
    ):
        _check_rate("OneCycleLR", "max_learning_rate", max_learning_rate)
        _check_rate("OneCycleLR", "end_learning_rate", end_learning_rate)
        _check_type("OneCycleLR", "total_steps", total_steps, int)
        if total_steps <= 0:
            raise ValueError(
                f"[OneCycleLR] total_steps must be positive, got {total_steps}."
                " Do this: pass the number of steps of the whole training."
            )
        _check_type("OneCycleLR", "phase_pct", phase_pct, float)
        if not 0 <= phase_pct <= 1:
            raise ValueError(
                f"[OneCycleLR] phase_pct is out of range: expected 0 .. 1, got {phase_pct}."
                " Do this: pass the part of the steps in which the rate grows."
            )
        check_choice("OneCycleLR", "anneal_strategy", anneal_strategy, ("cos", "linear"))
        if three_phase and phase_pct >= 0.5:
            raise ValueError(
                f"[OneCycleLR] three_phase needs phase_pct < 0.5, got phase_pct={phase_pct}."
                " Do this: lower phase_pct or leave three_phase out."
            )
        start = max_learning_rate / float(divide_factor)
        end = float(end_learning_rate)
        self.max_lr = max_learning_rate
        self.initial_lr = start
        self.min_lr = end
        self.total_steps = total_steps
        peak = phase_pct * total_steps - 1
        last = total_steps - 1
        self._phases = (
            [(0, peak, start, max_learning_rate), (peak, 2 * peak, max_learning_rate, start)]
            + [(2 * peak, last, start, end)]
            if three_phase
            else [(0, peak, start, max_learning_rate), (peak, last, max_learning_rate, end)]
        )
        self.anneal_func = _cosine_between if anneal_strategy == "cos" else _linear_between
        super().__init__(start, last_epoch, verbose)

    def get_lr(self):
        n = self.last_epoch
        if n > self.total_steps:
            raise ValueError(
                f"[OneCycleLR] step {n} is past the end of the cycle: expected at most "
                f"total_steps={self.total_steps} steps. Do this: build it with the number of steps "
                "that training makes, len(loader) * epochs."
            )
        for i, (begin, end, start_lr, end_lr) in enumerate(self._phases):
            if n <= end or i == len(self._phases) - 1:
                return self.anneal_func(start_lr, end_lr, (n - begin) / (end - begin))


def _cosine_between(start, end, done):
    return end + (start - end) / 2.0 * (math.cos(math.pi * done) + 1)


def _linear_between(start, end, done):
    return (end - start) * done + start


class CyclicLR(LRScheduler):
    """Between `base_learning_rate` and `max_learning_rate`, up in `step_size_up` steps and down in
    `step_size_down` (default: as many), over and over.

    Args:
        mode (str): How the amplitude changes: ``"triangular"`` not at all, ``"triangular2"`` halves
            each cycle, ``"exp_range"`` by ``exp_gamma ** step``.
        scale_fn (callable, optional): Instead of `mode`, a factor for the amplitude, as a function of
            the number of the cycle (from 1) or of the step, as `scale_mode` says (``"cycle"`` or
            ``"iterations"``).

    Paper: Cyclical Learning Rates (https://arxiv.org/abs/1506.01186).
    """

    def __init__(
        self,
        base_learning_rate,
        max_learning_rate,
        step_size_up,
        step_size_down=None,
        mode="triangular",
        exp_gamma=1.0,
        scale_fn=None,
        scale_mode="cycle",
        last_epoch=-1,
        verbose=False,
    ):
        _check_rate("CyclicLR", "max_learning_rate", max_learning_rate)
        for name, size in (("step_size_up", step_size_up), ("step_size_down", step_size_down)):
            if size is None and name == "step_size_down":
                continue
            _check_type("CyclicLR", name, size, int)
            if size <= 0:
                raise ValueError(
                    f"[CyclicLR] {name} must be positive, got {size}."
                    " Do this: pass a number of steps."
                )
        _check_type("CyclicLR", "exp_gamma", exp_gamma, float)
        modes = {
            "triangular": (lambda x: 1.0, "cycle"),
            "triangular2": (lambda x: 1 / (2.0 ** (x - 1)), "cycle"),
            "exp_range": (lambda x: self.gamma**x, "iterations"),
        }
        if scale_fn is None and mode not in modes:
            raise ValueError(
                f"[CyclicLR] mode: expected one of {list(modes)}, got {mode!r}."
                " Do this: pass one of them, or scale_fn."
            )
        check_choice("CyclicLR", "scale_mode", scale_mode, ("cycle", "iterations"))
        down = step_size_up if step_size_down is None else step_size_down
        self.cycle_size = float(step_size_up + down)
        self.step_up_pct = step_size_up / self.cycle_size
        self.max_lr = float(max_learning_rate)
        self.amplitude = self.max_lr - base_learning_rate
        self.mode = mode
        self.gamma = exp_gamma
        if scale_fn is None:
            self.scale_fn, self.scale_mode = modes[mode]
        else:
            self.scale_fn, self.scale_mode = scale_fn, scale_mode
        super().__init__(base_learning_rate, last_epoch, verbose)

    def get_lr(self):
        n = self.last_epoch
        cycle = 1 + n // self.cycle_size
        done = 1.0 + n / self.cycle_size - cycle
        up = self.step_up_pct
        height = done / up if done <= up else (1 - done) / (1 - up)
        scale = self.scale_fn(cycle if self.scale_mode == "cycle" else n)
        return self.base_lr + self.amplitude * height * scale


class LinearLR(LRScheduler):
    """The factor on `learning_rate` goes from `start_factor` to `end_factor` linearly in
    `total_steps` steps and stays there. 0 < start_factor <= 1, 0 <= end_factor <= 1.
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


class CosineAnnealingWarmRestarts(LRScheduler):
    """Half a cosine from `learning_rate` to `eta_min` in `T_0` steps, then a restart at the top with
    a period `T_mult` times as long, and so on. ``step(epoch)`` takes fractions of steps too.

    Paper: SGDR (https://arxiv.org/abs/1608.03983).
    """

    def __init__(self, learning_rate, T_0, T_mult=1, eta_min=0, last_epoch=-1, verbose=False):
        if not isinstance(T_0, int) or T_0 <= 0:
            raise ValueError(
                f"[CosineAnnealingWarmRestarts] T_0: expected a positive int, got {T_0!r}."
                " Do this: pass the epochs until the first restart."
            )
        if not isinstance(T_mult, int) or T_mult < 1:
            raise ValueError(
                f"[CosineAnnealingWarmRestarts] T_mult: expected an int >= 1, got {T_mult!r}."
                " Do this: pass 1 or more."
            )
        self.T_0 = T_0
        self.T_i = T_0
        self.T_mult = T_mult
        self.eta_min = eta_min
        self.T_cur = last_epoch
        super().__init__(learning_rate, last_epoch, verbose)

    def get_lr(self):
        wave = 1 + math.cos(math.pi * self.T_cur / self.T_i)
        return self.eta_min + (self.base_lr - self.eta_min) * wave / 2

    def state_keys(self):
        """``last_epoch``, ``last_lr``, ``T_cur``, ``T_i``: the place within the running period."""
        self.keys = ["last_epoch", "last_lr", "T_cur", "T_i"]

    def set_state_dict(self, state_dict):
        """Takes over a state; one without ``T_cur``, ``T_i`` gets them from ``last_epoch``."""
        state = dict(state_dict)
        if "last_epoch" in state and ("T_cur" not in state or "T_i" not in state):
            self._place(state["last_epoch"])
            state["T_cur"], state["T_i"] = self.T_cur, self.T_i
        super().set_state_dict(state)

    set_dict = set_state_dict

    def _place(self, epoch):
        if epoch < self.T_0:
            self.T_i, self.T_cur = self.T_0, epoch
        elif self.T_mult == 1:
            self.T_i, self.T_cur = self.T_0, epoch % self.T_0
        else:
            periods = int(math.log(epoch / self.T_0 * (self.T_mult - 1) + 1, self.T_mult))
            begin = self.T_0 * (self.T_mult**periods - 1) / (self.T_mult - 1)
            self.T_i, self.T_cur = self.T_0 * self.T_mult**periods, epoch - begin

    def step(self, epoch=None):
        """Moves to the next step, or to (possibly fractional) step `epoch` >= 0."""
        if epoch is None and self.last_epoch < 0:
            self.last_epoch = 0
            self.T_cur = 0
        elif epoch is None:
            self.last_epoch += 1
            self.T_cur += 1
            if self.T_cur >= self.T_i:
                self.T_cur -= self.T_i
                self.T_i *= self.T_mult
        else:
            if epoch < 0:
                raise ValueError(
                    f"[CosineAnnealingWarmRestarts.step] epoch must be >= 0, got {epoch}."
                    " Do this: count epochs from 0."
                )
            self._place(epoch)
            self.last_epoch = math.floor(epoch)
        self.last_lr = self.get_lr()
        self._report()
