"""L-BFGS."""

import warnings

from argosy import tensor
from argosy._support import check_choice
from argosy.autograd import enable_grad, no_grad

from .optimizer import Optimizer

__all__ = []


def _dot(a, b):
    return tensor.matmul(a, b)


class LBFGS(Optimizer):
    """Limited-memory BFGS over all parameters as one vector. ``step(closure)`` makes up to `max_iter`
    iterations; `closure` clears the gradients, computes the loss, calls ``backward()`` and returns
    the loss, and is called again for every point tried.

    Args:
        learning_rate (float): Length of the step along the direction (first try with line search).
        max_iter (int): Iterations in a ``step``.
        max_eval (int, optional): Calls of `closure` in a ``step``; by default 1.25 `max_iter`.
        tolerance_grad (float): Stop when no gradient is larger.
        tolerance_change (float): Stop when the loss or the parameters change less.
        history_size (int): Number of past updates that approximate the Hessian.
        line_search_fn (str, optional): None or ``"strong_wolfe"``.
        parameters, name: See :class:`Optimizer`. One group only.
        weight_decay, grad_clip: Accepted but without effect, which a warning says: the line search
            needs the gradient of exactly the loss that `closure` returns.

    Book: Nocedal and Wright, Numerical Optimization, algorithms 3.5, 3.6 and 7.5.

    Raises:
        RuntimeError: line_search_fn is another one.
        TypeError: parameters are groups.

    Example:
        >>> x = argosy.create_parameter([2], "float32")
        >>> lbfgs = argosy.optimizer.LBFGS(line_search_fn="strong_wolfe", parameters=[x])
        >>> def closure():
        ...     lbfgs.clear_grad()
        ...     loss = ((x - argosy.to_tensor([1.0, 2.0])) ** 2).sum()
        ...     loss.backward()
        ...     return loss
        >>> _ = lbfgs.step(closure)
        >>> x.tolist()
        [1.0, 2.0]
    """

    def __init__(
        self,
        learning_rate=1.0,
        max_iter=20,
        max_eval=None,
        tolerance_grad=1e-7,
        tolerance_change=1e-9,
        history_size=100,
        line_search_fn=None,
        parameters=None,
        weight_decay=None,
        grad_clip=None,
        name=None,
    ):
        check_choice(
            "LBFGS", "line_search_fn", line_search_fn, (None, "strong_wolfe"), RuntimeError
        )
        self.max_iter = max_iter
        self.max_eval = max_iter * 5 // 4 if max_eval is None else max_eval
        self.tolerance_grad = tolerance_grad
        self.tolerance_change = tolerance_change
        self.history_size = history_size
        self.line_search_fn = line_search_fn
        self._state = {}
        if weight_decay is not None or grad_clip is not None:
            warnings.warn(
                "[LBFGS] weight_decay and grad_clip have no effect. Do this: add the penalty to the "
                "loss that the closure returns.",
                stacklevel=2,
            )
        super().__init__(learning_rate, parameters, weight_decay, grad_clip, name)
        if self._groups.given:
            raise TypeError(
                "[LBFGS] parameter groups are not supported. Do this: pass a list of tensors."
            )
        self._params = [p for p in self._parameter_list if not p.stop_gradient]

    def state_dict(self):
        """Returns ``{"state": ..}``: the history of updates and what the next step needs of the
        last one."""
        return {"state": dict(self._state)}

    def set_state_dict(self, state_dict):
        """Takes over what ``state_dict()`` gave."""
        state = state_dict["state"]
        self._state = {k: list(v) if isinstance(v, (list, tuple)) else v for k, v in state.items()}

    set_dict = set_state_dict
    load_state_dict = set_state_dict

    def minimize(self, loss, startup_program=None, parameters=None, no_grad_set=None):
        """Not possible: L-BFGS evaluates the loss again and again."""
        raise NotImplementedError(
            "[LBFGS] minimize(loss) cannot re-evaluate the loss. Do this: call step(closure)."
        )

    def _flat_grad(self):
        grads = [tensor.zeros_like(p) if p.grad is None else p.grad for p in self._params]
        return tensor.concat([g.reshape([-1]) for g in grads])

    def _move(self, direction, alpha):
        at = 0
        for p in self._params:
            size = p.size
            part = direction[at : at + size].reshape(p.shape)
            p.set_value(p.detach() + part * alpha)
            at += size

    def _restore(self, values):
        for p, value in zip(self._params, values):
            p.set_value(value)

    def _evaluate(self, closure):
        with enable_grad():
            loss = float(closure())
        return loss, self._flat_grad()

    def step(self, closure):
        """Runs up to `max_iter` iterations.

        Args:
            closure (callable): Takes nothing, returns the loss after ``backward()``.

        Returns:
            Tensor: The loss at the point where the step began.
        """
        with no_grad():
            return self._iterate(closure)

    def _direction(self, state, grad):
        """The two-loop recursion over the history."""
        steps, changes, rhos = state["old_sk"], state["old_yk"], state["ro"]
        q = -grad
        alphas = [None] * self.history_size
        for i in range(len(steps) - 1, -1, -1):
            alphas[i] = _dot(steps[i], q) * rhos[i]
            q = q - changes[i] * alphas[i]
        r = q * state["H_diag"]
        for i in range(len(steps)):
            r = r + steps[i] * (alphas[i] - _dot(changes[i], r) * rhos[i])
        state["al"] = alphas
        return r

    def _remember(self, state, grad):
        change = grad - state["prev_flat_grad"]
        step = state["d"] * state["alpha"]
        curvature = _dot(change, step)
        if float(curvature) > 1e-10:
            if len(state["old_yk"]) >= self.history_size:
                for key in ("old_yk", "old_sk", "ro"):
                    state[key].pop(0)
            state["old_yk"].append(change)
            state["old_sk"].append(step)
            state["ro"].append(1.0 / curvature)
            state["H_diag"] = curvature / _dot(change, change)

    def _iterate(self, closure):
        state = self._state
        state.setdefault("func_evals", 0)
        state.setdefault("n_iter", 0)
        with enable_grad():
            first = closure()
        loss = float(first)
        evaluations = 1
        state["func_evals"] += 1
        grad = self._flat_grad()
        if float(grad.abs().max()) <= self.tolerance_grad:
            return first
        rate = self.get_lr()
        for iteration in range(1, self.max_iter + 1):
            state["n_iter"] += 1
            if state["n_iter"] == 1:
                state["d"] = -grad
                state["old_yk"], state["old_sk"], state["ro"] = [], [], []
                state["H_diag"] = tensor.to_tensor(1.0, dtype=grad.dtype)
                alpha = min(1.0, 1.0 / float(grad.abs().sum())) * rate
            else:
                self._remember(state, grad)
                state["d"] = self._direction(state, grad)
                alpha = rate
            direction = state["d"]
            state["prev_flat_grad"] = grad.clone()
            state["prev_loss"] = previous = loss
            slope = float(_dot(grad, direction))
            if slope > -self.tolerance_change:
                state["alpha"] = alpha
                break
            tried = 0
            if self.line_search_fn == "strong_wolfe":
                loss, grad, alpha, tried = self._search(
                    closure, direction, alpha, loss, grad, slope
                )
                self._move(direction, alpha)
            else:
                self._move(direction, alpha)
                if iteration != self.max_iter:
                    loss, grad = self._evaluate(closure)
                    tried = 1
            state["alpha"] = alpha
            evaluations += tried
            state["func_evals"] += tried
            if (
                evaluations >= self.max_eval
                or float(grad.abs().max()) <= self.tolerance_grad
                or float((direction * alpha).abs().max()) <= self.tolerance_change
                or abs(loss - previous) < self.tolerance_change
            ):
                break
        return first

    def _search(self, closure, direction, alpha, loss, grad, slope):
        start = [p.detach().clone() for p in self._params]

        def evaluate(t):
            self._move(direction, t)
            value, gradient = self._evaluate(closure)
            self._restore(start)
            return value, gradient, float(_dot(gradient, direction))

        return _strong_wolfe(
            evaluate,
            alpha,
            float(direction.abs().max()),
            (loss, grad, slope),
            self.tolerance_change,
        )


