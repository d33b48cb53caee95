"""The processes of a job: how they are connected, and the groups of them."""

from __future__ import annotations

import atexit
import datetime
import itertools
import os
import warnings
from collections.abc import Iterable
from numbers import Integral

from argosy import _core, device
from argosy._job import get_rank, get_world_size, number_of
from argosy._support import check_choice, need_type, no_effect
from argosy._waits import checked_seconds

from . import _meeting

__all__ = []

_groups = {}  # by number; 0: of all, once they are connected
_numbers = itertools.count(1)  # of groups: none comes twice, and they are the same in all processes
_alone = None  # of this process, for a program that runs alone

# How an all_reduce may go between hosts (comm/choice.h).
ALGORITHMS = ("automatic", "direct", "shares", "ring", "doubling", "halving", "tree")


class Group:
    """Processes that exchange tensors with each other.

    Args:
        rank_in_group (int): Number of this process in the group, -1 if it is no member.
        id (int): Number of the group; 0 is that of all processes.
        ranks (list): The members' numbers among all processes.
        pg: The connection; None without one.
        name (str, optional): For people.

    Example:
        >>> import argosy as paddle
        >>> group = paddle.distributed.new_group([0])
        >>> group.nranks
        1
    """

    def __init__(self, rank_in_group=0, id=0, ranks=(0,), pg=None, name=None):
        self.rank = rank_in_group
        self.id = id
        self.ranks = list(ranks)
        self.process_group = pg
        self.name = name or f"_default_pg{id}"
        self._tasks = []  # under way: what wait() waits for
        if pg is not None:
            _core.comm_enter(id, pg)  # for operations of Programs

    @property
    def nranks(self):
        """How many members."""
        return len(self.ranks)

    @property
    def world_size(self):
        """How many members; -1 where this process is none of them."""
        return self.nranks if self.is_member() else -1

    def is_member(self):
        """Whether this process belongs to the group.

        Returns:
            bool

        Example:
            >>> import argosy as paddle
            >>> group = paddle.distributed.new_group([0])
            >>> group.is_member()
            True
        """
        return self.rank >= 0

    def get_group_rank(self, rank):
        """A process's number in the group.

        Args:
            rank (int): Its number among all processes.

        Returns:
            int: -1 if it is no member.

        Example:
            >>> import argosy as paddle
            >>> group = paddle.distributed.new_group([0])
            >>> group.get_group_rank(5)
            -1
        """
        return self.ranks.index(rank) if rank in self.ranks else -1

    def get_global_rank(self, rank):
        """A member's number among all processes.

        Args:
            rank (int): Its number in the group.

        Returns:
            int: -1 if there is no such member.

        Example:
            >>> import argosy as paddle
            >>> group = paddle.distributed.new_group([0])
            >>> group.get_global_rank(0)
            0
        """
        return self.ranks[rank] if rank in range(self.nranks) else -1

    def __repr__(self):
        return f"rank: {self.rank}, nranks: {self.nranks}, id: {self.id}, ranks: {self.ranks}"


def _limit():
    """Most seconds to wait for another process."""
    milliseconds = number_of("PADDLE_PG_TIMEOUT", 0)
    if milliseconds:
        return checked_seconds("[environment] PADDLE_PG_TIMEOUT", milliseconds / 1000)
    return checked_seconds(
        "[environment] ARGOSY_COMM_TIMEOUT", _core.get_flag("ARGOSY_COMM_TIMEOUT")
    )


def connect_at(place, rank, size):
    """A connection of `size` processes of this host that meet at a place, a text that is theirs alone."""
    return _meeting.connect_on_host(place, rank, size, _limit())


def _connect_gpus(what, handle):
    """What the members have on GPUs goes from GPU to GPU from now on, where this process computes on one: all
    do, or none."""
    here = device.get_device()
    if not here.startswith("gpu"):
        return
    why = _core.comm_connect_devices(handle, device.to_place(here))
    if why:
        warnings.warn(
            f"[{what}] what is exchanged between GPUs goes through the host: {why}", stacklevel=4
        )


def connect():
    """Connects all processes of the job, once; their group."""
    if 0 not in _groups:
        rank, size = get_rank(), get_world_size()
        handle = _meeting.connect(_limit())
        _connect_gpus("init_parallel_env", handle)
        _groups[0] = Group(rank, 0, range(size), handle)
    return _groups[0]


