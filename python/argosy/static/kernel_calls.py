"""Calls of operations below the public functions: operands by place, under Paddle's names."""

from __future__ import annotations

import functools

from argosy import _core, tensor
from argosy._op_names import PADDLE_NAMES
from argosy.device.place import Place
from argosy.nn import functional

from . import appending, op_protos

__all__ = []

# Names of kernels whose operation has another, besides those of _op_names.
_KINDS = {
    "add_n": "sum", "mean": "reduce_mean", "mean_all": "mean", "one_hot": "one_hot_v2", "diag": "diag_v2",
    "cross_entropy_with_softmax": "softmax_with_cross_entropy", "full_like": "fill_any_like",
    "det": "determinant", "hardswish": "hard_swish", "hardsigmoid": "hard_sigmoid",
    "hardshrink": "hard_shrink", "hardtanh": "brelu", "fmax": "elementwise_fmax",
    "fmin": "elementwise_fmin", "heaviside": "elementwise_heaviside",
}  # fmt: skip


def _kind_of(name):
    return _KINDS.get(name) or PADDLE_NAMES.get(name, name)


def _proto(kind):
    holder = op_protos.OpProtoHolder.instance()
    return holder.get_op_proto(kind) if holder.has_op_proto(kind) else None


def _run(proto, inputs, attrs, outputs):
    """The tensors of outputs; None for those that only gradients of Paddle's kernels read and that are not made."""
    operands = {
        name: list(v) if isinstance(v, (list, tuple)) else [v]
        for name, v in inputs.items()
        if v is not None
    }
    lists = {part.name for part in proto.outputs if part.duplicable}
    made = appending.compute(proto.type, operands, attrs, {name: None for name in outputs})
    found = [made.get(name) if name in lists else (made.get(name) or [None])[0] for name in outputs]
    return found[0] if len(found) == 1 else tuple(found)


def kernel(name):
    """The function that runs a kernel.

    Args:
        name (str): The kernel's, such as 'add', 'matmul', 'relu_'.

    Returns:
        callable | None: Takes inputs, then attributes, by place in the order of Paddle's kernel. None if there is
        no such kernel here.

    Example:
        >>> x = argosy.ones([2, 3])
        >>> argosy.static.kernel_calls.kernel("matmul")(x, x, False, True).tolist()
        [[3.0, 3.0], [3.0, 3.0]]
    """
    if name.endswith("_") and not name.endswith("__"):
        method = getattr(_core.Tensor, name, None)
        return method and functools.partial(_in_place, name)
    proto = _proto(_kind_of(name))
    if proto is not None and proto.call is not None:
        return functools.partial(_call_kernel, proto)
    return getattr(tensor, name, None) or getattr(functional, name, None)


def _in_place(name, x, *args):
    return getattr(x, name)(*args)


def _call_kernel(proto, *args):
    names, attrs, outputs = proto.call
    inputs = dict(zip(names, args))
    rest = [value for value in args[len(names) :] if not isinstance(value, Place)]
    more = [value for value in rest[len(attrs) :] if value not in (None, False)]
    if more:
        raise NotImplementedError(
            f"[_C_ops] '{proto.type}' takes {', '.join([*names, *(a[0] for a in attrs)])} here: expected no more,"
            f" got {more}. Do this: leave them out, or call the public function."
        )
    values = {}
    for (attr, *others), value in zip(attrs, rest):
        if isinstance(value, _core.Tensor) and others:
            inputs[others[0]] = value
        else:
            values[attr] = [] if attr == "dim" and value is None else value
    hidden = {"XShape", *(part.name for part in proto.outputs if part.intermediate)}
    shown = [name for name in outputs if name not in hidden]
    return _run(proto, inputs, values, shown or outputs)


def legacy(kind):
    """The function that runs an operation.

    Args:
        kind (str): Its type, such as 'elementwise_add'.

    Returns:
        callable | None: Takes the inputs by place, then names and values of attributes in turn, and returns all
        results: None for those that are not made here. None if there is no such operation.

    Example:
        >>> x = argosy.to_tensor([[1.0, 2.0]])
        >>> argosy.static.kernel_calls.legacy("reduce_sum")(x, "dim", [1], "keep_dim", False).tolist()
        [3.0]
    """
    proto = _proto(kind)
    return proto and functools.partial(_call_legacy, proto)


def _call_legacy(proto, *args):
    count = next((i for i, value in enumerate(args) if isinstance(value, str)), len(args))
    needed = [part.name for part in proto.inputs if not part.dispensable]
    names = needed if count <= len(needed) else [part.name for part in proto.inputs]
    attrs = dict(zip(args[count::2], args[count + 1 :: 2]))
    shown = [part.name for part in proto.outputs]
    return _run(proto, dict(zip(names, args[:count])), attrs, shown)
