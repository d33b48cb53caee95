"""What the two minimizers share: gradients, a line search, the way down."""

from __future__ import annotations

from argosy import tensor
from argosy._beside import beside
from argosy.autograd import enable_grad, grad, no_grad


def value_and_gradient(function, x):
    """function(x), a scalar, and its gradient."""
    x = x.detach()
    x.stop_gradient = False
    with enable_grad():
        value = function(x)
        (gradient,) = grad(value, x)
    return value.detach().reshape([]), gradient.detach()


def check(name, initial_position, line_search_fn, dtype):
    """Raises for arguments that are not supported."""
    if line_search_fn != "strong_wolfe":
        raise NotImplementedError(
            f"[{name}] line_search_fn must be 'strong_wolfe', got {line_search_fn!r}. Do this: leave"
            " it out."
        )
    if initial_position.dtype != dtype:
        raise ValueError(
            f"[{name}] initial_position must have the dtype of the argument dtype: expected {dtype},"
            f" got {initial_position.dtype}. Do this: cast it, or pass dtype."
        )


def strong_wolfe(function, x, direction, value, slope, first_step, most):
    """A step length that meets the strong Wolfe conditions (J. Nocedal and S. Wright, Numerical
    Optimization, 2006, algorithms 3.5 and 3.6): (step, value, gradient, calls)."""
    decrease, curvature = 1e-4, 0.9
    calls = 0

    def at(step):
        nonlocal calls
        calls += 1
        found, gradient = value_and_gradient(function, x + step * direction)
        return float(found), float((gradient * direction).sum()), found, gradient

    start, low_slope = float(value), float(slope)
    before, before_value, before_slope = 0.0, start, low_slope
    step, best = first_step, None
    bracket = None
    for _ in range(most):
        now, now_slope, *rest = at(step)
        best = (step, *rest)
        if now > start + decrease * step * low_slope or (before > 0 and now >= before_value):
            bracket = (before, before_value, before_slope, step)
            break
        if abs(now_slope) <= -curvature * low_slope:
            return (*best, calls)
        if now_slope >= 0:
            bracket = (step, now, now_slope, before)
            break
        before, before_value, before_slope = step, now, now_slope
        step *= 2
    while bracket is not None and calls < most:
        low, low_value, inner_slope, high = bracket
        step = 0.5 * (low + high)
        now, now_slope, *rest = at(step)
        if now > start + decrease * step * low_slope or now >= low_value:
            bracket = (low, low_value, inner_slope, step)
            continue
        best = (step, *rest)
        if abs(now_slope) <= -curvature * low_slope:
            break
        end = low if now_slope * (high - low) >= 0 else high
        bracket = (step, now, now_slope, end)
    return (*best, calls)


@beside
def descend(
    function, x, direction_of, learn, max_iters, tolerance_grad, tolerance_change, first_step, most
):
    """Steps of a quasi-Newton method from x on: (converged, calls, x, value, gradient), tensors.

    direction_of(gradient) is where the next step goes. learn(moved, bent, curvature) is told what a step
    showed: the step, the change of the gradient, and their product if that is positive. ``most``: tries
    of one line search.
    """
    value, gradient = value_and_gradient(function, x)
    calls, converged = 1, False
    with no_grad():
        for _ in range(max_iters):
            if float(gradient.abs().max()) < tolerance_grad:
                converged = True
                break
            direction = direction_of(gradient)
            slope = (gradient * direction).sum()
            step, new_value, new_gradient, used = strong_wolfe(
                function, x, direction, value, slope, first_step, most
            )
            calls += used
            moved, bent = step * direction, new_gradient - gradient
            x, value, gradient = x + moved, new_value, new_gradient
            curvature = float((moved * bent).sum())
            if curvature > 0:
                learn(moved, bent, curvature)
            if float(moved.abs().max()) < tolerance_change:
                converged = True
                break
        else:
            converged = float(gradient.abs().max()) < tolerance_grad
    return (
        tensor.to_tensor([converged]),
        tensor.to_tensor([calls], dtype="int64"),
        x,
        value,
        gradient,
    )
