"""An optimizer that updates once in several runs of a Program."""

from __future__ import annotations

from argosy import _core, tensor
from argosy._programs import mode
from argosy._programs.registry import program_of
from argosy.autograd import no_grad


class GradientMergeOptimizer:
    """Adds up gradients, and lets another optimizer update once in ``k_steps`` runs of a Program, as if
    by a batch of that many times the size.

    Other attributes are the inner optimizer's.

    Args:
        inner_optimizer (Optimizer): makes the updates.
        k_steps (int): how many runs.
        avg (bool): take the mean of their gradients, otherwise the sum.

    Raises:
        RuntimeError: not in static mode.
        AssertionError: there is no optimizer, or ``k_steps`` is no int of 1 or more.

    Examples:
        >>> argosy.enable_static()
        >>> x = argosy.static.data("x", [1], "float32")
        >>> w = argosy.static.create_parameter([1], "float32", "w", default_initializer=argosy.nn.initializer.Constant(0.0))
        >>> sgd = argosy.optimizer.SGD(1.0)
        >>> merging = argosy.incubate.optimizer.GradientMergeOptimizer(sgd, k_steps=2)
        >>> loss = (w * x).sum()
        >>> pairs = merging.backward(loss)  # these two are what merging.minimize(loss) does
        >>> _ = merging.apply_optimize(loss, None, pairs)
        >>> exe = argosy.static.Executor()
        >>> _ = exe.run(argosy.static.default_startup_program())
        >>> [float(exe.run(feed={"x": np.float32([i])}, fetch_list=[w])[0][0]) for i in range(1, 5)]
        [0.0, -1.5, -1.5, -5.0]
    """

    def __init__(self, inner_optimizer, k_steps=1, avg=True):
        if not mode.static_mode():
            raise RuntimeError(
                "[GradientMergeOptimizer] needs static mode: expected a Program to change, got eager calls. Do"
                " this: call backward() k times, then step() and clear_grad()."
            )
        if inner_optimizer is None:
            raise AssertionError(
                "[GradientMergeOptimizer] inner_optimizer is None. Do this: pass an optimizer."
            )
        self.inner_optimizer = inner_optimizer
        self._set_k_steps(k_steps)
        self._set_avg(avg)

    def __getattr__(self, name):
        if name.startswith("__") or name == "inner_optimizer":
            raise AttributeError(name)
        return getattr(self.inner_optimizer, name)

    def _set_k_steps(self, k_steps):
        if isinstance(k_steps, bool) or not isinstance(k_steps, int) or k_steps < 1:
            raise AssertionError(
                f"[GradientMergeOptimizer] k_steps: expected an int of 1 or more, got {k_steps!r}. Do this:"
                " correct it."
            )
        self.k_steps = k_steps

    def _set_avg(self, avg):
        self.avg = bool(avg)

    def backward(
        self, loss, startup_program=None, parameter_list=None, no_grad_set=None, callbacks=None
    ):
        """Adds the operations that compute the gradients of one run, see ``Optimizer.backward``.

        Args:
            loss (Variable): one element.
            startup_program, parameter_list, no_grad_set, callbacks: as of the inner optimizer.

        Returns:
            list: Pairs (parameter, gradient).
        """
        return self.inner_optimizer.backward(
            loss, startup_program, parameter_list, no_grad_set, callbacks
        )

    def apply_optimize(self, loss, startup_program, params_grads):
        """Adds the operations that add gradients up and, once in ``k_steps`` runs, update.

        Args:
            loss (Variable): of the Program that is changed.
            startup_program (Program, optional): where state begins; None: the default one.
            params_grads (list): what :meth:`backward` gave.

        Returns:
            list: The operations that were added.
        """
        pairs = [(p, g) for p, g in params_grads if g is not None]
        if self.k_steps == 1:
            return self.inner_optimizer._apply_optimize(loss, startup_program, pairs)
        # static stands on this room's floor and below; it is large, and eager programs do not need it.
        from argosy.static import default_startup_program, program_guard
        from argosy.static.mode import role

        program = program_of(loss)
        count = len(program.global_block().ops)
        startup = default_startup_program() if startup_program is None else startup_program
        with program_guard(program, startup), role(program, 2), no_grad():
            self._merge(pairs)
        return program.global_block().ops[count:]

    def _merge(self, pairs):
        from argosy.static import create_global_var
        from argosy.static.nn import cond

        runs = create_global_var([1], 0, "int64", persistable=True)
        tensor.assign((runs + 1) % self.k_steps, runs)
        sums = []
        for parameter, gradient in pairs:
            total = create_global_var(
                list(parameter.shape), 0.0, str(gradient.dtype), persistable=True,
                name=f"{parameter.name}@GRAD@GradientMerge",
            )  # fmt: skip
            # The sum has the size of a table, also where a gradient has some of its rows.
            sparse = gradient._layout == "row_sparse"
            tensor.assign(
                total + (_core.ops.rows_to_dense(gradient) if sparse else gradient), total
            )
            sums.append(total)

        def update():
            merged = [total / self.k_steps if self.avg else total * 1.0 for total in sums]
            self.inner_optimizer.apply_gradients(
                [(p, g) for (p, _), g in zip(pairs, merged, strict=True)]
            )
            for total in sums:
                tensor.assign(tensor.zeros_like(total), total)

        cond((runs == 0).reshape([]), update, None)

    def minimize(self, loss, startup_program=None, parameter_list=None, no_grad_set=None):
        """:meth:`backward`, then :meth:`apply_optimize`.

        Args:
            loss (Variable): one element.
            startup_program (Program, optional): where state begins; default: the default one.
            parameter_list, no_grad_set: as of :meth:`backward`.

        Returns:
            tuple: The operations that were added, and the pairs (parameter, gradient).
        """
        pairs = self.backward(loss, None, parameter_list, no_grad_set)
        return self.apply_optimize(loss, startup_program, pairs), pairs
