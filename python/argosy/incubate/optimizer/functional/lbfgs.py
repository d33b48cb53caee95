"""The method of Broyden, Fletcher, Goldfarb and Shanno with limited memory."""

from __future__ import annotations

from argosy import tensor

from ._search import check, descend


def minimize_lbfgs(
    objective_func,
    initial_position,
    history_size=100,
    max_iters=50,
    tolerance_grad=1e-8,
    tolerance_change=1e-8,
    initial_inverse_hessian_estimate=None,
    line_search_fn="strong_wolfe",
    max_line_search_iters=50,
    initial_step_length=1.0,
    dtype="float32",
    name=None,
):
    """Minimizes a scalar function of a vector by the limited-memory method of Broyden, Fletcher, Goldfarb
    and Shanno.

    Ends when the largest entry of the gradient is below tolerance_grad, the step below
    tolerance_change, or
    after max_iters steps.

    Args:
        objective_func: takes a Tensor [N], gives a scalar.
        initial_position (Tensor): [N], where to begin.
        history_size (int): how many steps the estimate of the inverse Hessian is made from.
        max_iters (int): largest number of steps.
        tolerance_grad, tolerance_change (float): see above.
        initial_inverse_hessian_estimate (Tensor, optional): [N, N]; the identity
            (scaled) without it.
        line_search_fn (str): only 'strong_wolfe'.
        max_line_search_iters (int): largest number of tries in one step.
        initial_step_length (float): the first one.
        dtype (str): that of ``initial_position``.

    Returns:
        whether it converged [1], number of calls of the function [1], the position, the value
        there, and the gradient there.

    Raises:
        NotImplementedError: another line search.
        ValueError: ``initial_position`` has another dtype.

    Paper: Nocedal and Wright, "Numerical Optimization", 2006, algorithm 7.5.

    Examples:
        >>> minimize = argosy.incubate.optimizer.functional.minimize_lbfgs
        >>> found = minimize(lambda x: ((x - 3.0) ** 2).sum(), argosy.zeros([2]))
        >>> found[0].item(), found[2].tolist()
        (True, [3.0, 3.0])
    """
    check("minimize_lbfgs", initial_position, line_search_fn, dtype)
    pairs = []

    def direction_of(gradient):
        return -_product(pairs, gradient, initial_inverse_hessian_estimate)

    def learn(moved, bent, curvature):
        pairs.append((moved, bent))
        del pairs[:-history_size]

    return descend(
        objective_func, initial_position.detach(), direction_of, learn, max_iters, tolerance_grad,
        tolerance_change, initial_step_length, max_line_search_iters,
    )  # fmt: skip


def _product(pairs, gradient, start):
    """The estimate of the inverse Hessian times gradient."""
    found, weights = gradient, []
    for moved, bent in reversed(pairs):
        weight = (moved * found).sum() / (moved * bent).sum()
        weights.append(weight)
        found = found - weight * bent
    if start is not None:
        found = tensor.matmul(start, found)
    elif pairs:
        moved, bent = pairs[-1]
        found = found * ((moved * bent).sum() / (bent * bent).sum())
    for (moved, bent), weight in zip(pairs, reversed(weights)):
        found = found + moved * (weight - (bent * found).sum() / (moved * bent).sum())
    return found
