"""Running gradients."""

from argosy import _core


def _list(value):
    if value is None:
        return None
    return list(value) if isinstance(value, (list, tuple)) else [value]


def backward(tensors, grad_tensors=None, retain_graph=False):
    """Adds the gradients of the sum of `tensors` into `.grad` of the leaves they depend on.

    grad_tensors: one seed (or None for ones) for each of tensors.
    """
    _core.backward(_list(tensors), _list(grad_tensors) or [], retain_graph)


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
    if not only_inputs:
        raise ValueError("[grad] only_inputs=False is not supported. Do this: leave it True.")
    if retain_graph is None:
        retain_graph = create_graph
    if any(t is not None and t._symbolic for t in _list(outputs)):
        return _recorded_grad(outputs, inputs, grad_outputs, allow_unused, no_grad_vars)
    found = _core.grad(
        _list(outputs),
        _list(inputs),
        _list(grad_outputs) or [],
        retain_graph,
        create_graph,
        allow_unused,
        list(no_grad_vars) if isinstance(no_grad_vars, set) else _list(no_grad_vars) or [],
    )
    return found


def _recorded_grad(outputs, inputs, grad_outputs, allow_unused, no_grad_vars):
    """Gradients of values of the Program that is being built."""
    found = _core.program_gradients(
        _core.program_recording(),
        _list(outputs),
        _list(grad_outputs) or [],
        _list(inputs),
        _list(list(no_grad_vars) if isinstance(no_grad_vars, set) else no_grad_vars) or [],
    )
    for i, gradient in enumerate(found):
        if gradient is None and not allow_unused:
            raise ValueError(
                f"[grad] input {i} is not reached from the outputs. Do this: pass allow_unused=True,"
                " or check that it has stop_gradient=False and was used."
            )
    return found
