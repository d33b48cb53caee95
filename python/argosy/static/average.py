"""Exponential moving average of parameters."""

from __future__ import annotations

from contextlib import contextmanager

from argosy import _core, tensor
from argosy._support import no_effect
from argosy.autograd import no_grad
from argosy.base import unique_name

from . import mode, state
from .executor import Executor
from .program import set_state
from .scope import global_scope


class ExponentialMovingAverage:
    """average_t = decay * average_(t-1) + (1 - decay) * parameter_t, from zero; what is applied is
    average_t / (1 - decay^t).

    Make it after ``minimize`` in the main Program, call :meth:`update` once while building it, and
    evaluate within :meth:`apply`.

    Args:
        decay (float): Weight of the past.
        thres_steps (Variable, optional): Number of steps so far; the decay is at most
            (1 + thres_steps) / (10 + thres_steps).
        name (str, optional): Prefix of the averages' names.

    Raises:
        RuntimeError: No static Program is being built.

    Example:
        >>> argosy.enable_static()
        >>> weight = argosy.create_parameter([1], "float32", name="w")
        >>> _ = argosy.optimizer.SGD(0.1).minimize(weight.sum())
        >>> ema = argosy.static.ExponentialMovingAverage(0.9)
        >>> ema.update()
        >>> exe = argosy.static.Executor()
        >>> _ = exe.run(argosy.static.default_startup_program())
        >>> _ = exe.run()
        >>> with ema.apply(exe, need_restore=False):
        ...     average = weight.get_value().numpy()
        >>> ema.restore(exe)
        >>> bool(np.allclose(average, weight.get_value().numpy()))
        True
    """

    def __init__(self, decay=0.999, thres_steps=None, name=None):
        if not mode.static_mode():
            raise RuntimeError(
                "[ExponentialMovingAverage] is for static Programs. Do this: call enable_static()."
            )
        self._decay = decay
        self._thres_steps = thres_steps
        self._name = name or ""
        self._program = mode.default_main_program()
        self._parameters = [
            p
            for p in self._program.all_parameters()
            if not p.stop_gradient and p.do_model_average is not False
        ]
        self._averages = {}
        for p in self._parameters:
            label = unique_name.generate(f"{self._name}{p.name}_ema")
            self._averages[p.name] = state.make_variable(label, p.shape, p.dtype, 0.0)
        self._steps = state.make_variable(
            unique_name.generate(self._name + "@EMA_STEP_COUNTER@"), [1], "int64", 0
        )
        self._decay_now = state.make_variable(
            unique_name.generate(self._name + "@EMA_DECAY@"), [1], "float32", decay
        )
        self._kept = None

    def update(self):
        """Adds the operations that take the parameters into the averages."""
        with mode.recording(self._program), mode.role(self._program, 2), no_grad():
            _core.program_rebind(self._steps, self._steps + 1)
            if self._thres_steps is not None:
                t = tensor.reshape(self._thres_steps, [1]).astype("float32")
                limit = (t + 1) / (t + 10)
                cap = tensor.full([1], self._decay, "float32")
                _core.program_rebind(self._decay_now, tensor.minimum(limit, cap))
            for p in self._parameters:
                average = self._averages[p.name]
                decay = self._decay_now.astype(p.dtype)
                _core.program_rebind(average, average * decay + p * (1 - decay))

    @contextmanager
    def apply(self, executor, need_restore=True):
        """Within the context the parameters in the global scope are their averages.

        Args:
            executor (Executor): Where the Program is run.
            need_restore (bool): Put the parameters back at the end; else :meth:`restore` does.

        Returns:
            A context manager.
        """
        scope = global_scope()
        with mode.recording(None):
            steps = int(scope._value(self._steps.name))
            correction = 1 - float(scope._value(self._decay_now.name)) ** steps
            self._kept = {}
            for p in self._parameters:
                self._kept[p.name] = tensor.assign(scope._value(p.name))
                average = scope._value(self._averages[p.name].name)
                set_state(p, average / correction if steps else average, scope)
        try:
            yield
        finally:
            if need_restore:
                self.restore(executor)

    def restore(self, executor):
        """Puts the parameters back that :meth:`apply` with need_restore=False replaced.

        Args:
            executor (Executor): Where the Program is run.

        Raises:
            RuntimeError: There is nothing to put back.
        """
        no_effect(
            "ExponentialMovingAverage.restore", "values are written to the scope at once",
            executor=(None if isinstance(executor, Executor) else executor, None),
        )  # fmt: skip
        if self._kept is None:
            raise RuntimeError(
                "[ExponentialMovingAverage.restore] nothing to restore. Do this: call it after apply."
            )
        for p in self._parameters:
            set_state(p, self._kept[p.name], global_scope())
        self._kept = None
