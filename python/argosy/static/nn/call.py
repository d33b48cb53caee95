"""Python functions inside Programs."""

from __future__ import annotations

from argosy import _core
from argosy._core import Tensor
from argosy._support import listed, need_tensor
from argosy.autograd import PyLayer, no_grad
from argosy.static.scope import DenseTensor

__all__ = ["py_func", "static_pylayer"]


def _form(variable):
    """(shape, dtype) of what a function will return: a variable, or one that is declared only."""
    declared = getattr(variable, "_declared", None)
    if declared is not None:
        return [int(s) for s in declared[0]], _core.dtype(declared[1])
    return [int(s) for s in variable.shape], variable.dtype


def _call(inputs, forms, forward, backward=None):
    ranks = [len(shape) for shape, _ in forms]
    sizes = [s for shape, _ in forms for s in shape]
    numbers = [_core.py_register(f) if f is not None else 0 for f in (forward, backward)]
    return _core.ops.py_call(inputs, *numbers, ranks, sizes, [d for _, d in forms])


def _as_list(values, name):
    values = [] if values is None else values
    values = listed(values)
    for v in values:
        if not isinstance(v, Tensor):
            raise TypeError(
                f"[py_func] {name}: expected a Variable, or a list of them, got {type(v).__name__}."
                " Do this: make it with Block.create_var."
            )
    return values


def _returned(result):
    if result is None:
        return []
    result = listed(result)
    values = []
    for v in result:
        v = getattr(v, "_tensor", v)
        values.append(None if v is None else _core.to_tensor(v, None, True))
    return values


def py_func(func, x, out, backward_func=None, skip_vars_in_backward_input=None):
    """Calls a Python function when the Program runs.

    Args:
        func (callable): Takes a DenseTensor for each of x (``np.array(t)`` copies it); returns an
            array, or a list of arrays, that fit `out`.
        x (Variable | list): Inputs.
        out (Variable | list | None): From ``Block.create_var``: they say dtypes and shapes, and
            become the results.
        backward_func (callable, optional): Takes inputs, outputs and gradients of outputs, except
            those skipped; returns the gradients of the inputs (None: zeros). Without it no gradient
            flows.
        skip_vars_in_backward_input (Variable | list, optional): Inputs and outputs that
            backward_func does not take.

    Returns:
        Variable | list: out.

    Raises:
        TypeError: func is not callable, or x or out are no Variables.
        ValueError: what is skipped is neither input nor output.

    Example:
        >>> argosy.enable_static()
        >>> x = argosy.static.data("x", [2], "float32")
        >>> block = argosy.static.default_main_program().current_block()
        >>> out = block.create_var(name="out", shape=[2], dtype="float32")
        >>> y = argosy.static.py_func(lambda t: np.array(t) * 3, x, out)
        >>> argosy.static.Executor().run(feed={"x": np.float32([1, 2])}, fetch_list=[y])[0].tolist()
        [3.0, 6.0]
    """
    if not callable(func):
        raise TypeError(
            f"[py_func] func: expected a callable, got {type(func).__name__}."
            " Do this: pass a function."
            " Do this: pass a function of arrays."
        )
    if backward_func is not None and not callable(backward_func):
        raise TypeError(
            f"[py_func] backward_func: expected a callable, got {type(backward_func).__name__}."
            " Do this: pass a function."
            " Do this: pass a function of arrays."
            " Do this: pass a function, or None."
        )
    inputs, outs = _as_list(x, "x"), _as_list(out, "out")
    both = [v.name for v in inputs + outs]
    skipped = set()
    for v in _as_list(skip_vars_in_backward_input, "skip_vars_in_backward_input"):
        if v.name not in both:
            raise ValueError(
                f"[py_func] skip_vars_in_backward_input: '{v.name}' is neither in x nor in out."
                " Do this: name inputs or outputs."
            )
        skipped.add(both.index(v.name))

    def forward(values):
        return _returned(func(*[DenseTensor(v) for v in values]))

    def backward(values):
        given = [DenseTensor(v) for i, v in enumerate(values) if i not in skipped]
        grads = _returned(backward_func(*given))
        if len(grads) != len(inputs):
            raise ValueError(
                f"[py_func] backward_func must return a gradient for each of x: expected"
                f" {len(inputs)}, got {len(grads)}."
                " Do this: return None for those without."
            )
        return [_core.ops.zeros_like(v) if g is None else g for g, v in zip(grads, values)]

    made = _call(inputs, [_form(v) for v in outs], forward, backward_func and backward)
    for target, value in zip(outs, made):
        name = target.name
        target._set_data(value)
        target.name = name
        target.stop_gradient = value.stop_gradient or backward_func is None
    return out


def static_pylayer(forward_fn, inputs, backward_fn=None, name=None):
    """What forward_fn returns for the inputs, with backward_fn as its gradient.

    Args:
        forward_fn (callable): Takes the inputs; returns a Variable or a list of Variables.
        inputs (list | tuple): Variables.
        backward_fn (callable, optional): Takes a gradient for each output, returns one for each
            input. No gradient flows without it.
        name (str, optional): Has no effect on results.

    Returns:
        Variable | list: What forward_fn returns.

    Raises:
        TypeError: inputs are no list of Variables, or a function cannot be called.

    Example:
        >>> argosy.enable_static()
        >>> x = argosy.static.data("x", [2], "float32")
        >>> x.stop_gradient = False
        >>> y = argosy.static.nn.static_pylayer(lambda x: x * 2, [x], lambda grad: grad * 10)
        >>> (grad,) = argosy.static.gradients(y, x)
        >>> argosy.static.Executor().run(feed={"x": np.float32([1, 2])}, fetch_list=[grad])[0].tolist()
        [10.0, 10.0]
    """
    for label, function in (("forward_fn", forward_fn), ("backward_fn", backward_fn)):
        if not callable(function) and (function is not None or label == "forward_fn"):
            raise TypeError(
                f"[static_pylayer] {label}: expected a callable, got {type(function).__name__}."
                " Do this: pass a function."
            )
    if not isinstance(inputs, (list, tuple)):
        raise TypeError(
            f"[static_pylayer] inputs: expected a list of Variables, got {type(inputs).__name__}."
            " Do this: put them into a list."
        )
    for value in inputs:
        need_tensor("static_pylayer", "inputs", value)
    if backward_fn is None:
        with no_grad():
            return forward_fn(*inputs)

    class Pair(PyLayer):
        @staticmethod
        def forward(ctx, *values):
            return forward_fn(*values)

        @staticmethod
        def backward(ctx, *grads):
            return backward_fn(*grads)

    return Pair.apply(*inputs)
