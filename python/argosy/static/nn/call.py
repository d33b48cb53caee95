"""Python functions, printing and assertions inside Programs."""

from __future__ import annotations

from argosy import _core
from argosy._core import Tensor
from argosy.static.mode import recording
from argosy.static.scope import DenseTensor

__all__ = ["Assert", "Print", "py_func"]


def _form(variable):
    """(shape, dtype) of what a function will return: a variable, or one that is declared only."""
    declared = getattr(variable, "_declared", None)
    if declared is not None:
        return [int(s) for s in declared[0]], _core.dtype(declared[1])
    return [int(s) for s in variable.shape], variable.dtype


def _call(inputs, forms, forward, backward=None, what="py_func"):
    ranks = [len(shape) for shape, _ in forms]
    sizes = [s for shape, _ in forms for s in shape]
    numbers = [_core.py_register(f) if f is not None else 0 for f in (forward, backward)]
    return _core.ops.py_call(inputs, *numbers, ranks, sizes, [d for _, d in forms], what)


def _as_list(values, name):
    values = [] if values is None else values
    values = list(values) if isinstance(values, (list, tuple)) else [values]
    for v in values:
        if not isinstance(v, Tensor):
            raise TypeError(
                f"[py_func] {name}: expected a Variable, or a list of them, got {type(v).__name__}."
            )
    return values


def _returned(result):
    if result is None:
        return []
    result = list(result) if isinstance(result, (list, tuple)) else [result]
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
    """
    if not callable(func):
        raise TypeError(f"[py_func] func: expected a callable, got {type(func).__name__}.")
    if backward_func is not None and not callable(backward_func):
        raise TypeError(
            f"[py_func] backward_func: expected a callable, got {type(backward_func).__name__}."
        )
    inputs, outs = _as_list(x, "x"), _as_list(out, "out")
    both = [v.name for v in inputs + outs]
    skipped = set()
    for v in _as_list(skip_vars_in_backward_input, "skip_vars_in_backward_input"):
        if v.name not in both:
            raise ValueError(
                f"[py_func] skip_vars_in_backward_input: '{v.name}' is neither in x nor in out."
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
            )
        return [_core.ops.zeros_like(v) if g is None else g for g, v in zip(grads, values)]

    made = _call(inputs, [_form(v) for v in outs], forward, backward_func and backward)
    for target, value in zip(outs, made):
        name = target.name
        target._set_data(value)
        target.name = name
        target.stop_gradient = value.stop_gradient or backward_func is None
    return out


def _described(value, name, message, summarize, parts):
    lines = [f"{message}" if message else None, f"Variable: {name}" if parts["name"] else None]
    lines.append("  - lod: {}" if parts["lod"] else None)
    lines.append(f"  - place: {value.place}")
    lines.append(f"  - shape: {list(value.shape)}" if parts["shape"] else None)
    lines.append("  - layout: NCHW" if parts["layout"] else None)
    lines.append(f"  - dtype: {str(value.dtype).rpartition('.')[2]}" if parts["type"] else None)
    flat = value.reshape([-1])
    if summarize >= 0:
        flat = flat[:summarize]
    text = " ".join(f"{v:g}" if isinstance(v, float) else str(v) for v in flat.tolist())
    lines.append(f"  - data: [{text}]")
    return "\n".join(line for line in lines if line is not None)


def Print(input, first_n=-1, message=None, summarize=20, print_tensor_name=True,
          print_tensor_type=True, print_tensor_shape=True, print_tensor_layout=True,
          print_tensor_lod=True, print_phase="both"):  # fmt: skip
    """input, printed each time it is computed (and its gradient, if that is).

    Args:
        input (Variable): Any.
        first_n (int): How many times at most; -1 for no limit.
        message (str, optional): Printed before it.
        summarize (int): How many elements at most; -1 for all.
        print_tensor_name, print_tensor_type, print_tensor_shape, print_tensor_layout,
            print_tensor_lod (bool): What else is printed.
        print_phase (str): 'forward', 'backward' or 'both'.

    Returns:
        Variable: input; use it instead, so that the gradient comes by.
    """
    if print_phase not in ("forward", "backward", "both"):
        raise ValueError(
            f"[Print] print_phase: expected 'forward', 'backward' or 'both', got {print_phase!r}."
        )
    if not isinstance(input, Tensor):
        raise TypeError(f"[Print] input: expected a Variable, got {type(input).__name__}.")
    parts = {
        "name": print_tensor_name, "type": print_tensor_type, "shape": print_tensor_shape,
        "layout": print_tensor_layout, "lod": print_tensor_lod,
    }  # fmt: skip
    name = input.name
    count = {"": 0, "@GRAD": 0}

    def show(value, suffix):
        if first_n < 0 or count[suffix] < first_n:
            count[suffix] += 1
            print(_described(value, name + suffix, message, summarize, parts), flush=True)

    def forward(values):
        if print_phase != "backward":
            show(values[0], "")
        return values

    def backward(values):
        if print_phase != "forward":
            show(values[2], "@GRAD")
        return [values[2]]

    return _call([input], [_form(input)], forward, backward, "print")[0]


def Assert(cond, data=None, summarize=20, name=None):
    """Ends a run with an error where cond does not hold.

    Args:
        cond (Variable): bool, one element.
        data (list, optional): Variables shown in the error.
        summarize (int): How many elements of each.
        name (str, optional): Has no effect on results.

    Raises:
        ValueError: cond is False (while the Program runs).
        TypeError: cond is no bool tensor, or data no list.
    """
    if not isinstance(cond, Tensor) or str(cond.dtype).rpartition(".")[2] != "bool":
        raise TypeError(f"[Assert] cond: expected a bool Variable, got {cond!r:.80}.")
    if data is not None and not isinstance(data, (list, tuple)):
        raise TypeError(f"[Assert] data: expected a list of Variables, got {type(data).__name__}.")
    data = list(data or ())
    label = cond.name
    parts = dict.fromkeys(("type", "shape", "layout", "lod"), False)
    parts["name"] = True
    names = [v.name for v in data]

    def check(values):
        if bool(values[0]):
            return []
        shown = [_described(v, n, None, summarize, parts) for v, n in zip(values[1:], names)]
        raise ValueError(
            f"[Assert] The condition variable '{label}' of Assert must be True, got False.\n"
            + "\n".join(shown)
        )

    if not cond._symbolic:
        with recording(None):
            check([cond, *data])
        return None
    _call([cond, *data], [], check, None, "assert")
    return None
