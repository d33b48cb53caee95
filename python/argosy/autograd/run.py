"""Running gradients."""

from argosy import _backward, _core
from argosy._capturing import capturing
from argosy._support import ArgumentError, checked_seeds, checked_tensors, no_dump


def backward(tensors, grad_tensors=None, retain_graph=False, *, dump_backward_graph_path=None):
    """Adds the gradients of the sum of some tensors into `.grad` of the leaves that they depend on.

    Args:
        tensors (Tensor | list[Tensor]): Each once.
        grad_tensors (list[Tensor], optional): For each the gradient to begin with, or None for ones.
        retain_graph (bool): Whether to keep what the ops saved, so that backward can run again.
        dump_backward_graph_path (str, optional): Only None.

    Raises:
        ValueError: tensors names one twice, or a gradient has another shape than its tensor.

    Example:
        >>> x = argosy.to_tensor([1.0], stop_gradient=False)
        >>> argosy.autograd.backward([x * 2, x * 3])
        >>> x.grad.tolist()
        [5.0]
    """
    if dump_backward_graph_path is not None:
        no_dump("backward", dump_backward_graph_path)
    roots = checked_tensors("backward", "tensors", tensors)
    if len({id(root) for root in roots}) != len(roots):
        raise ArgumentError("[backward] tensors names one twice. Do this: name each once.")
    seeds = checked_seeds("backward", "grad_tensors", grad_tensors, roots)
    _backward.run(roots, seeds, retain_graph)


def grad(
    outputs,
    inputs,
    grad_outputs=None,
    retain_graph=None,
    create_graph=False,
    only_inputs=True,
    allow_unused=False,
    no_grad_vars=None,
    *,
    dump_backward_graph_path=None,
):
    """Gradients of the sum of outputs with respect to inputs; `.grad` is not touched.

    Args:
        outputs (Tensor | list[Tensor]): What is derived.
        inputs (Tensor | list[Tensor]): By what.
        grad_outputs (Tensor | list[Tensor], optional): The gradients to begin with; ones for None.
        retain_graph (bool, optional): False frees what the ops saved as it is used. By default it stays
            until the graph dies with its tensors, so other gradients may follow.
        create_graph (bool): Whether the gradients can be differentiated again.
        only_inputs (bool): Only True.
        allow_unused (bool): Whether inputs that outputs do not depend on get None, instead of an error.
        no_grad_vars (Tensor | list[Tensor], optional): Tensors through which nothing flows.
        dump_backward_graph_path (str, optional): Only None.

    Returns:
        list[Tensor]: One for each input, of its shape and dtype.

    Raises:
        RuntimeError: inputs names one twice.
        ValueError: only_inputs is False, an argument is of another kind, or an input is not used.

    Example:
        >>> x = argosy.to_tensor(3.0, stop_gradient=False)
        >>> (first,) = argosy.grad(x**3, x, create_graph=True)
        >>> (second,) = argosy.grad(first, x)
        >>> float(first), float(second)
        (27.0, 18.0)
    """
    if dump_backward_graph_path is not None:
        no_dump("grad", dump_backward_graph_path)
    if only_inputs is not True:
        raise ArgumentError("[grad] only_inputs=False is not supported. Do this: leave it True.")
    if retain_graph is None:
        retain_graph = True
    for what, value in (
        ("create_graph", create_graph),
        ("retain_graph", retain_graph),
        ("allow_unused", allow_unused),
    ):
        if not isinstance(value, bool):
            raise ArgumentError(
                f"[grad] {what}: expected a bool, got {value!r}. Do this: pass True or False."
            )
    outputs = checked_tensors("grad", "outputs", outputs)
    inputs = checked_tensors("grad", "inputs", inputs)
    if len({id(t) for t in inputs}) != len(inputs):
        raise RuntimeError(
            "(AlreadyExists) [grad] inputs names a tensor twice. Do this: name each once."
        )
    seeds = checked_seeds("grad", "grad_outputs", grad_outputs, outputs)
    stops = list(no_grad_vars) if isinstance(no_grad_vars, set) else no_grad_vars
    if stops is None or (isinstance(stops, (list, tuple)) and not stops):
        stops = []
    else:
        stops = checked_tensors("grad", "no_grad_vars", stops)
    if any(t._symbolic for t in outputs):
        found = _recorded_grad(outputs, inputs, seeds, allow_unused, stops)
        if not create_graph and capturing():  # as eager: no gradient goes through the results
            found = [g if g is None else g.detach() for g in found]
        return found
    return _core.grad(outputs, inputs, seeds, retain_graph, create_graph, allow_unused, stops)


def _recorded_grad(outputs, inputs, seeds, allow_unused, stops):
    """Gradients of values of the Program that is being built."""
    found = _core.program_gradients(_core.program_recording(), outputs, seeds, inputs, stops)
    for i, gradient in enumerate(found):
        if gradient is None and not allow_unused:
            raise ValueError(
                f"[grad] input {i} is not reached from the outputs. Do this: pass allow_unused=True,"
                " or check that it has stop_gradient=False and was used."
            )
    return found
