"""Gradients of Programs under the names of Paddle's intermediate representation."""

from __future__ import annotations

from argosy._core import Tensor
from argosy._support import listed_if_any, no_effect

from .backward import append_backward, gradients  # noqa: F401

__all__ = []


def _checked(values, name, optional=False):
    values = listed_if_any(values)
    for value in values:
        if not (isinstance(value, Tensor) or (optional and value is None)):
            raise TypeError(
                f"[ir_backward.grad] {name}: expected a Variable or a list of them, got"
                f" {type(value).__name__}. Do this: pass variables of the Program."
            )
    return values


def calc_gradient(outputs, inputs, grad_outputs, no_grad_set):
    """`static.gradients` under another name.

    Args:
        outputs, inputs, grad_outputs, no_grad_set: As there.

    Returns:
        list: A gradient for each input, None where outputs do not depend on it.
    """
    return gradients(outputs, inputs, grad_outputs, no_grad_set)


def grad(
    outputs, inputs, grad_outputs=None, retain_graph=None, create_graph=False, only_inputs=True,
    allow_unused=False, no_grad_vars=None,
):  # fmt: skip
    """Adds the operations that compute d(sum of outputs * grad_outputs)/d(inputs) to a Program.

    Args:
        outputs (Variable | list): What is differentiated.
        inputs (Variable | list): With respect to what.
        grad_outputs (Variable | list, optional): Weights in the shapes of outputs; ones where None.
        retain_graph, create_graph, only_inputs, allow_unused: Of no effect in a Program: its operations
            stay, and what was returned can be differentiated.
        no_grad_vars (Variable | list | set, optional): Variables through which no gradient flows.

    Returns:
        list: A gradient for each input, None where outputs do not depend on it.

    Raises:
        TypeError: outputs, inputs or grad_outputs are no variables.

    Example:
        >>> argosy.enable_static()
        >>> x = argosy.static.data("x", [2], "float32")
        >>> x.stop_gradient = False
        >>> (gradient,) = argosy.static.ir_backward.grad([x * x], [x])
        >>> argosy.static.Executor().run(feed={"x": np.float32([1, 3])}, fetch_list=[gradient])[0].tolist()
        [2.0, 6.0]
    """
    no_effect(
        "ir_backward.grad", "operations of a Program stay and can be differentiated again",
        retain_graph=(retain_graph, None), create_graph=(create_graph, False),
        only_inputs=(only_inputs, True), allow_unused=(allow_unused, False),
    )  # fmt: skip
    stops = no_grad_vars if isinstance(no_grad_vars, set) else listed_if_any(no_grad_vars)
    return gradients(
        _checked(outputs, "outputs"), _checked(inputs, "inputs"),
        _checked(grad_outputs, "grad_outputs", True) or None, {v.name for v in stops} or None,
    )  # fmt: skip
