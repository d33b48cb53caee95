"""The collectives with use_calc_stream: there is one stream on the CPU, so it changes nothing but that
a call with it is synchronous."""

from __future__ import annotations

from . import collectives as _collectives
from .collectives import ReduceOp
from .transfers import transfer

__all__ = [
    "all_gather",
    "all_reduce",
    "alltoall",
    "alltoall_single",
    "broadcast",
    "gather",
    "recv",
    "reduce",
    "reduce_scatter",
    "scatter",
    "send",
]


def all_reduce(tensor, op=ReduceOp.SUM, group=None, sync_op=True, use_calc_stream=False):
    """Lets tensor be the reduction of the processes' tensors, as distributed.all_reduce does.

    Args:
        tensor (Tensor): Of the same shape and dtype everywhere; written in place.
        op (int): A ReduceOp.
        group (Group, optional): Whose processes; all by default.
        sync_op (bool): Whether to wait; otherwise the task that is returned has `wait`.
        use_calc_stream (bool): Only with sync_op; changes nothing on the CPU.

    Returns:
        The task of the call, done if sync_op; None where this process is no member of the group.

    Raises:
        RuntimeError: use_calc_stream without sync_op.

    Example:
        >>> import argosy as paddle
        >>> x = paddle.to_tensor([1.0, 2.0])
        >>> task = paddle.distributed.stream.all_reduce(x)
        >>> x.tolist()  # of the one process that this example has
        [1.0, 2.0]
    """
    return _collectives._all_reduce(tensor, op, group, sync_op, use_calc_stream)


def reduce(tensor, dst=0, op=ReduceOp.SUM, group=None, sync_op=True, use_calc_stream=False):
    """all_reduce for process dst only; the others' tensors stay as they are, as distributed.reduce does.

    Args:
        tensor (Tensor): Of the same shape and dtype everywhere; written in place at dst.
        dst (int): A process, by its number among all.
        op (int): A ReduceOp.
        group (Group, optional): Whose processes; all by default.
        sync_op (bool): Whether to wait; otherwise the task that is returned has `wait`.
        use_calc_stream (bool): Only with sync_op; changes nothing on the CPU.

    Returns:
        The task of the call, done if sync_op; None where this process is no member of the group.

    Raises:
        RuntimeError: use_calc_stream without sync_op.

    Example:
        >>> import argosy as paddle
        >>> x = paddle.to_tensor([1.0, 2.0])
        >>> task = paddle.distributed.stream.reduce(x, dst=0)
    """
    return _collectives._reduce(tensor, dst, op, group, sync_op, use_calc_stream)


def broadcast(tensor, src, group=None, sync_op=True, use_calc_stream=False):
    """Lets tensor be that of process src, as distributed.broadcast does.

    Args:
        tensor (Tensor): Of the same shape and dtype everywhere; written in place.
        src (int): A process, by its number among all.
        group (Group, optional): Whose processes; all by default.
        sync_op (bool): Whether to wait; otherwise the task that is returned has `wait`.
        use_calc_stream (bool): Only with sync_op; changes nothing on the CPU.

    Returns:
        The task of the call, done if sync_op; None where this process is no member of the group.

    Raises:
        RuntimeError: use_calc_stream without sync_op.

    Example:
        >>> import argosy as paddle
        >>> x = paddle.to_tensor([1.0, 2.0])
        >>> task = paddle.distributed.stream.broadcast(x, src=0)
    """
    return _collectives._broadcast(tensor, src, group, sync_op, use_calc_stream)


def all_gather(tensor_or_tensor_list, tensor, group=None, sync_op=True, use_calc_stream=False):
    """Gives each process all processes' tensors, in the order of the group, as distributed.all_gather does.

    Args:
        tensor_or_tensor_list (list[Tensor] | Tensor): Filled if it is empty; otherwise its tensors are written. Their sizes
            may differ where the processes' tensors do. A tensor gets them one after the other along its first
            axis.
        tensor (Tensor): This process's.
        group (Group, optional): Whose processes; all by default.
        sync_op (bool): Whether to wait; otherwise the task that is returned has `wait`.
        use_calc_stream (bool): Only with sync_op; changes nothing on the CPU.

    Returns:
        The task of the call, done if sync_op; None where this process is no member of the group.

    Raises:
        RuntimeError: use_calc_stream without sync_op.

    Example:
        >>> import argosy as paddle
        >>> x = paddle.to_tensor([1.0, 2.0])
        >>> parts = []
        >>> task = paddle.distributed.stream.all_gather(parts, x)
        >>> len(parts)
        1
    """
    return _collectives._all_gather(tensor_or_tensor_list, tensor, group, sync_op, use_calc_stream)


