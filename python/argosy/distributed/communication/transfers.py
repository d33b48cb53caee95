"""Tensors from one process to another. Those of a pair of processes come in the order of sending."""

from __future__ import annotations

from argosy.distributed._groups import Group, is_initialized, member

from . import _calls

__all__ = []


def _peer(what, group, rank):
    number = member(what, group, rank) if group.nranks > 1 or is_initialized() else -1
    if group.nranks == 1:
        raise RuntimeError(
            f"[{what}] there is no other process: this program runs alone. Do this: leave the call out"
            " where get_world_size() is 1."
        )
    if number == group.rank:
        raise ValueError(
            f"[{what}] expected another process, got this one, {rank}. Do this: copy the tensor."
        )
    return number


def transfer(what, kind, tensor, rank, group, sync_op, use_calc_stream=False):
    group = _calls.entered(what, group, sync_op, use_calc_stream)
    tensor = _calls.tensor_of(what, "tensor", tensor)
    if group is None:
        return None
    peer = _peer(what, group, rank)
    given = {"inputs": [tensor]} if kind == "send" else {"outputs": [tensor]}
    return _calls.call(group, kind, root=peer, sync_op=sync_op, **given)


def send(tensor, dst=0, group=None, sync_op=True):
    """Sends a tensor to process dst, which receives it into one of its shape and dtype.

    It returns when the tensor may be changed again: small ones before they are received.

    Args:
        tensor (Tensor): What is sent.
        dst (int): The other process, by its number among all.
        group (Group, optional): Whose processes; all by default.
        sync_op (bool): Whether to wait; otherwise the task that is returned has `wait`.

    Returns:
        The task of the call, done if sync_op; None where this process is no member of the group.

    Raises:
        RuntimeError: The program runs alone.

    Example:
        >>> import argosy as paddle
        >>> def exchange(rank):  # in each of two processes
        ...     x = paddle.full([2], rank)
        ...     if rank == 0:
        ...         paddle.distributed.send(x, dst=1)
        ...     else:
        ...         paddle.distributed.recv(x, src=0)
    """
    return transfer("distributed.send", "send", tensor, dst, group, sync_op)


def recv(tensor, src=0, group=None, sync_op=True):
    """Receives a tensor of process src.

    Args:
        tensor (Tensor): Written; of the shape and dtype that are sent.
        src (int): The other process, by its number among all.
        group (Group, optional): Whose processes; all by default.
        sync_op (bool): Whether to wait; otherwise the task that is returned has `wait`.

    Returns:
        The task of the call, done if sync_op; None where this process is no member of the group.

    Raises:
        RuntimeError: The program runs alone.

    Example:
        >>> import argosy as paddle
        >>> def exchange(rank):  # in each of two processes
        ...     x = paddle.full([2], rank)
        ...     if rank == 0:
        ...         paddle.distributed.send(x, dst=1)
        ...     else:
        ...         paddle.distributed.recv(x, src=0)
    """
    return transfer("distributed.recv", "recv", tensor, src, group, sync_op)


def isend(tensor, dst, group=None):
    """send without waiting.

    Args:
        tensor (Tensor): What is sent; not to be changed before it is.
        dst (int): The other process, by its number among all.
        group (Group, optional): Whose processes; all by default.

    Returns:
        The task, which has `wait`.

    Raises:
        RuntimeError: The program runs alone.

    Example:
        >>> import argosy as paddle
        >>> def exchange(rank):  # in each of two processes
        ...     x, y = paddle.full([2], rank), paddle.zeros([2])
        ...     tasks = [paddle.distributed.isend(x, 1 - rank), paddle.distributed.irecv(y, 1 - rank)]
        ...     for task in tasks:
        ...         task.wait()
    """
    return transfer("distributed.isend", "send", tensor, dst, group, False)


def irecv(tensor, src=None, group=None):
    """recv without waiting.

    Args:
        tensor (Tensor): Written; of the shape and dtype that are sent.
        src (int): The other process, by its number among all.
        group (Group, optional): Whose processes; all by default.

    Returns:
        The task, which has `wait`.

    Raises:
        RuntimeError: The program runs alone.

    Example:
        >>> import argosy as paddle
        >>> def exchange(rank):  # in each of two processes
        ...     x, y = paddle.full([2], rank), paddle.zeros([2])
        ...     tasks = [paddle.distributed.isend(x, 1 - rank), paddle.distributed.irecv(y, 1 - rank)]
        ...     for task in tasks:
        ...         task.wait()
    """
    return transfer("distributed.irecv", "recv", tensor, src, group, False)


class P2POp:
    """A transfer for batch_isend_irecv.

    Args:
        op (callable): distributed.isend or distributed.irecv.
        tensor (Tensor): What is sent, or received into.
        peer (int): The other process's number among all.
        group (Group, optional): Whose processes; all by default.

    Raises:
        RuntimeError: op is something else.
        TypeError: group is no Group.

    Example:
        >>> import argosy as paddle
        >>> from argosy.distributed import P2POp, batch_isend_irecv, irecv, isend
        >>> def exchange(rank):  # in each of two processes
        ...     x, y = paddle.full([2], rank), paddle.zeros([2])
        ...     for task in batch_isend_irecv([P2POp(isend, x, 1 - rank), P2POp(irecv, y, 1 - rank)]):
        ...         task.wait()
    """

    def __init__(self, op, tensor, peer, group=None):
        what = "distributed.P2POp"
        if op not in (isend, irecv):
            raise RuntimeError(
                f"[{what}] op: expected distributed.isend or distributed.irecv, got {op!r}."
            )
        if not isinstance(group, (Group, type(None))):
            raise TypeError(f"[{what}] group: expected a Group, got {type(group).__name__}.")
        self.op = op
        self.tensor = _calls.tensor_of(what, "tensor", tensor)
        self.peer = peer
        self.group = group


def batch_isend_irecv(p2p_op_list):
    """Starts transfers, in any order.

    Args:
        p2p_op_list (list[P2POp]): One at least.

    Returns:
        A task for each.

    Raises:
        RuntimeError: p2p_op_list is no such list.

    Example:
        >>> import argosy as paddle
        >>> from argosy.distributed import P2POp, batch_isend_irecv, irecv, isend
        >>> def exchange(rank):  # in each of two processes
        ...     x, y = paddle.full([2], rank), paddle.zeros([2])
        ...     for task in batch_isend_irecv([P2POp(isend, x, 1 - rank), P2POp(irecv, y, 1 - rank)]):
        ...         task.wait()
    """
    what = "distributed.batch_isend_irecv"
    if not isinstance(p2p_op_list, (list, tuple)) or not p2p_op_list:
        raise RuntimeError(f"[{what}] p2p_op_list: expected a list of P2POp, got {p2p_op_list!r}.")
    for item in p2p_op_list:
        if not isinstance(item, P2POp):
            raise RuntimeError(
                f"[{what}] p2p_op_list: expected P2POp only, got {type(item).__name__}."
            )
    tasks = [item.op(item.tensor, item.peer, item.group) for item in p2p_op_list]
    return [task for task in tasks if task is not None]
