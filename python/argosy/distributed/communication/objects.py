"""Exchanging objects: they are pickled, so only processes of this job can send them, which is what
connecting them checks (init_parallel_env)."""

from __future__ import annotations

import os
import pickle

import numpy as np

from argosy import _core
from argosy.distributed._groups import member

from . import _calls, transfers

__all__ = []


def _tensor(array):
    return _core.to_tensor(array, None, True)  # holds values in static mode too


def _packed(obj):
    return _tensor(np.frombuffer(pickle.dumps(obj), dtype=np.uint8))


def _unpacked(tensor):
    return pickle.loads(tensor.numpy().tobytes())


def _number(value=0):
    return _tensor(np.array([value], dtype=np.int64))


def _value(tensor):
    return int(tensor.numpy()[0])


def _bytes(count):
    return _tensor(np.empty([count], dtype=np.uint8))


def _entered(what, group):
    """The group, None where this process is no member. Pickles run code: between hosts they are taken
    only from who has proved that it belongs to the job."""
    group = _calls.entered(what, group)
    handle = group and group.process_group
    if handle and _core.comm_info(handle)[3] == "tcp" and not os.environ.get("ARGOSY_JOB_TOKEN"):
        raise PermissionError(
            f"[{what}] objects are pickled, and between hosts anybody could send some: expected the job to"
            " have a secret, got none. Do this: set ARGOSY_JOB_TOKEN to the same text on all hosts."
        )
    return group


def _check_list(what, name, value):
    """Refuses what objects cannot be put into, before anything is exchanged."""
    if not isinstance(value, list):
        raise TypeError(
            f"[{what}] {name}: expected a list, got {type(value).__name__}. Do this: put the objects into"
            " one."
        )


def all_gather_object(object_list, obj, group=None):
    """Appends each process's object to object_list.

    Args:
        object_list (list): Extended, in the order of the group.
        obj: Something that can be pickled.
        group (Group, optional): Whose processes; all by default.

    Raises:
        TypeError: object_list is no list.

    Example:
        >>> import argosy as paddle
        >>> objects = []
        >>> paddle.distributed.all_gather_object(objects, {"rank": 0})
        >>> objects
        [{'rank': 0}]
    """
    what = "distributed.all_gather_object"
    group = _entered(what, group)
    _check_list(what, "object_list", object_list)
    if group is None:
        return
    data = _packed(obj)
    sizes = [_number() for _ in group.ranks]
    _calls.call(group, "all_gather", [_number(data.size)], sizes)
    parts = [_bytes(_value(size)) for size in sizes]
    _calls.call(group, "all_gather_unequal", [data], parts)
    object_list.extend(_unpacked(part) for part in parts)


def broadcast_object_list(object_list, src, group=None):
    """Lets the objects of the list be those of process src.

    Args:
        object_list (list): Written.
        src (int): A process, by its number among all.
        group (Group, optional): Whose processes; all by default.

    Raises:
        TypeError: object_list is no list.

    Example:
        >>> import argosy as paddle
        >>> paddle.distributed.broadcast_object_list([1, "two"], src=0)
    """
    what = "distributed.broadcast_object_list"
    group = _entered(what, group)
    _check_list(what, "object_list", object_list)
    if group is None:
        return
    root = member(what, group, src)
    data = _packed(object_list) if group.rank == root else None
    size = _number(0 if data is None else data.size)
    _calls.call(group, "broadcast", [size], root=root)
    if data is None:
        data = _bytes(_value(size))
    _calls.call(group, "broadcast", [data], root=root)
    if group.rank != root:
        object_list[:] = _unpacked(data)


def scatter_object_list(out_object_list, in_object_list=None, src=0, group=None):
    """Lets out_object_list hold the object that process src has for this one.

    Args:
        out_object_list (list): Written.
        in_object_list (list, optional): Needed at src: an object for each process.
        src (int): A process, by its number among all.
        group (Group, optional): Whose processes; all by default.

    Raises:
        TypeError: out_object_list is no list.
        ValueError: in_object_list has another length.

    Example:
        >>> import argosy as paddle
        >>> objects = []
        >>> paddle.distributed.scatter_object_list(objects, ["mine"], src=0)
        >>> objects
        ['mine']
    """
    what = "distributed.scatter_object_list"
    group = _entered(what, group)
    _check_list(what, "out_object_list", out_object_list)
    if group is None:
        return
    root = member(what, group, src)
    parts = []
    if group.rank == root:
        count = len(in_object_list) if isinstance(in_object_list, (list, tuple)) else 0
        if count != group.nranks:
            raise ValueError(
                f"[{what}] in_object_list: expected {group.nranks} objects, one for each process of the"
                f" group, got {count}."
            )
        parts = [_packed(obj) for obj in in_object_list]
    size = _number()
    _calls.call(group, "scatter", [_number(p.size) for p in parts], [size], root=root)
    nothing = [_bytes(0) for _ in group.ranks]
    received = list(nothing)
    received[root] = _bytes(_value(size))
    _calls.call(group, "alltoall", parts or nothing, received)
    out_object_list[:] = [_unpacked(received[root])]


