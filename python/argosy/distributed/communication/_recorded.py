"""Collectives as operations of the Program that is being recorded.

They have gradients, which eager calls do not have. Asynchronous calls are recorded as synchronous
ones: the results are the same.
"""

from __future__ import annotations

from argosy import _core
from argosy import tensor as tensors
from argosy._capturing import capturing

__all__ = []

# Reductions as the core counts them.
REDUCTIONS = ("", "sum", "prod", "max", "min", "avg")


def is_recorded(values):
    """Whether a call on these tensors becomes an operation: while a function is captured, and on
    values of Programs."""
    return capturing() or any(t._symbolic for t in values)


def record(group, kind, inputs, outputs, op, root):
    """Records a call; what it would write stands for its results from now on."""
    if kind in ("all_reduce", "reduce", "broadcast"):
        outputs = inputs
    if group.nranks == 1:
        results = [] if outputs is inputs else inputs  # one process gets what it sends
    else:
        results = _ROWS[kind](group.id, group.nranks, inputs, outputs, REDUCTIONS[op], root)
    for result, target in zip(results, outputs):
        if -1 not in target.shape and result.shape != target.shape:
            result = tensors.reshape(result, target.shape)
        tensors.assign(result, target)


def _all_reduce(group, ranks, inputs, outputs, reduction, root):
    return [_core.ops.all_reduce(x, group, reduction) for x in inputs]


def _reduce(group, ranks, inputs, outputs, reduction, root):
    return [_core.ops.reduce_to(x, root, group, reduction) for x in inputs]


def _broadcast(group, ranks, inputs, outputs, reduction, root):
    return [_core.ops.broadcast_from(x, root, group) for x in inputs]


def _all_gather(group, ranks, inputs, outputs, reduction, root):
    return tensors.unbind(_core.ops.all_gather(inputs[0], ranks, group), 0)


def _all_gather_unequal(group, ranks, inputs, outputs, reduction, root):
    return _core.ops.all_gather_unequal(inputs[0], outputs, group)


def _gather(group, ranks, inputs, outputs, reduction, root):
    return tensors.unbind(_core.ops.gather_to(inputs[0], root, ranks, group), 0)


def _scatter(group, ranks, inputs, outputs, reduction, root):
    rows = tensors.stack(inputs, 0) if inputs else None
    return [_core.ops.scatter_from(outputs[0], rows, root, ranks, group)]


def _reduce_scatter(group, ranks, inputs, outputs, reduction, root):
    return [_core.ops.reduce_scatter(tensors.stack(inputs, 0), ranks, group, reduction)]


def _alltoall(group, ranks, inputs, outputs, reduction, root):
    return _core.ops.alltoall(inputs, outputs, group)


def _send(group, ranks, inputs, outputs, reduction, root):
    _core.ops.send_to(inputs[0], root, group)
    return []


def _recv(group, ranks, inputs, outputs, reduction, root):
    return [_core.ops.recv_from(outputs[0], root, group)]


def _barrier(group, ranks, inputs, outputs, reduction, root):
    _core.ops.barrier(group)
    return []


_ROWS = {
    "all_reduce": _all_reduce,
    "reduce": _reduce,
    "broadcast": _broadcast,
    "all_gather": _all_gather,
    "all_gather_unequal": _all_gather_unequal,
    "gather": _gather,
    "scatter": _scatter,
    "reduce_scatter": _reduce_scatter,
    "alltoall": _alltoall,
    "send": _send,
    "recv": _recv,
    "barrier": _barrier,
}
