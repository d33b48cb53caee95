"""Ops whose forward, backward and inference are Python functions (docs/custom_ops.md)."""

from __future__ import annotations

import ast
import functools
import inspect

from argosy import _core
from argosy._core import Tensor
from argosy._framework import in_dynamic_mode
from argosy._support import listed
from argosy.tensor.manipulation import assign

__all__ = ["MetaTensor", "register_op"]


class MetaTensor:
    """Dtype and shape of a tensor: what functions that infer take and return.

    Args:
        dtype (dtype | str): As of a tensor.
        shape (list[int]): Sizes; -1 for one that is not known before the Program runs.

    Example:
        >>> from argosy.static.python_op import MetaTensor
        >>> meta = MetaTensor("float32", [2])
        >>> meta.set_dtype("int64")
        >>> meta.set_shape([2, -1])
        >>> meta.dtype, meta.shape
        (paddle.int64, [2, -1])
    """

    def __init__(self, dtype=None, shape=()):
        if isinstance(dtype, MetaTensor):
            dtype, shape = dtype.dtype, dtype.shape
        self.set_dtype("float32" if dtype is None else dtype)
        self.set_shape(shape)

    def set_dtype(self, dtype):
        """Sets the dtype.

        Args:
            dtype (dtype | str): It.
        """
        self.dtype = _core.dtype(dtype)

    def set_shape(self, shape):
        """Sets the shape.

        Args:
            shape (list[int]): Sizes; -1 for one that is not known before the Program runs.
        """
        self.shape = [int(size) for size in shape]

    def __repr__(self):
        return f"MetaTensor(dtype={self.dtype}, shape={self.shape})"


# By name. A name that is registered again, as in a notebook whose cell is run again, gets the new
# functions.
_registered = {}


class _PythonOp:
    """What a registered op does, behind the functions that the core keeps for ever."""

    def __init__(self, name, forward, infer, inputs, outputs, written=()):
        self.name, self.forward, self.infer = name, forward, infer
        self.inputs, self.outputs, self.written = list(inputs), list(outputs), set(written)
        self.gradient = None

    def form(self):
        return self.inputs, self.outputs, self.gradient

    def register(self, doc, file, gradient, pure):
        self.gradient = gradient
        before = _registered.get(self.name)
        if before is None:
            _core.register_python_op(
                self.name,
                doc or "",
                file,
                self.inputs,
                self.outputs,
                lambda metas, text: _registered[self.name].run_infer(metas, text),
                lambda tensors, text: _registered[self.name].run_forward(tensors, text),
                gradient,
                pure,
            )
        elif before.form() != self.form():
            raise ValueError(
                f"[register_op] there is an op called '{self.name}' already, with other inputs, "
                "outputs or another gradient. Do this: choose another name."
            )
        _registered[self.name] = self

    def run_infer(self, metas, text):
        metas = [MetaTensor(dtype, shape) for shape, dtype in metas]
        return [(m.shape, m.dtype) for m in listed(self.infer(metas, _constants(text)))]

    def run_forward(self, tensors, text):
        tensors = [_core.ops.assign(t) if i in self.written else t for i, t in enumerate(tensors)]
        return _tensors(self.forward(tensors, _constants(text)))


def _tensors(values):
    return [v if isinstance(v, Tensor) else _core.to_tensor(v, None, True) for v in listed(values)]


@functools.lru_cache(maxsize=256)
def _parse(text):
    return ast.literal_eval(text)


def _constants(text):
    return dict(_parse(text)) if text else {}


def _text_of(op, constants):
    """The constants as Python writes them: a Program that holds them can be saved."""
    text = repr(constants)
    try:
        if ast.literal_eval(text) == constants:
            return text
    except (ValueError, SyntaxError):
        pass
    for name, value in constants.items():
        try:
            if ast.literal_eval(repr(value)) == value:
                continue
        except (ValueError, SyntaxError):
            pass
        raise TypeError(
            f"[{op}] {name}: expected a Tensor, or a number, str, bool, None, or a list, tuple or "
            f"dict of these, got {type(value).__name__} {value!r:.60}. Do this: pass such a value; "
            "it becomes part of the Program."
        )
    raise TypeError(f"[{op}] its arguments cannot be written into a Program: {text:.80}")


def _names(what, names):
    if names is None:
        raise ValueError(
            f"[register_op] {what} is missing. Do this: name each one, as in {what}=['x']."
        )
    if isinstance(names, str) or not all(isinstance(n, str) for n in names):
        raise TypeError(
            f"[register_op] {what}: expected a list of str, got {names!r}. Do this: {what}=['x']."
        )
    return list(names)


def _signature(fn, name):
    signature = inspect.signature(fn)
    for p in signature.parameters.values():
        if p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD):
            raise TypeError(
                f"[register_op] {name} takes *{p.name}: an op has a fixed number of parameters. Do "
                "this: name each of them."
            )
    return signature


def _arrange(signature, tensors, constants):
    """Arguments of a function from the tensors, in order, and the constants, by name."""
    rest = iter(tensors)
    values = {n: constants[n] if n in constants else next(rest) for n in signature.parameters}
    bound = inspect.BoundArguments(signature, values)
    return bound.args, bound.kwargs