def _peer(what, group, name, rank, in_group):
    """The other process, by its number among all, which is given in one way of two."""
    if in_group is None:
        return 0 if rank is None else rank
    if rank is not None:
        raise ValueError(
            f"[{what}] expected {name} or {name}_in_group, got both. Do this: leave one of them out."
        )
    if not hasattr(in_group, "__index__") or not 0 <= in_group < group.nranks:
        raise ValueError(
            f"[{what}] {name}_in_group: expected a number below {group.nranks}, got {in_group!r}. Do this:"
            " pass the place of a member."
        )
    return group.ranks[in_group]


def _need_objects(what, object_list):
    if not isinstance(object_list, (list, tuple)) or not object_list:
        have = "none" if isinstance(object_list, (list, tuple)) else type(object_list).__name__
        raise ValueError(
            f"[{what}] object_list: expected a list of one object at least, got {have}. Do this: put the"
            " objects into one."
        )


def send_object_list(object_list, dst=None, group=None, dst_in_group=None):
    """Sends objects to one process.

    Args:
        object_list (list): What can be pickled; one at least.
        dst (int, optional): The other process, by its number among all; 0 by default.
        group (Group, optional): Whose processes; all by default.
        dst_in_group (int, optional): Instead of dst: its place in the group.

    Raises:
        ValueError: object_list is empty, or both dst and dst_in_group are given.

    Example:
        >>> import argosy as paddle
        >>> def exchange(rank):  # in each of two processes
        ...     if rank == 0:
        ...         paddle.distributed.send_object_list(["one", {"two": 2}], dst=1)
        ...     else:
        ...         objects = [None, None]
        ...         paddle.distributed.recv_object_list(objects, src=0)
    """
    what = "distributed.send_object_list"
    _need_objects(what, object_list)
    group = _entered(what, group)
    if group is None:
        return
    peer = _peer(what, group, "dst", dst, dst_in_group)
    data = _packed(list(object_list))
    sizes = _tensor(np.array([len(object_list), data.size], dtype=np.int64))
    transfers.transfer(what, "send", sizes, peer, group, True)
    transfers.transfer(what, "send", data, peer, group, True)


def recv_object_list(object_list, src=None, group=None, src_in_group=None):
    """Receives the objects of send_object_list.

    Args:
        object_list (list): Written; as long as the list that is sent.
        src (int, optional): The other process, by its number among all; 0 by default.
        group (Group, optional): Whose processes; all by default.
        src_in_group (int, optional): Instead of src: its place in the group.

    Raises:
        ValueError: object_list is empty or has another length, or both src and src_in_group are given.

    Example:
        >>> import argosy as paddle
        >>> def exchange(rank):  # in each of two processes
        ...     if rank == 0:
        ...         paddle.distributed.send_object_list(["one", {"two": 2}], dst=1)
        ...     else:
        ...         objects = [None, None]
        ...         paddle.distributed.recv_object_list(objects, src=0)
    """
    what = "distributed.recv_object_list"
    _need_objects(what, object_list)
    group = _entered(what, group)
    if group is None:
        return
    peer = _peer(what, group, "src", src, src_in_group)
    sizes = _tensor(np.zeros([2], dtype=np.int64))
    transfers.transfer(what, "recv", sizes, peer, group, True)
    count, size = (int(n) for n in sizes.numpy())
    data = _bytes(size)
    transfers.transfer(what, "recv", data, peer, group, True)
    if count != len(object_list):
        raise ValueError(
            f"[{what}] object_list: expected room for the {count} objects that process {peer} sends, got"
            f" {len(object_list)}. Do this: pass a list of that length."
        )
    object_list[:] = _unpacked(data)