def gather(tensor, gather_list=None, dst=0, group=None, sync_op=True, use_calc_stream=False):
    """all_gather for process dst only, as distributed.gather does.

    Args:
        tensor (Tensor): This process's.
        gather_list (list[Tensor], optional): Needed at dst: as tensor_list of all_gather.
        dst (int): A process, by its number among all.
        group (Group, optional): Whose processes; all by default.
        sync_op (bool): Whether to wait; otherwise the task that is returned has `wait`.
        use_calc_stream (bool): Only with sync_op; changes nothing on the CPU.

    Returns:
        The task of the call, done if sync_op; None where this process is no member of the group.

    Raises:
        RuntimeError: use_calc_stream without sync_op.

    Example:
        >>> import argosy as paddle
        >>> x = paddle.to_tensor([1.0, 2.0])
        >>> parts = []
        >>> task = paddle.distributed.stream.gather(x, parts, dst=0)
    """
    return _collectives._gather(tensor, gather_list, dst, group, sync_op, use_calc_stream)


def scatter(
    tensor, tensor_or_tensor_list=None, src=0, group=None, sync_op=True, use_calc_stream=False
):
    """Writes the tensor that process src has for this one in its list into tensor, as distributed.scatter does.

    Args:
        tensor (Tensor): Written.
        tensor_or_tensor_list (list[Tensor] | Tensor, optional): Needed at src: one for each process, or a tensor whose rows
            they share.
        src (int): A process, by its number among all.
        group (Group, optional): Whose processes; all by default.
        sync_op (bool): Whether to wait; otherwise the task that is returned has `wait`.
        use_calc_stream (bool): Only with sync_op; changes nothing on the CPU.

    Returns:
        The task of the call, done if sync_op; None where this process is no member of the group.

    Raises:
        RuntimeError: use_calc_stream without sync_op.

    Example:
        >>> import argosy as paddle
        >>> x = paddle.to_tensor([1.0, 2.0])
        >>> task = paddle.distributed.stream.scatter(x, [paddle.ones([2])], src=0)
        >>> x.tolist()
        [1.0, 1.0]
    """
    return _collectives._scatter(
        tensor, tensor_or_tensor_list, src, group, sync_op, use_calc_stream
    )


def reduce_scatter(
    tensor,
    tensor_or_tensor_list,
    op=ReduceOp.SUM,
    group=None,
    sync_op=True,
    use_calc_stream=False,
):
    """Reduces the processes' lists, tensor by tensor, and gives each process its tensor, as distributed.reduce_scatter does.

    Args:
        tensor (Tensor): Written.
        tensor_or_tensor_list (list[Tensor] | Tensor): One for each process, or a tensor whose rows they share.
        op (int): A ReduceOp.
        group (Group, optional): Whose processes; all by default.
        sync_op (bool): Whether to wait; otherwise the task that is returned has `wait`.
        use_calc_stream (bool): Only with sync_op; changes nothing on the CPU.

    Returns:
        The task of the call, done if sync_op; None where this process is no member of the group.

    Raises:
        RuntimeError: use_calc_stream without sync_op.

    Example:
        >>> import argosy as paddle
        >>> x = paddle.to_tensor([1.0, 2.0])
        >>> task = paddle.distributed.stream.reduce_scatter(x, [paddle.ones([2])])
        >>> x.tolist()
        [1.0, 1.0]
    """
    return _collectives._reduce_scatter(
        tensor, tensor_or_tensor_list, op, group, sync_op, use_calc_stream
    )


