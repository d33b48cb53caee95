"""Collectives: calls that all processes of a group make in the same order.

Results are written into tensors that are there already, outside of autograd; in a Program they are
operations, with gradients. Where calls of the
processes differ, or one of them ends or does not come, each process of the group gets the same
error, a kind of distributed.CommunicationError, and the group stays failed.
"""

from __future__ import annotations

from numbers import Integral

from argosy._core import Tensor
from argosy._support import check_choice, need_type
from argosy.distributed._groups import member

from . import _calls
from ._calls import Task

__all__ = []


class ReduceOp:
    """How tensors of several processes become one.

    16-bit floats are summed in float32. Of bool, SUM and MAX say whether any is true, PROD and MIN
    whether all are; AVG is for floating and complex tensors.
    """

    SUM = 0
    MAX = 1
    MIN = 2
    PROD = 3
    AVG = 4


# As the core counts them.
_OPERATIONS = {
    ReduceOp.SUM: 1,
    ReduceOp.PROD: 2,
    ReduceOp.MAX: 3,
    ReduceOp.MIN: 4,
    ReduceOp.AVG: 5,
}


def _operation(what, op):
    check_choice(what, "op", op, tuple(_OPERATIONS))
    return _OPERATIONS[op]


def barrier(group=None):
    """Waits until all processes of the group are here.

    Args:
        group (Group, optional): Whose processes; all by default.

    Example:
        >>> import argosy as paddle
        >>> x = paddle.to_tensor([1.0, 2.0])
        >>> paddle.distributed.barrier()
    """
    group = _calls.entered("distributed.barrier", group)
    if group is not None:
        _calls.call(group, "barrier")


def wait(tensor, group=None, use_calc_stream=True):
    """Waits until what was begun with sync_op=False in the group is done.

    Args:
        tensor (Tensor): One that was given to a call.
        group (Group, optional): Whose processes; all by default.
        use_calc_stream (bool): Changes nothing on the CPU.

    Example:
        >>> import argosy as paddle
        >>> x = paddle.to_tensor([1.0, 2.0])
        >>> task = paddle.distributed.all_reduce(x, sync_op=False)
        >>> paddle.distributed.wait(x)
    """
    what = "distributed.wait"
    check_choice(what, "use_calc_stream", use_calc_stream, (True, False))
    group = _calls.entered(what, group)
    _calls.tensor_of(what, "tensor", tensor)
    if group is not None:
        under_way, group._tasks = group._tasks, []
        for task in under_way:
            task.wait()


def all_reduce(tensor, op=ReduceOp.SUM, group=None, sync_op=True):
    """Lets tensor be the reduction of the processes' tensors.

    Args:
        tensor (Tensor): Of the same shape and dtype everywhere; written in place.
        op (int): A ReduceOp.
        group (Group, optional): Whose processes; all by default.
        sync_op (bool): Whether to wait; otherwise the task that is returned has `wait`.

    Returns:
        The task of the call, done if sync_op; None where this process is no member of the group.

    Raises:
        TypeError: The operation means nothing for the dtype.

    Example:
        >>> import argosy as paddle
        >>> x = paddle.to_tensor([1.0, 2.0])
        >>> task = paddle.distributed.all_reduce(x)
        >>> x.tolist()  # of the one process that this example has
        [1.0, 2.0]
    """
    return _all_reduce(tensor, op, group, sync_op, False)


def _all_reduce(tensor, op, group, sync_op, use_calc_stream):
    what = "distributed.all_reduce"
    op = _operation(what, op)
    group = _calls.entered(what, group, sync_op, use_calc_stream)
    tensor = _calls.tensor_of(what, "tensor", tensor)
    if group is None:
        return None
    return _calls.call(group, "all_reduce", [tensor], op=op, sync_op=sync_op)


