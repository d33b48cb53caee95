"""An optimizer whose backward computes parts of forward again."""

from __future__ import annotations

from argosy._core import Tensor
from argosy._programs import mode
from argosy._support import no_effect


class RecomputeOptimizer:
    """An optimizer of Programs that keeps checkpoints only: what lies before each is computed again for
    the gradients (Chen et al., arXiv:1604.06174). Updates are the inner optimizer's, and the same bits.

    Call ``_set_checkpoints`` before :meth:`minimize`. Other attributes are the inner optimizer's.

    Args:
        optimizer (Optimizer): makes the updates.

    Raises:
        RuntimeError: not in static mode.

    Examples:
        >>> argosy.enable_static()
        >>> x = argosy.static.data("x", [2, 3], "float32")
        >>> hidden = argosy.static.nn.fc(x, 4, activation="relu")
        >>> loss = argosy.static.nn.fc(hidden, 1).mean()
        >>> sgd = argosy.optimizer.SGD(0.1)
        >>> optimizer = argosy.incubate.optimizer.RecomputeOptimizer(sgd)
        >>> optimizer._set_checkpoints([hidden])
        >>> pairs = optimizer.backward(loss)
        >>> len(pairs)
        4
        >>> added = optimizer.apply_optimize(loss, None, pairs)
        >>> optimizer.load({})
        Traceback (most recent call last):
        NotImplementedError: [RecomputeOptimizer] load is not supported.

    ``optimizer.minimize(loss)`` does both:

        >>> sgd = argosy.optimizer.SGD(0.1)
        >>> optimizer = argosy.incubate.optimizer.RecomputeOptimizer(sgd)
        >>> optimizer._set_checkpoints([hidden.name])
        >>> _, pairs = optimizer.minimize(loss)
    """

    def __init__(self, optimizer):
        if not mode.static_mode():
            raise RuntimeError(
                "[RecomputeOptimizer] needs static mode: expected a Program to change, got eager calls. Do"
                " this: call distributed.fleet.utils.recompute on layers."
            )
        self._optimizer = optimizer
        self._checkpoints = None

    def __getattr__(self, name):
        if name.startswith("__") or name == "_optimizer":
            raise AttributeError(name)
        return getattr(self._optimizer, name)

    def _set_checkpoints(self, checkpoints):
        """Variables of the Program, or their names, that are kept."""
        good = isinstance(checkpoints, list)
        if not good or not all(isinstance(c, (Tensor, str)) for c in checkpoints):
            raise AssertionError(
                "[RecomputeOptimizer] checkpoints: expected a list of Variables or names, got"
                f" {checkpoints!r}. Do this: pass values on the way to the loss."
            )
        self._checkpoints = checkpoints

    def _enable_offload(self):
        raise NotImplementedError(
            "[RecomputeOptimizer] checkpoints stay where they are: offload is not supported. Do this: leave"
            " _enable_offload out."
        )

    def load(self, state_dict):
        """Not supported, as in Paddle.

        Args:
            state_dict (dict): a state.

        Raises:
            NotImplementedError: always.
        """
        raise NotImplementedError(
            "[RecomputeOptimizer] load is not supported. Do this: load the state into the inner optimizer."
        )

    def backward(
        self, loss, startup_program=None, parameter_list=None, no_grad_set=None, callbacks=None
    ):
        """Adds the operations that compute gradients, and again what they need.

        Args:
            loss (Variable): one element.
            startup_program (Program, optional): has no effect: gradients have no state.
            parameter_list (list, optional): of which; default: the optimizer's, else all that are trained.
            no_grad_set (set, optional): Variables, or names, through which no gradient flows.
            callbacks: as of :func:`static.append_backward`.

        Returns:
            list: Pairs (parameter, gradient).

        Raises:
            AssertionError: ``_set_checkpoints`` was not called.
        """
        no_effect(
            "RecomputeOptimizer.backward", "gradients have no state (minimize takes it)",
            startup_program=(startup_program, None),
        )  # fmt: skip
        if self._checkpoints is None:
            raise AssertionError(
                "[RecomputeOptimizer] there are no checkpoints. Do this: call _set_checkpoints first."
            )
        from argosy.static import append_backward

        chosen = self._optimizer._all_params() if parameter_list is None else parameter_list
        return append_backward(
            loss, list(chosen) or None, no_grad_set, callbacks, self._checkpoints
        )

    def apply_optimize(self, loss, startup_program, params_grads):
        """Adds the updates from given gradients.

        Args:
            loss (Variable): of the Program that is changed.
            startup_program (Program): where state begins; None: the default one.
            params_grads (list): what :meth:`backward` gave.

        Returns:
            list: as of the optimizer's ``apply_gradients``.
        """
        return self._optimizer._apply_optimize(loss, startup_program, params_grads)

    def minimize(self, loss, startup_program=None, parameter_list=None, no_grad_set=None):
        """:meth:`backward`, then the updates.

        Args:
            loss (Variable): one element.
            startup_program (Program, optional): where state begins; default: the default one.
            parameter_list, no_grad_set: as of :meth:`backward`.

        Returns:
            tuple: An empty list or the updates, and the pairs (parameter, gradient).
        """
        pairs = self.backward(loss, None, parameter_list, no_grad_set)
        return self.apply_optimize(loss, startup_program, pairs), pairs
