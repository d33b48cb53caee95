"""Averages of parameters over steps."""

from __future__ import annotations

import contextlib

import numpy as np

from argosy import tensor
from argosy._beside import call_beside
from argosy._support import no_effect
from argosy.autograd import no_grad

_AT_ONCE = "parameters are written at once"
_COUNTS = ("num_accumulates", "old_num_accumulates", "num_updates")


def _entry(state, key):
    if key not in state:
        raise KeyError(
            f"[ModelAverage] the state has no {key}. Do this: load what state_dict() gave for these parameters."
        )
    return state[key]


class ModelAverage:
    """Average of the parameters over the last steps, to evaluate with.

    The window is ``average_window_rate`` times the number of steps, rounded down and kept between
    ``min_average_window`` and ``max_average_window``. Call :meth:`step` after the optimizer's step;
    inside ``with average.apply():`` the parameters are their averages.

    Args:
        average_window_rate (float): see above.
        parameters (list): what is averaged.
        min_average_window, max_average_window (int): see above.

    Raises:
        AttributeError: there are no parameters.

    Examples:
        >>> x = argosy.create_parameter([1], "float32")
        >>> average = argosy.incubate.ModelAverage(0.5, parameters=[x])
        >>> for value in (1.0, 3.0):
        ...     x.set_value(argosy.to_tensor([value]))
        ...     average.step()
        >>> with average.apply():
        ...     x.tolist()
        [2.0]
        >>> x.tolist()
        [3.0]
        >>> with average.apply(need_restore=False):
        ...     pass
        >>> x.tolist()
        [2.0]
        >>> average.restore()
        >>> average.clear_grad()
        >>> average.minimize(x.sum())
        >>> average.set_state_dict(average.state_dict())
    """

    def __init__(
        self,
        average_window_rate,
        parameters=None,
        min_average_window=10000,
        max_average_window=10000,
        name=None,
    ):
        if parameters is None:
            raise AttributeError(
                "[ModelAverage] parameters is missing. Do this: pass model.parameters()."
            )
        self._parameters = list(parameters)
        self._rate = average_window_rate
        self._least, self._most = min_average_window, max_average_window
        self._sums = [tensor.zeros_like(p) for p in self._parameters]
        self._old_sums = [tensor.zeros_like(p) for p in self._parameters]
        self._count = self._old_count = self._steps = 0
        self._kept = None

    def step(self):
        """Adds the parameters to the sums; a full window becomes the old one."""
        self._steps += 1
        self._count += 1
        with no_grad():
            for total, parameter in zip(self._sums, self._parameters):
                total.add_(parameter)
            # (In float32, as Paddle counts: 0.29 * 100 is 28 or 29.)
            window = min(self._most, int(np.float32(self._steps) * np.float32(self._rate)))
            if self._count >= self._least and self._count >= window:
                self._old_sums, self._old_count = self._sums, self._count
                self._sums = [tensor.zeros_like(p) for p in self._parameters]
                self._count = 0

    def minimize(self, loss, startup_program=None, parameters=None, no_grad_set=None):
        """:meth:`step`: what a loss is minimized with is the optimizer before it.

        Args:
            loss, startup_program, parameters, no_grad_set: have no effect.
        """
        no_effect(
            "ModelAverage.minimize", "averages are taken of the parameters given at first",
            loss=(loss, loss), startup_program=(startup_program, None), parameters=(parameters, None),
            no_grad_set=(no_grad_set, None),
        )  # fmt: skip
        self.step()

    def clear_grad(self, set_to_zero=True):
        """Clears the gradients of the parameters.

        Args:
            set_to_zero (bool): make them zeros, else None.
        """
        for parameter in self._parameters:
            parameter.clear_gradient(set_to_zero)

    clear_gradients = clear_grad

    def state_dict(self):
        """The sums and counters, to go on with later.

        Returns:
            dict: For each parameter ``<its name>_sum_1_0``, the sum of the window that fills, and
                ``.._sum_3_0``, that of the window before; ``.._num_accumulates_0`` and
                ``.._old_num_accumulates_0``, how many steps are in them; ``.._num_updates_0``, all steps.
                The tensors are copies.
        """
        counts = (self._count, self._old_count, self._steps)
        state = {}
        for p, new, old in zip(self._parameters, self._sums, self._old_sums):
            state[f"{p.name}_sum_1_0"], state[f"{p.name}_sum_3_0"] = new.clone(), old.clone()
            for name, count in zip(_COUNTS, counts):
                state[f"{p.name}_{name}_0"] = tensor.to_tensor([count], dtype="int64")
        return state

    def set_state_dict(self, state_dict):
        """Takes over a state. Also called set_dict and load_state_dict.

        Args:
            state_dict (dict): what :meth:`state_dict` gave, of tensors or arrays.

        Raises:
            KeyError: a parameter's part is missing. Nothing has changed then.
            ValueError: a sum has another shape than its parameter. Nothing has changed then.
        """
        if not self._parameters:
            return
        sums = [self._loaded(state_dict, p, "sum_1") for p in self._parameters]
        old_sums = [self._loaded(state_dict, p, "sum_3") for p in self._parameters]
        first = self._parameters[0].name
        counts = [int(np.asarray(_entry(state_dict, f"{first}_{n}_0")).item()) for n in _COUNTS]
        self._sums, self._old_sums = sums, old_sums
        self._count, self._old_count, self._steps = counts

    set_dict = load_state_dict = set_state_dict

    @staticmethod
    def _loaded(state, parameter, name):
        """A sum of a state; what Paddle keeps as a second part of the newest window is added to it."""

        def read(part):
            held = _entry(state, f"{parameter.name}_{part}_0")
            return call_beside(parameter, tensor.to_tensor, held, parameter.dtype)

        value = read(name)
        if name == "sum_1" and f"{parameter.name}_sum_2_0" in state:
            value = value + read("sum_2")
        if value.shape != parameter.shape:
            raise ValueError(
                f"[ModelAverage] {name} of {parameter.name}: expected the shape {list(parameter.shape)}, "
                f"got {list(value.shape)}. Do this: load the state of this model."
            )
        return value.clone()

    @contextlib.contextmanager
    def apply(self, executor=None, need_restore=True):
        """A context in which the parameters are their averages. Without ``with`` nothing happens.

        Args:
            executor: has no effect.
            need_restore (bool): False keeps the averages after the end of the context, until
                :meth:`restore`.

        Returns:
            The context manager.
        """
        no_effect("ModelAverage.apply", _AT_ONCE, executor=(executor, None))
        self._kept = [p.detach().clone() for p in self._parameters]
        count = max(self._count + self._old_count, 1)
        with no_grad():
            for p, new, old in zip(self._parameters, self._sums, self._old_sums):
                p.copy_((new + old) / count)
        try:
            yield
        finally:
            if need_restore:
                self.restore()

    def restore(self, executor=None):
        """Puts the parameters back that :meth:`apply` replaced.

        Args:
            executor: has no effect.
        """
        no_effect("ModelAverage.restore", _AT_ONCE, executor=(executor, None))
        if self._kept is None:
            return
        with no_grad():
            for p, kept in zip(self._parameters, self._kept):
                p.set_value(kept)
        self._kept = None
