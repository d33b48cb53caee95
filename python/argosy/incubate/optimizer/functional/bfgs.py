"""The method of Broyden, Fletcher, Goldfarb and Shanno."""

from __future__ import annotations

from argosy import linalg, tensor
from argosy._beside import beside

from ._search import check, descend


@beside
def minimize_bfgs(
    objective_func,
    initial_position,
    max_iters=50,
    tolerance_grad=1e-7,
    tolerance_change=1e-9,
    initial_inverse_hessian_estimate=None,
    line_search_fn="strong_wolfe",
    max_line_search_iters=50,
    initial_step_length=1.0,
    dtype="float32",
    name=None,
):
    """Minimizes a scalar function of a vector by the method of Broyden, Fletcher, Goldfarb and Shanno.

    Ends when the largest entry of the gradient is below tolerance_grad, the step below
    tolerance_change, or
    after max_iters steps.

    Args:
        objective_func: takes a Tensor [N], gives a scalar.
        initial_position (Tensor): [N], where to begin.
        max_iters (int): largest number of steps.
        tolerance_grad, tolerance_change (float): see above.
        initial_inverse_hessian_estimate (Tensor, optional): [N, N], symmetric and positive definite;
            the identity
            without it.
        line_search_fn (str): only 'strong_wolfe'.
        max_line_search_iters (int): largest number of tries in one step.
        initial_step_length (float): the first one.
        dtype (str): that of ``initial_position``.

    Returns:
        whether it converged [1], number of calls of the function [1], the position, the value
        there, the gradient there, and the estimate of the inverse Hessian [N, N].

    Raises:
        NotImplementedError: another line search.
        ValueError: ``initial_position`` has another dtype, or the estimate is not symmetric and
            positive definite.

    Paper: Nocedal and Wright, "Numerical Optimization", 2006, algorithm 6.1.

    Examples:
        >>> minimize = argosy.incubate.optimizer.functional.minimize_bfgs
        >>> found = minimize(lambda x: ((x - 3.0) ** 2).sum(), argosy.zeros([2]))
        >>> found[0].item(), found[2].tolist()
        (True, [3.0, 3.0])
    """
    check("minimize_bfgs", initial_position, line_search_fn, dtype)
    x = initial_position.detach()
    identity = tensor.eye(x.shape[0], dtype=dtype)
    inverse = identity
    if initial_inverse_hessian_estimate is not None:
        inverse = initial_inverse_hessian_estimate.detach()
        symmetric = bool(tensor.allclose(inverse, inverse.t()))
        if not symmetric or not bool((linalg.eigvalsh(inverse) > 0).all()):
            raise ValueError(
                "[minimize_bfgs] initial_inverse_hessian_estimate must be symmetric and positive"
                " definite. Do this: leave it out, or correct it."
            )

    def direction_of(gradient):
        return -tensor.matmul(inverse, gradient)

    def learn(moved, bent, curvature):
        nonlocal inverse
        rho = 1.0 / curvature
        left = identity - rho * tensor.outer(moved, bent)
        inverse = tensor.matmul(tensor.matmul(left, inverse), left.t())
        inverse = inverse + rho * tensor.outer(moved, moved)

    found = descend(
        objective_func, x, direction_of, learn, max_iters, tolerance_grad, tolerance_change,
        initial_step_length, max_line_search_iters,
    )  # fmt: skip
    return (*found, inverse)