def reduce(tensor, dst, op=ReduceOp.SUM, group=None, sync_op=True):
    """all_reduce for process dst only; the others' tensors stay as they are.

    Args:
        tensor (Tensor): Of the same shape and dtype everywhere; written in place at dst.
        dst (int): A process, by its number among all.
        op (int): A ReduceOp.
        group (Group, optional): Whose processes; all by default.
        sync_op (bool): Whether to wait; otherwise the task that is returned has `wait`.

    Returns:
        The task of the call, done if sync_op; None where this process is no member of the group.

    Raises:
        TypeError: The operation means nothing for the dtype.

    Example:
        >>> import argosy as paddle
        >>> x = paddle.to_tensor([1.0, 2.0])
        >>> task = paddle.distributed.reduce(x, dst=0)
    """
    return _reduce(tensor, dst, op, group, sync_op, False)


def _reduce(tensor, dst, op, group, sync_op, use_calc_stream):
    what = "distributed.reduce"
    op = _operation(what, op)
    group = _calls.entered(what, group, sync_op, use_calc_stream)
    tensor = _calls.tensor_of(what, "tensor", tensor)
    if group is None:
        return None
    root = member(what, group, dst)
    return _calls.call(group, "reduce", [tensor], op=op, root=root, sync_op=sync_op)


def broadcast(tensor, src, group=None, sync_op=True):
    """Lets tensor be that of process src.

    Args:
        tensor (Tensor): Of the same shape and dtype everywhere; written in place.
        src (int): A process, by its number among all.
        group (Group, optional): Whose processes; all by default.
        sync_op (bool): Whether to wait; otherwise the task that is returned has `wait`.

    Returns:
        The task of the call, done if sync_op; None where this process is no member of the group.

    Example:
        >>> import argosy as paddle
        >>> x = paddle.to_tensor([1.0, 2.0])
        >>> task = paddle.distributed.broadcast(x, src=0)
    """
    return _broadcast(tensor, src, group, sync_op, False)


def _broadcast(tensor, src, group, sync_op, use_calc_stream):
    what = "distributed.broadcast"
    group = _calls.entered(what, group, sync_op, use_calc_stream)
    tensor = _calls.tensor_of(what, "tensor", tensor)
    if group is None:
        return None
    root = member(what, group, src)
    return _calls.call(group, "broadcast", [tensor], root=root, sync_op=sync_op)


def all_gather(tensor_list, tensor, group=None, sync_op=True):
    """Gives each process all processes' tensors, in the order of the group.

    Args:
        tensor_list (list[Tensor] | Tensor): Filled if it is empty; otherwise its tensors are written. Their sizes
            may differ where the processes' tensors do. A tensor gets them one after the other along its first
            axis.
        tensor (Tensor): This process's.
        group (Group, optional): Whose processes; all by default.
        sync_op (bool): Whether to wait; otherwise the task that is returned has `wait`.

    Returns:
        The task of the call, done if sync_op; None where this process is no member of the group.

    Example:
        >>> import argosy as paddle
        >>> x = paddle.to_tensor([1.0, 2.0])
        >>> parts = []
        >>> task = paddle.distributed.all_gather(parts, x)
        >>> len(parts)
        1
    """
    return _all_gather(tensor_list, tensor, group, sync_op, False)


def _all_gather(tensor_list, tensor, group, sync_op, use_calc_stream):
    what = "distributed.all_gather"
    group = _calls.entered(what, group, sync_op, use_calc_stream)
    tensor = _calls.tensor_of(what, "tensor", tensor)
    if group is None:
        return None
    with _calls.apart():
        out = _calls.room_for(what, "tensor_list", tensor_list, group, [tensor] * group.nranks)
        sizes = {t.size for t in out}
        kind = "all_gather" if sizes == {tensor.size} else "all_gather_unequal"
        return _calls.call(group, kind, [tensor], out, sync_op=sync_op)


