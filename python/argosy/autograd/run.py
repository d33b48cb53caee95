"""Running gradients."""

from argosy import _core
from argosy._support import ArgumentError, checked_seeds, checked_tensors


def backward(tensors, grad_tensors=None, retain_graph=False):
    """Adds the gradients of the sum of `tensors` into `.grad` of the leaves they depend on.

    grad_tensors: one seed (or None for ones) for each of tensors.
    """
    roots = checked_tensors("backward", "tensors", tensors)
    if len({id(root) for root in roots}) != len(roots):
        raise ArgumentError("[backward] tensors names one twice. Do this: name each once.")
    seeds = checked_seeds("backward", "grad_tensors", grad_tensors, roots)
    _core.backward(roots, seeds, retain_graph)


def grad(
    outputs,
    inputs,
    grad_outputs=None,
    retain_graph=None,
    create_graph=False,
    only_inputs=True,
    allow_unused=False,
    no_grad_vars=None,
):
    """Gradients of the sum of outputs with respect to inputs, as a list; `.grad` is not touched.

    grad_outputs: seeds, ones where None. create_graph: the gradients can be differentiated again.
    allow_unused: None for inputs that outputs do not depend on, instead of an error. no_grad_vars:
    tensors through which nothing flows.
    """
    if only_inputs is not True:
        raise ArgumentError("[grad] only_inputs=False is not supported. Do this: leave it True.")
    if retain_graph is None:
        retain_graph = create_graph
    for what, value in (
        ("create_graph", create_graph),
        ("retain_graph", retain_graph),
        ("allow_unused", allow_unused),
    ):
        if not isinstance(value, (bool, int)) or value not in (0, 1):
            raise ArgumentError(
                f"[grad] {what}: expected a bool, got {value!r}. Do this: pass True or False."
            )
    outputs = checked_tensors("grad", "outputs", outputs)
    inputs = checked_tensors("grad", "inputs", inputs)
    seeds = checked_seeds("grad", "grad_outputs", grad_outputs, outputs)
    stops = list(no_grad_vars) if isinstance(no_grad_vars, set) else no_grad_vars
    if stops is None or (isinstance(stops, (list, tuple)) and not stops):
        stops = []
    else:
        stops = checked_tensors("grad", "no_grad_vars", stops)
    if any(t._symbolic for t in outputs):
        return _recorded_grad(outputs, inputs, seeds, allow_unused, stops)
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