def alltoall(
    out_tensor_or_tensor_list,
    in_tensor_or_tensor_list,
    group=None,
    sync_op=True,
    use_calc_stream=False,
):
    """Sends tensor i of a list to process i, and receives one of each, as distributed.alltoall does.

    Args:
        out_tensor_or_tensor_list (list[Tensor]): Filled with tensors like the input's if it is empty; otherwise its tensors are
            written, of any sizes.
        in_tensor_or_tensor_list (list[Tensor]): One for each process.
        group (Group, optional): Whose processes; all by default.
        sync_op (bool): Whether to wait; otherwise the task that is returned has `wait`.
        use_calc_stream (bool): Only with sync_op; changes nothing on the CPU.

    Returns:
        The task of the call, done if sync_op; None where this process is no member of the group.

    Raises:
        RuntimeError: use_calc_stream without sync_op.

    Example:
        >>> import argosy as paddle
        >>> x = paddle.to_tensor([1.0, 2.0])
        >>> parts = []
        >>> task = paddle.distributed.stream.alltoall(parts, [x])
    """
    return _collectives._alltoall(
        out_tensor_or_tensor_list, in_tensor_or_tensor_list, group, sync_op, use_calc_stream
    )


def alltoall_single(
    out_tensor,
    in_tensor,
    out_split_sizes=None,
    in_split_sizes=None,
    group=None,
    sync_op=True,
    use_calc_stream=False,
):
    """Sends part i of in_tensor's rows to process i and joins what comes in out_tensor, as distributed.alltoall_single does.

    Args:
        out_tensor (Tensor): Written.
        in_tensor (Tensor): What is sent.
        in_split_sizes (list[int], optional): Rows for each process; equally many by default.
        out_split_sizes (list[int], optional): Rows of each process; equally many by default.
        group (Group, optional): Whose processes; all by default.
        sync_op (bool): Whether to wait; otherwise the task that is returned has `wait`.
        use_calc_stream (bool): Only with sync_op; changes nothing on the CPU.

    Returns:
        The task of the call, done if sync_op; None where this process is no member of the group.

    Raises:
        RuntimeError: use_calc_stream without sync_op.

    Example:
        >>> import argosy as paddle
        >>> x = paddle.to_tensor([1.0, 2.0])
        >>> task = paddle.distributed.stream.alltoall_single(paddle.zeros([2]), x)
    """
    return _collectives._alltoall_single(
        out_tensor, in_tensor, in_split_sizes, out_split_sizes, group, sync_op, use_calc_stream
    )


def send(tensor, dst=0, group=None, sync_op=True, use_calc_stream=False):
    """Sends a tensor to process dst, as distributed.send does.

    Args:
        tensor (Tensor): What is sent.
        dst (int): The other process, by its number among all.
        group (Group, optional): Whose processes; all by default.
        sync_op (bool): Whether to wait; otherwise the task that is returned has `wait`.
        use_calc_stream (bool): Only with sync_op; changes nothing on the CPU.

    Returns:
        The task of the call, done if sync_op; None where this process is no member of the group.

    Raises:
        RuntimeError: The program runs alone.

    Example:
        >>> import argosy as paddle
        >>> def exchange(rank):  # in each of two processes
        ...     x = paddle.full([2], rank)
        ...     if rank == 0:
        ...         paddle.distributed.stream.send(x, dst=1)
        ...     else:
        ...         paddle.distributed.stream.recv(x, src=0)
    """
    return transfer("distributed.send", "send", tensor, dst, group, sync_op, use_calc_stream)


def recv(tensor, src=0, group=None, sync_op=True, use_calc_stream=False):
    """Receives a tensor of process src, as distributed.recv does.

    Args:
        tensor (Tensor): Written.
        src (int): The other process, by its number among all.
        group (Group, optional): Whose processes; all by default.
        sync_op (bool): Whether to wait; otherwise the task that is returned has `wait`.
        use_calc_stream (bool): Only with sync_op; changes nothing on the CPU.

    Returns:
        The task of the call, done if sync_op; None where this process is no member of the group.

    Raises:
        RuntimeError: The program runs alone.

    Example:
        >>> import argosy as paddle
        >>> def exchange(rank):  # in each of two processes
        ...     x = paddle.full([2], rank)
        ...     if rank == 0:
        ...         paddle.distributed.stream.send(x, dst=1)
        ...     else:
        ...         paddle.distributed.stream.recv(x, src=0)
    """
    return transfer("distributed.recv", "recv", tensor, src, group, sync_op, use_calc_stream)