def gather(tensor, gather_list=None, dst=0, group=None, sync_op=True):
    """all_gather for process dst only.

    Args:
        tensor (Tensor): This process's.
        gather_list (list[Tensor], optional): Needed at dst: as tensor_list of all_gather.
        dst (int): A process, by its number among all.
        group (Group, optional): Whose processes; all by default.
        sync_op (bool): Whether to wait; otherwise the task that is returned has `wait`.

    Returns:
        The task of the call, done if sync_op; None where this process is no member of the group.

    Example:
        >>> import argosy as paddle
        >>> x = paddle.to_tensor([1.0, 2.0])
        >>> parts = []
        >>> task = paddle.distributed.gather(x, parts, dst=0)
    """
    return _gather(tensor, gather_list, dst, group, sync_op, False)


def _gather(tensor, gather_list, dst, group, sync_op, use_calc_stream):
    what = "distributed.gather"
    group = _calls.entered(what, group, sync_op, use_calc_stream)
    tensor = _calls.tensor_of(what, "tensor", tensor)
    if group is None:
        return None
    root = member(what, group, dst)
    out = []
    if group.rank == root:
        if gather_list is None:
            raise ValueError(
                f"[{what}] process dst needs gather_list, got None. Do this: pass an empty list."
            )
        with _calls.apart():
            like = [tensor] * group.nranks
            out = _calls.room_for(what, "gather_list", gather_list, group, like)
    return _calls.call(group, "gather", [tensor], out, root=root, sync_op=sync_op)


def _split(what, name, values, group):
    if isinstance(values, Tensor):
        return _calls.parts_of(what, name, values, group)
    return _calls.one_each(what, name, values, group)


def scatter(tensor, tensor_list=None, src=0, group=None, sync_op=True):
    """Writes the tensor that process src has for this one in its list into tensor.

    Args:
        tensor (Tensor): Written.
        tensor_list (list[Tensor] | Tensor, optional): Needed at src: one for each process, or a tensor whose rows
            they share.
        src (int): A process, by its number among all.
        group (Group, optional): Whose processes; all by default.
        sync_op (bool): Whether to wait; otherwise the task that is returned has `wait`.

    Returns:
        The task of the call, done if sync_op; None where this process is no member of the group.

    Example:
        >>> import argosy as paddle
        >>> x = paddle.to_tensor([1.0, 2.0])
        >>> task = paddle.distributed.scatter(x, [paddle.ones([2])], src=0)
        >>> x.tolist()
        [1.0, 1.0]
    """
    return _scatter(tensor, tensor_list, src, group, sync_op, False)


def _scatter(tensor, tensor_list, src, group, sync_op, use_calc_stream):
    what = "distributed.scatter"
    group = _calls.entered(what, group, sync_op, use_calc_stream)
    tensor = _calls.tensor_of(what, "tensor", tensor)
    if group is None:
        return None
    root = member(what, group, src)
    with _calls.apart():
        parts = _split(what, "tensor_list", tensor_list, group) if group.rank == root else []
        return _calls.call(group, "scatter", parts, [tensor], root=root, sync_op=sync_op)


def reduce_scatter(tensor, tensor_list, op=ReduceOp.SUM, group=None, sync_op=True):
    """Reduces the processes' lists, tensor by tensor, and gives each process its tensor.

    Args:
        tensor (Tensor): Written.
        tensor_list (list[Tensor] | Tensor): One for each process, or a tensor whose rows they share.
        op (int): A ReduceOp.
        group (Group, optional): Whose processes; all by default.
        sync_op (bool): Whether to wait; otherwise the task that is returned has `wait`.

    Returns:
        The task of the call, done if sync_op; None where this process is no member of the group.

    Raises:
        TypeError: The operation means nothing for the dtype.

    Example:
        >>> import argosy as paddle
        >>> x = paddle.to_tensor([1.0, 2.0])
        >>> task = paddle.distributed.reduce_scatter(x, [paddle.ones([2])])
        >>> x.tolist()
        [1.0, 1.0]
    """
    return _reduce_scatter(tensor, tensor_list, op, group, sync_op, False)