def connect_alone():
    """The group of a program that runs alone, by NCCL where it computes on a GPU."""
    group = default_group("init_parallel_env")
    if not _core.comm_devices(group.process_group):
        _connect_gpus("init_parallel_env", group.process_group)
    return group


def is_initialized():
    """Whether this process is connected with the others of its job: init_parallel_env has been called, and
    the program does not run alone.

    Returns:
        bool

    Example:
        >>> import argosy as paddle
        >>> paddle.distributed.is_initialized()
        False
    """
    return 0 in _groups


def default_group(what):
    """The group that functions take for None."""
    global _alone
    if 0 in _groups:
        return _groups[0]
    if get_world_size() > 1:
        raise RuntimeError(
            f"[{what}] this process is one of {get_world_size()} (PADDLE_TRAINERS_NUM), and they are not"
            " connected yet. Do this: call paddle.distributed.init_parallel_env() before."
        )
    if _alone is None:
        _alone = Group(0, 0, [0], _core.comm_connect(0, 1, "", "", "", _limit()))
    return _alone


_of_parents = []  # groups whose threads are not here: who destroyed one would wait for those for ever


def _forget_alone():
    """A forked child that runs alone connects anew: the threads of its parent's group are not there."""
    global _alone
    if _alone is not None:
        _of_parents.append(_alone)
    _alone = None


os.register_at_fork(after_in_child=_forget_alone)


def checked_group(what, group):
    """`group`, or that of all processes. None, and a warning, where this process is no member."""
    if not isinstance(group, (Group, type(None))):
        raise TypeError(
            f"[{what}] group: expected a Group, got {type(group).__name__}. Do this: pass what new_group"
            " returned, or None."
        )
    if group is None or (group.id == 0 and group.process_group is None):
        return default_group(what)
    if not group.is_member():
        warnings.warn(
            f"[{what}] process {get_rank()} is no member of {group}: the call does nothing here.",
            stacklevel=3,
        )
        return None
    if group.process_group is None:
        raise RuntimeError(
            f"[{what}] {group} was destroyed, or has no connection. Do this: make it by new_group."
        )
    return group


def member(what, group, rank):
    """The number in the group of process `rank`, which has to be a member."""
    number = group.get_group_rank(rank)
    if number < 0:
        need_type(what, "the number of a process", rank, Integral, "pass its number among all")
        if group.nranks == 1 and not is_initialized():
            raise ValueError(
                f"[{what}] there is no process {rank}: this program runs alone, as process 0. Do"
                " this: pass 0, or leave the call out where get_world_size() is 1."
            )
        raise ValueError(
            f"[{what}] expected a process of the group, one of {group.ranks}, got {rank}. Do this: pass"
            " its number among all processes."
        )
    return number


def new_group(
    ranks=None,
    backend=None,
    timeout=None,
    nccl_comm_init_option=0,
    nccl_config=None,
    algorithm=None,
):
    """A group of some processes. All processes of the job call it, members or not.

    Args:
        ranks (list[int], optional): Their numbers among all processes, which are sorted; all by default.
        backend (str, optional): "gloo": also what is on GPUs goes through the host. Else it goes as in the
            group of all: by NCCL where processes computed on GPUs when they were connected. Tensors of the
            CPU always go through shared memory, and by TCP between hosts.
        timeout (datetime.timedelta, optional): Most that a call of the group waits for a process; by
            default what init_parallel_env found (ARGOSY_COMM_TIMEOUT, 300 s).
        nccl_comm_init_option (int): No effect.
        nccl_config (optional): No effect.
        algorithm (str, optional): How an all_reduce goes between hosts: automatic, direct, shares, ring,
            doubling, halving or tree, alike in all processes; by default as in the group of all
            (ARGOSY_COMM_ALGORITHM). Processes that share memory have one way: a warning says so.

    Returns:
        The Group; where this process is no member, its rank is -1 and calls do nothing.

    Raises:
        TypeError: ranks is no list of numbers, timeout no timedelta.
        ValueError: There is no such process, or algorithm.
        RanksDisagreeError: Processes called it with other ranks, or another algorithm.

    Example:
        >>> import argosy as paddle
        >>> group = paddle.distributed.new_group([0])
        >>> group.ranks
        [0]
    """
    what = "distributed.new_group"
    no_effect(
        what, "NCCL's own settings are used",
        nccl_comm_init_option=(nccl_comm_init_option, 0), nccl_config=(nccl_config, None),
    )  # fmt: skip
    if algorithm is not None:
        check_choice(what, "algorithm", algorithm, ALGORITHMS)
    seconds = _limit()
    if timeout is not None:
        if not isinstance(timeout, datetime.timedelta):
            raise TypeError(
                f"[{what}] timeout: expected a datetime.timedelta, got {type(timeout).__name__}."
            )
        seconds = checked_seconds(f"[{what}] timeout", timeout.total_seconds())
    world = default_group(what)
    by_nccl = bool(_core.comm_devices(world.process_group))
    if backend != ("nccl" if by_nccl else "gloo") and not (by_nccl and backend == "gloo"):
        no_effect(what, "the group goes as that of all processes does", backend=(backend, None))
    if ranks is None:
        ranks = world.ranks
    need_type(what, "ranks", ranks, Iterable, "pass a list of processes' numbers")
    ranks = list(ranks)
    for rank in ranks:
        member(what, world, rank)
    ranks.sort()
    number = next(_numbers)
    if not ranks:
        _groups[number] = Group(-1, number, [])
        return _groups[number]
    handle = _core.comm_subgroup(world.process_group, ranks, seconds, algorithm or "")
    if handle is not None and _core.comm_info(handle)[3] != "tcp":
        no_effect(what, "processes that share memory have one way", algorithm=(algorithm, None))
    if handle is not None and by_nccl and backend != "gloo":
        _connect_gpus(what, handle)
    place = ranks.index(world.rank) if handle is not None else -1
    _groups[number] = Group(place, number, ranks, handle)
    return _groups[number]


