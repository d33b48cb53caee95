"""Exchanging objects: they are pickled, so only processes of this job can send them, which is what
connecting them checks (init_parallel_env)."""

from __future__ import annotations

import os
import pickle

import numpy as np

from argosy import _core
from argosy.distributed._groups import member

from . import _calls

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


def all_gather_object(object_list, obj, group=None):
    """Appends each process's object to object_list.

    Args:
        object_list (list): Extended, in the order of the group.
        obj: Something that can be pickled.
        group (Group, optional): Whose processes; all by default.

    Example:
        >>> import argosy as paddle
        >>> objects = []
        >>> paddle.distributed.all_gather_object(objects, {"rank": 0})
        >>> objects
        [{'rank': 0}]
    """
    group = _entered("distributed.all_gather_object", group)
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
    if not isinstance(object_list, list):
        raise TypeError(
            f"[{what}] object_list: expected a list, got"
            f" {type(object_list).__name__}. Do this: put the objects into one."
        )
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
