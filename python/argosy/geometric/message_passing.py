"""Values sent along the edges of a graph."""

from __future__ import annotations

from argosy import tensor
from argosy._core import Tensor
from argosy._support import check_choice, sizes_of
from argosy.autograd import no_grad

_COMBINE = {
    "add": tensor.add,
    "sub": tensor.subtract,
    "mul": tensor.multiply,
    "div": tensor.divide,
}
_REDUCE = ("sum", "mean", "max", "min")


def gather_rows(message, index, count, reduce_op):
    """Rows of message [E, ...] reduced into `count` rows by index [E]; rows without any are 0."""
    sizes = sizes_of(message)
    shape = [count, *sizes[1:]]
    zeros = tensor.zeros(shape, dtype=message.dtype)
    if reduce_op in ("sum", "mean"):
        total = tensor.index_add(zeros, index, 0, message)
        if reduce_op == "sum":
            return total
        ones = tensor.ones(sizes[:1], dtype=message.dtype)
        counts = tensor.index_add(tensor.zeros([count], dtype=message.dtype), index, 0, ones)
        return total / counts.clip(1).reshape([-1] + [1] * (message.ndim - 1))
    with no_grad():
        places = index.astype("int64").reshape([-1] + [1] * (message.ndim - 1))
        best = tensor.put_along_axis(
            zeros, places.expand(sizes), message, 0, f"a{reduce_op}", include_self=False
        )
    if message.stop_gradient:
        return best
    # The gradient goes to all that equal the best, as in Paddle; their sum stands for the best.
    chosen = (message == tensor.gather(best, index)).astype(message.dtype)
    total = tensor.index_add(zeros, index, 0, message * chosen)
    return total - (total - best).detach()


def _rows(out_size, x):
    own = sizes_of(x)[0]
    if isinstance(out_size, Tensor):
        if out_size._symbolic:
            out_size = out_size.reshape([]).astype("int64")
            return tensor.where(out_size > 0, out_size, tensor.full([], own, "int64"))
        out_size = int(out_size)
    return own if out_size is None or out_size <= 0 else out_size


def send_u_recv(x, src_index, dst_index, reduce_op="sum", out_size=None, name=None):
    """Sends ``x[src]`` to ``dst`` along each edge and reduces what arrives at a node.

    Args:
        x: [N, ...] values of the nodes.
        src_index, dst_index: [E] ends of the edges.
        reduce_op: 'sum', 'mean', 'max' or 'min'.
        out_size: number of nodes of the result; that of x by default. Nodes that nothing reaches
            have 0.
    """
    check_choice("send_u_recv", "reduce_op", reduce_op, _REDUCE)
    message = tensor.gather(x, src_index)
    return gather_rows(message, dst_index, _rows(out_size, x), reduce_op)


def send_ue_recv(
    x, y, src_index, dst_index, message_op="add", reduce_op="sum", out_size=None, name=None
):
    """:func:`send_u_recv` of ``message_op(x[src], y)``, y [E, ...] being values of the edges.

    message_op: 'add', 'sub', 'mul' or 'div'.
    """
    check_choice("send_ue_recv", "message_op", message_op, tuple(_COMBINE))
    check_choice("send_ue_recv", "reduce_op", reduce_op, _REDUCE)
    sent = tensor.gather(x, src_index)
    if y.ndim < sent.ndim:
        y = y.unsqueeze(list(range(y.ndim, sent.ndim)))
    message = _COMBINE[message_op](sent, y)
    return gather_rows(message, dst_index, _rows(out_size, x), reduce_op)


def send_uv(x, y, src_index, dst_index, message_op="add", name=None):
    """``message_op(x[src], y[dst])`` for each edge: [E, ...]."""
    check_choice("send_uv", "message_op", message_op, tuple(_COMBINE))
    return _COMBINE[message_op](tensor.gather(x, src_index), tensor.gather(y, dst_index))