def get_group(id=0):
    """The group with this number.

    Args:
        id (int): 0 for the group of all processes.

    Returns:
        The Group, None if there is none.

    Example:
        >>> import argosy as paddle
        >>> paddle.distributed.get_group(0).nranks
        1
    """
    if id == 0 and 0 not in _groups:
        return default_group("distributed.get_group") if get_world_size() == 1 else None
    return _groups.get(id)


def destroy_process_group(group=None):
    """Ends a group, or all of them: who calls something of it afterwards, or waits for this process there, gets
    an error.

    Args:
        group (Group, optional): All groups by default.

    Example:
        >>> import argosy as paddle
        >>> group = paddle.distributed.new_group([0])
        >>> paddle.distributed.destroy_process_group(group)
    """
    global _alone
    everything = group is None or group.id == 0
    for known in sorted(_groups.values(), key=lambda g: -g.id) if everything else [group]:
        if _groups.get(known.id) is known:
            del _groups[known.id]
        if known.process_group is not None:
            _core.comm_close(known.process_group)
            known.process_group = None
    if everything and _alone is not None:
        _core.comm_close(_alone.process_group)
        _alone = None


def shutdown_process_group(group=None):
    """Would free what a group holds on GPUs until it is used again: a group holds nothing there, and stays.

    Args:
        group (Group, optional): All groups by default.

    Raises:
        TypeError: It is none.

    Example:
        >>> argosy.distributed.shutdown_process_group()
    """
    if group is not None:
        need_type("distributed.shutdown_process_group", "group", group, Group, "pass a group")


def restart_process_group(group=None):
    """Undoes shutdown_process_group, after which a group is as it was.

    Args:
        group (Group, optional): All groups by default.

    Raises:
        TypeError: It is none.

    Example:
        >>> argosy.distributed.restart_process_group()
    """
    if group is not None:
        need_type("distributed.restart_process_group", "group", group, Group, "pass a group")


def create_nccl_config(nccl_config=None):
    """Settings of NCCL: none, as it goes by its own, which environment variables (NCCL_..) change.

    Args:
        nccl_config (dict, optional): No effect.

    Returns:
        None: What new_group takes as nccl_config.

    Example:
        >>> argosy.distributed.create_nccl_config()
    """
    no_effect(
        "distributed.create_nccl_config",
        "NCCL's own settings are used",
        nccl_config=(nccl_config, None),
    )


# Threads of groups end before the interpreter does.
atexit.register(destroy_process_group)


def get_backend(group=None):
    """What carries tensors between processes.

    Args:
        group (Group, optional): Whose processes; all by default.

    Returns:
        str: NCCL where what is on GPUs goes by it; else SHM, TCP where processes are on several hosts, NONE in
        a group of one.

    Example:
        >>> import argosy as paddle
        >>> paddle.distributed.get_backend()
        'NONE'
    """
    group = checked_group("distributed.get_backend", group)
    if group is not None and _core.comm_devices(group.process_group):
        return "NCCL"
    if group is None or group.nranks == 1:
        return "NONE"
    return _core.comm_info(group.process_group)[3].upper()