def _cubic_minimum(x1, f1, g1, x2, f2, g2, low=None, high=None):
    """Where the cubic through two points with slopes is least, within [low, high]."""
    if low is None:
        low, high = (x1, x2) if x1 <= x2 else (x2, x1)
    a = g1 + g2 - 3 * (f1 - f2) / (x1 - x2)
    square = a * a - g1 * g2
    if square < 0:
        return (low + high) / 2.0
    root = square**0.5
    if x1 <= x2:
        x = x2 - (x2 - x1) * ((g2 + root - a) / (g2 - g1 + 2 * root))
    else:
        x = x1 - (x1 - x2) * ((g1 + root - a) / (g1 - g2 + 2 * root))
    return min(max(x, low), high)


def _strong_wolfe(evaluate, t, scale, origin, tolerance, c1=1e-4, c2=0.9, limit=25):
    """A step length with sufficient decrease (c1) and flat enough slope (c2).

    evaluate(t) gives (loss, gradient, slope) there; origin is that triple at 0; scale is the largest
    element of the direction. Returns (loss, gradient, t, number of evaluations).
    """
    f0, _, slope0 = origin
    before = (0.0, *origin)
    value, grad, slope = evaluate(t)
    evaluations, tried = 1, 0
    bracket = None
    # Grow the step until an interval is known to hold a good one.
    while tried < limit:
        here = (t, value, grad, slope)
        if value > f0 + c1 * t * slope0 or (tried > 0 and value >= before[1]):
            bracket = [before, here]
            break
        if abs(slope) <= -c2 * slope0:
            return value, grad, t, evaluations
        if slope >= 0:
            bracket = [before, here]
            break
        low, high = t + 0.01 * (t - before[0]), t * 10
        longer = _cubic_minimum(before[0], before[1], before[3], t, value, slope, low, high)
        before, t = here, longer
        value, grad, slope = evaluate(t)
        evaluations += 1
        tried += 1
    if bracket is None:
        bracket = [(0.0, *origin), (t, value, grad, slope)]
    # Shrink it.
    stuck = False
    best, other = (0, 1) if bracket[0][1] <= bracket[1][1] else (1, 0)
    while tried < limit:
        width = abs(bracket[1][0] - bracket[0][0])
        if width * scale < tolerance:
            break
        (x1, f1, _, g1), (x2, f2, _, g2) = bracket
        t = _cubic_minimum(x1, f1, g1, x2, f2, g2)
        # A point too close to an end would make no progress: once is allowed inside the interval.
        left, right = min(x1, x2), max(x1, x2)
        margin = 0.1 * (right - left)
        if min(right - t, t - left) < margin:
            if stuck or t >= right or t <= left:
                t = right - margin if abs(t - right) < abs(t - left) else left + margin
                stuck = False
            else:
                stuck = True
        else:
            stuck = False
        value, grad, slope = evaluate(t)
        evaluations += 1
        tried += 1
        here = (t, value, grad, slope)
        if value > f0 + c1 * t * slope0 or value >= bracket[best][1]:
            bracket[other] = here
            best, other = (0, 1) if bracket[0][1] <= bracket[1][1] else (1, 0)
        else:
            if abs(slope) <= -c2 * slope0:
                return value, grad, t, evaluations
            if slope * (bracket[other][0] - bracket[best][0]) >= 0:
                bracket[other] = bracket[best]
            bracket[best] = here
    t, value, grad, _ = bracket[best]
    return value, grad, t, evaluations