def _reduce_scatter(tensor, tensor_list, op, group, sync_op, use_calc_stream):
    what = "distributed.reduce_scatter"
    op = _operation(what, op)
    group = _calls.entered(what, group, sync_op, use_calc_stream)
    tensor = _calls.tensor_of(what, "tensor", tensor)
    if group is None:
        return None
    with _calls.apart():
        parts = _split(what, "tensor_list", tensor_list, group)
        return _calls.call(group, "reduce_scatter", parts, [tensor], op=op, sync_op=sync_op)


def alltoall(out_tensor_list, in_tensor_list, group=None, sync_op=True):
    """Sends tensor i of a list to process i, and receives one of each.

    Args:
        out_tensor_list (list[Tensor]): Filled with tensors like the input's if it is empty; otherwise its tensors are
            written, of any sizes.
        in_tensor_list (list[Tensor]): One for each process.
        group (Group, optional): Whose processes; all by default.
        sync_op (bool): Whether to wait; otherwise the task that is returned has `wait`.

    Returns:
        The task of the call, done if sync_op; None where this process is no member of the group.

    Example:
        >>> import argosy as paddle
        >>> x = paddle.to_tensor([1.0, 2.0])
        >>> parts = []
        >>> task = paddle.distributed.alltoall(parts, [x])
    """
    return _alltoall(out_tensor_list, in_tensor_list, group, sync_op, False)


def _alltoall(out_tensor_list, in_tensor_list, group, sync_op, use_calc_stream):
    what = "distributed.alltoall"
    group = _calls.entered(what, group, sync_op, use_calc_stream)
    if group is None:
        return None
    with _calls.apart():
        parts = _split(what, "in_tensor_list", in_tensor_list, group)
        out = _calls.room_for(what, "out_tensor_list", out_tensor_list, group, parts)
        return _calls.call(group, "alltoall", parts, out, sync_op=sync_op)


def alltoall_single(
    out_tensor, in_tensor, in_split_sizes=None, out_split_sizes=None, group=None, sync_op=True
):
    """Sends part i of in_tensor's rows to process i and joins what comes in out_tensor.

    Args:
        out_tensor (Tensor): Written.
        in_tensor (Tensor): What is sent.
        in_split_sizes (list[int], optional): Rows for each process; equally many by default.
        out_split_sizes (list[int], optional): Rows of each process; equally many by default.
        group (Group, optional): Whose processes; all by default.
        sync_op (bool): Whether to wait; otherwise the task that is returned has `wait`.

    Returns:
        The task of the call, done if sync_op; None where this process is no member of the group.

    Example:
        >>> import argosy as paddle
        >>> x = paddle.to_tensor([1.0, 2.0])
        >>> task = paddle.distributed.alltoall_single(paddle.zeros([2]), x)
    """
    return _alltoall_single(
        out_tensor, in_tensor, in_split_sizes, out_split_sizes, group, sync_op, False
    )


def _alltoall_single(
    out_tensor, in_tensor, in_split_sizes, out_split_sizes, group, sync_op, use_calc_stream
):
    what = "distributed.alltoall_single"
    group = _calls.entered(what, group, sync_op, use_calc_stream)
    if group is None:
        return None
    parts = []
    with _calls.apart():
        for name, of, sizes in (
            ("in_split_sizes", in_tensor, in_split_sizes),
            ("out_split_sizes", out_tensor, out_split_sizes),
        ):
            place = name.partition("_")[0] + "_tensor"
            rows = _calls.tensor_of(what, place, of).shape[0] if of.ndim else 1
            for size in () if sizes is None else sizes:
                need_type(what, name, size, Integral, "pass whole numbers of rows")
            sizes = [int(s) for s in sizes] if sizes is not None and len(sizes) else None
            if sizes and (len(sizes) != group.nranks or sum(sizes) != rows or min(sizes) < 0):
                raise ValueError(
                    f"[{what}] {name}: expected {group.nranks} numbers of rows with the sum {rows}, got"
                    f" {sizes}. Do this: leave it out to share the rows equally."
                )
            parts.append(_calls.parts_of(what, place, of, group, sizes))
        return _calls.call(group, "alltoall", *parts, sync_op=sync_op)


# For annotations and tests of types.
task = Task
