"""Values sent along the edges of a graph."""

from __future__ import annotations

from argosy import tensor
from argosy._beside import beside
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


@beside
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
        counts = counts.clip(1).reshape([-1] + [1] * (message.ndim - 1))
        if message.is_integer():  # rounded towards 0
            return (total.astype("float64") / counts.astype("float64")).astype(message.dtype)
        return total / counts
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


@beside
def _rows(out_size, x):
    own = sizes_of(x)[0]
    if isinstance(out_size, Tensor):
        if out_size._symbolic:
            out_size = out_size.reshape([]).astype("int64")
            return tensor.where(out_size > 0, out_size, tensor.full([], own, "int64"))
        out_size = int(out_size)
    return own if out_size is None or out_size <= 0 else out_size


def send_u_recv(x, src_index, dst_index, reduce_op="sum", out_size=None, name=None):
    """Sends ``x[src]`` to ``dst`` along each edge of a graph and reduces what arrives at a node.

    Args:
        x (Tensor): [N, ...] values of the nodes.
        src_index (Tensor): [E] integers, where each edge begins.
        dst_index (Tensor): [E], where it ends.
        reduce_op (str): 'sum', 'mean', 'max' or 'min'.
        out_size (int | Tensor, optional): Nodes of the result; default: those of x.

    Returns:
        Tensor: [out_size, ...] of x's dtype; nodes that nothing reaches have 0.

    Raises:
        ValueError: reduce_op is another one.

    Example:
        >>> x = argosy.to_tensor([[1.0], [2.0], [4.0]])
        >>> src, dst = argosy.to_tensor([0, 1, 2]), argosy.to_tensor([1, 2, 2])
        >>> argosy.geometric.send_u_recv(x, src, dst).tolist()
        [[0.0], [1.0], [6.0]]
    """
    check_choice("send_u_recv", "reduce_op", reduce_op, _REDUCE)
    message = tensor.gather(x, src_index)
    return gather_rows(message, dst_index, _rows(out_size, x), reduce_op)


def send_ue_recv(
    x, y, src_index, dst_index, message_op="add", reduce_op="sum", out_size=None, name=None
):
    """Sends ``message_op(x[src], y)`` to ``dst`` along each edge of a graph and reduces what arrives at a node.

    Args:
        x (Tensor): [N, ...] values of the nodes.
        y (Tensor): [E, ...] values of the edges.
        src_index (Tensor): [E] integers, where each edge begins.
        dst_index (Tensor): [E], where it ends.
        message_op (str): 'add', 'sub', 'mul' or 'div'.
        reduce_op (str): 'sum', 'mean', 'max' or 'min'.
        out_size (int | Tensor, optional): Nodes of the result; default: those of x.

    Returns:
        Tensor: [out_size, ...]; nodes that nothing reaches have 0.

    Raises:
        ValueError: An op is another one.

    Example:
        >>> x = argosy.to_tensor([[1.0], [2.0]])
        >>> y = argosy.to_tensor([10.0, 20.0])
        >>> src, dst = argosy.to_tensor([0, 1]), argosy.to_tensor([1, 1])
        >>> argosy.geometric.send_ue_recv(x, y, src, dst).tolist()
        [[0.0], [33.0]]
    """
    check_choice("send_ue_recv", "message_op", message_op, tuple(_COMBINE))
    check_choice("send_ue_recv", "reduce_op", reduce_op, _REDUCE)
    sent = tensor.gather(x, src_index)
    if y.ndim < sent.ndim:
        y = y.unsqueeze(list(range(y.ndim, sent.ndim)))
    message = _COMBINE[message_op](sent, y)
    return gather_rows(message, dst_index, _rows(out_size, x), reduce_op)


def send_uv(x, y, src_index, dst_index, message_op="add", name=None):
    """``message_op(x[src], y[dst])`` for each edge of a graph.

    Args:
        x (Tensor): [N, ...] values of the nodes that send.
        y (Tensor): [M, ...] values of those that receive.
        src_index (Tensor): [E] integers, where each edge begins.
        dst_index (Tensor): [E], where it ends.
        message_op (str): 'add', 'sub', 'mul' or 'div'.

    Returns:
        Tensor: [E, ...].

    Raises:
        ValueError: message_op is another one.

    Example:
        >>> x = argosy.to_tensor([[1.0], [2.0]])
        >>> src, dst = argosy.to_tensor([0, 1]), argosy.to_tensor([1, 1])
        >>> argosy.geometric.send_uv(x, x, src, dst, "mul").tolist()
        [[2.0], [4.0]]
    """
    check_choice("send_uv", "message_op", message_op, tuple(_COMBINE))
    return _COMBINE[message_op](tensor.gather(x, src_index), tensor.gather(y, dst_index))
