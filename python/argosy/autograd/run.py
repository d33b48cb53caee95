"""Running gradients."""

from argosy import _core
from argosy._core import Tensor
from argosy._support import ArgumentError


def _tensors(name, what, value, holes=False):
    """value as a list of tensors; holes: None may stand among them."""
    found = list(value) if isinstance(value, (list, tuple)) else [value]
    for item in found:
        if not (isinstance(item, Tensor) or (holes and item is None)):
            raise ArgumentError(
                f"[{name}] {what}: expected a Tensor or a list of them, got {type(item).__name__}."
                " Do this: make it one with to_tensor(..)."
            )
    if not found:
        raise ArgumentError(
            f"[{name}] {what}: expected a Tensor or more, got an empty list. Do this: name some."
        )
    return found


def _seeds(name, what, value, roots):
    """The gradient given for each root: none at all, or one (or None) for each."""
    if value is None or (isinstance(value, (list, tuple)) and not value):
        return []
    found = _tensors(name, what, value, holes=True)
    if len(found) != len(roots):
        raise ArgumentError(
            f"[{name}] {what}: expected one for each of {len(roots)} tensors, got {len(found)}."
            " Do this: give None for those that are to have ones."
        )
    for seed, root in zip(found, roots):
        if seed is not None and not root._symbolic and seed.shape != root.shape:
            raise ArgumentError(
                f"[{name}] {what}: a gradient must have the shape of its tensor, expected"
                f" {list(root.shape)}, got {list(seed.shape)}. Do this: reshape or expand it."
            )
    return found


def backward(tensors, grad_tensors=None, retain_graph=False):
    """Adds the gradients of the sum of `tensors` into `.grad` of the leaves they depend on.

    grad_tensors: one seed (or None for ones) for each of tensors.
    """
    roots = _tensors("backward", "tensors", tensors)
    if len({id(root) for root in roots}) != len(roots):
        raise ArgumentError("[backward] tensors names one twice. Do this: name each once.")
    seeds = _seeds("backward", "grad_tensors", grad_tensors, roots)
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
    outputs = _tensors("grad", "outputs", outputs)
    inputs = _tensors("grad", "inputs", inputs)
    seeds = _seeds("grad", "grad_outputs", grad_outputs, outputs)
    stops = list(no_grad_vars) if isinstance(no_grad_vars, set) else no_grad_vars
    if stops is None or (isinstance(stops, (list, tuple)) and not stops):
        stops = []
    else:
        stops = _tensors("grad", "no_grad_vars", stops)
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
