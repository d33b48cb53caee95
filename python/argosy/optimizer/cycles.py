"""Learning rate schedulers whose rate rises and falls; lr.py has all of them."""

import math

from argosy._support import check_choice

from .scheduler import LRScheduler, _check_rate, _check_type, _is_number

__all__ = []


class CosineAnnealingDecay(LRScheduler):
    """Half a cosine from `learning_rate` to `eta_min` in `T_max` steps, then back up, and so on.

    Computed from the previous rate, so a rate changed by hand is followed; ``step(epoch)`` uses the
    closed form ``eta_min + (learning_rate - eta_min) * (1 + cos(pi * n / T_max)) / 2``.

    Args:
        learning_rate (float): The rate to start from, >= 0.
        T_max (int): Steps of half a period, > 0.
        eta_min (float): The smallest rate.
        last_epoch (int): Number of the step to continue after; -1 to start.
        verbose (bool): Whether to print the rate after each step.

    Raises:
        TypeError: T_max is no int, or eta_min no number.
        AssertionError: T_max is not positive.

    Paper: SGDR (https://arxiv.org/abs/1608.03983), without the restarts.

    Example:
        >>> scheduler = argosy.optimizer.lr.CosineAnnealingDecay(1.0, T_max=4)
        >>> scheduler.step(2)
        >>> scheduler()
        0.5
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
    `max_learning_rate`, then down to `end_learning_rate`.

    Args:
        max_learning_rate (float): The highest rate.
        total_steps (int): Steps of the cycle, > 0.
        divide_factor (float): The highest rate over the one at the start.
        end_learning_rate (float): The last rate.
        phase_pct (float): Share of the steps in which the rate rises, from 0 to 1.
        anneal_strategy (str): ``"cos"`` or ``"linear"``, the shape of each phase.
        three_phase (bool): Whether the rate first falls to the starting rate, over as many steps as it rose;
            phase_pct is then below 0.5.
        last_epoch (int): Number of the step to continue after; -1 to start.
        verbose (bool): Whether to print the rate after each step.

    Raises:
        TypeError: A rate is no number, total_steps no int, or phase_pct no float.
        ValueError: A rate is negative, total_steps not positive, phase_pct out of range, or
            anneal_strategy another one.

    Paper: Super-Convergence (https://arxiv.org/abs/1708.07120).

    Example:
        >>> scheduler = argosy.optimizer.lr.OneCycleLR(1.0, total_steps=10, anneal_strategy="linear")
        >>> scheduler()
        0.04
        >>> scheduler.step(2)
        >>> scheduler()
        1.0
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
    """Between `base_learning_rate` and `max_learning_rate`, up and down over and over.

    Args:
        base_learning_rate (float): The rate to start from, the lowest one.
        max_learning_rate (float): The highest rate of the first cycle.
        step_size_up (int): Steps up, > 0.
        step_size_down (int, optional): Steps down; default: as many.
        mode (str): How the amplitude changes: ``"triangular"`` not at all, ``"triangular2"`` halves
            each cycle, ``"exp_range"`` by ``exp_gamma ** step``.
        exp_gamma (float): The base in ``"exp_range"``.
        scale_fn (callable, optional): Instead of `mode`, a factor for the amplitude, as a function of
            the number of the cycle (from 1) or of the step.
        scale_mode (str): Of which of them: ``"cycle"`` or ``"iterations"``.
        last_epoch (int): Number of the step to continue after; -1 to start.
        verbose (bool): Whether to print the rate after each step.

    Raises:
        TypeError: A rate is no number, a number of steps no int, or exp_gamma no float.
        ValueError: A number is out of range, or mode or scale_mode another one.

    Paper: Cyclical Learning Rates (https://arxiv.org/abs/1506.01186).

    Example:
        >>> scheduler = argosy.optimizer.lr.CyclicLR(0.1, 0.5, step_size_up=2)
        >>> scheduler.step(2)
        >>> scheduler()
        0.5
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


class CosineAnnealingWarmRestarts(LRScheduler):
    """Half a cosine from `learning_rate` to `eta_min` in `T_0` steps, then a restart at the top with
    a period `T_mult` times as long, and so on. ``step(epoch)`` takes fractions of steps too.

    Args:
        learning_rate (float): The rate to start from, >= 0.
        T_0 (int): Steps until the first restart, > 0.
        T_mult (int): Factor on the length of each period after it, >= 1.
        eta_min (float): The smallest rate.
        last_epoch (int): Number of the step to continue after; -1 to start.
        verbose (bool): Whether to print the rate after each step.

    Raises:
        ValueError: T_0 is no positive int, or T_mult no int of 1 or more.

    Paper: SGDR (https://arxiv.org/abs/1608.03983).

    Example:
        >>> scheduler = argosy.optimizer.lr.CosineAnnealingWarmRestarts(1.0, T_0=4, T_mult=2)
        >>> scheduler.step(2)
        >>> scheduler()
        0.5
        >>> scheduler.step(4)
        >>> scheduler()
        1.0
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