def _register_gradient(name, backward, inputs, outputs):
    """The name of the op that computes the gradients of `inputs`."""
    registered = getattr(backward, "op_name", None)
    if registered is not None:
        return registered
    if not callable(backward):
        raise TypeError(
            f"[register_op] backward: expected a function, or a function that register_op made, got "
            f"{type(backward).__name__}."
        )

    def infer(metas, constants):
        return metas[: len(inputs)]

    def forward(tensors, constants):
        grads = listed(backward(*tensors, **constants))
        if len(grads) != len(inputs):
            raise ValueError(
                f"[{name}] backward must return a gradient for each input: expected {len(inputs)}, "
                f"got {len(grads)}. Do this: return None for those without."
            )
        return [_core.ops.zeros_like(t) if g is None else g for g, t in zip(grads, tensors)]

    operands = [*inputs, *[f"result_{o}" for o in outputs], *[f"{o}_grad" for o in outputs]]
    op = _PythonOp(f"{name}_grad", forward, infer, operands, [f"{i}_grad" for i in inputs])
    op.register(f"The gradient of {name}.", "", None, True)
    return op.name


def register_op(
    fn=None,
    /,
    *,
    name=None,
    infer_meta=None,
    input_names=None,
    output_names=None,
    inplace_map=None,
    backward=None,
    pure=True,
):
    """Make a Python function an op: called on tensors it runs, in a Program it is one operation, which
    runs the function each time that the Program runs.

    A saved Program holds the op's name and its constants. Whoever loads it has to have registered an
    op of this name.

    Args:
        fn (callable): Takes tensors and constants (numbers, str, bool, None, lists, tuples and dicts
            of these); returns a tensor or an array for each output. It may use NumPy.
        name (str, optional): Default: that of fn.
        infer_meta (callable): Takes what fn takes, with a MetaTensor for each tensor; returns a
            MetaTensor for each output.
        input_names (list[str]): One for each tensor that fn takes, in their order.
        output_names (list[str]): One for each tensor that fn returns.
        inplace_map (dict[str, str], optional): Inputs that fn writes, and the outputs that they
            become: calling the op changes the tensor that was passed.
        backward (callable, optional): Takes the inputs, the outputs, and a gradient for each output,
            then the constants by name; returns a gradient for each input, or None. A function that
            register_op made, with a backward of its own, gives gradients of gradients. Without it,
            called on tensors the gradient is that of the ops that fn calls, and in a Program asking for
            one is an error.
        pure (bool): Equal arguments give equal results and nothing else happens, so that passes may
            leave calls out.

    Returns:
        callable: with fn's signature, and the op's name as ``op_name``; a decorator if fn is None.

    Raises:
        ValueError: names or infer_meta are missing, or the name is taken.
        TypeError: fn takes *args or **kwargs.

    Examples:
        >>> @argosy.static.register_op(
        ...     infer_meta=lambda x, by=2.0: argosy.static.MetaTensor(x.dtype, x.shape),
        ...     input_names=["x"], output_names=["out"],
        ...     backward=lambda x, out, dy, by: dy * by)
        ... def scaled(x, by=2.0):
        ...     return x.numpy() * by
    """
    input_names = _names("input_names", input_names)
    output_names = _names("output_names", output_names)
    if infer_meta is None:
        raise ValueError(
            "[register_op] infer_meta is missing: a Program has to know shapes and dtypes. Do this: "
            "give a function of MetaTensors that returns MetaTensors."
        )
    pairs = dict(inplace_map or {})
    for i, o in pairs.items():
        if i not in input_names or o not in output_names:
            raise ValueError(
                f"[register_op] inplace_map: '{i}' -> '{o}' is not an input and an output. Do this: "
                "use names of input_names and output_names."
            )

    def make(real):
        op_name = name or real.__name__
        signature, metas = _signature(real, op_name), _signature(infer_meta, "infer_meta")

        def infer(tensors, constants):
            args, kwargs = _arrange(metas, tensors, constants)
            return infer_meta(*args, **kwargs)

        def forward(tensors, constants):
            args, kwargs = _arrange(signature, tensors, constants)
            return real(*args, **kwargs)

        gradient = None
        if backward is not None:
            gradient = _register_gradient(op_name, backward, input_names, output_names)
        written = [i for i, n in enumerate(input_names) if n in pairs]
        op = _PythonOp(op_name, forward, infer, input_names, output_names, written)
        op.register(real.__doc__, inspect.getfile(real), gradient, bool(pure))
        call = getattr(_core.ops, op_name)

        @functools.wraps(real)
        def wrapped(*args, **kwargs):
            if gradient is None and in_dynamic_mode():
                return real(*args, **kwargs)
            bound = signature.bind(*args, **kwargs)
            bound.apply_defaults()
            tensors, constants = [], {}
            for parameter, value in bound.arguments.items():
                if isinstance(value, Tensor):
                    tensors.append(value)
                else:
                    constants[parameter] = value
            if len(tensors) != len(input_names):
                raise TypeError(
                    f"[{op_name}] takes {len(input_names)} Tensors ({', '.join(input_names)}), got "
                    f"{len(tensors)}. Do this: make the others Tensors with argosy.to_tensor(..)."
                )
            made = call(*tensors, _text_of(op_name, constants))
            if not pairs:
                return made
            made = list(made) if isinstance(made, tuple) else [made]
            for i, o in pairs.items():
                at = output_names.index(o)
                made[at] = assign(made[at], tensors[input_names.index(i)])
            return made[0] if len(made) == 1 else tuple(made)

        wrapped.op_name = op_name
        return wrapped

    return make if fn is None else make(fn)
