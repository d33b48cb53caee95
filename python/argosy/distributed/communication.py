"""Exchanging tensors and objects between processes, for a program that runs alone.

A group then has one member: what it sends to all it gets back, and a reduction of one tensor is the
tensor. Started as one of several processes, each call raises, as init_parallel_env does.
"""

from __future__ import annotations

from argosy import tensor as tensors
from argosy._core import Tensor
from argosy._support import check_choice, no_effect, only_known, unsupported

__all__ = [
    "Group",
    "ReduceOp",
    "all_gather",
    "all_gather_object",
    "all_reduce",
    "alltoall",
    "alltoall_single",
    "barrier",
    "broadcast",
    "broadcast_object_list",
    "destroy_process_group",
    "gather",
    "get_backend",
    "get_group",
    "irecv",
    "isend",
    "new_group",
    "recv",
    "reduce",
    "reduce_scatter",
    "scatter",
    "scatter_object_list",
    "send",
    "spawn",
    "wait",
]


class ReduceOp:
    """How tensors of several processes become one."""

    SUM = 0
    MAX = 1
    MIN = 2
    PROD = 3
    AVG = 4


class Group:
    """Processes that exchange tensors with each other.

    Args:
        rank (int): Number of this process in the group, -1 if it is no member.
        id (int): Number of the group; 0 is that of all processes.
        ranks (list): The members' numbers among all processes.
    """

    def __init__(self, rank=0, id=0, ranks=(0,), name=None):
        self.rank = rank
        self.id = id
        self.ranks = list(ranks)
        self.name = name or f"_default_pg{id}"

    @property
    def nranks(self):
        """How many members."""
        return len(self.ranks)

    world_size = nranks

    @property
    def process_group(self):
        """Nothing: there is no connection behind a group of one."""
        return None

    def is_member(self):
        """Whether this process belongs to the group."""
        return self.rank >= 0

    def get_group_rank(self, rank):
        """The number in the group of process `rank`, -1 if it is no member."""
        return self.ranks.index(rank) if rank in self.ranks else -1

    def __repr__(self):
        return f"rank: {self.rank}, nranks: {self.nranks}, id: {self.id}, ranks: {self.ranks}"


class _Done:
    """What calls with sync_op=False give: it has been done already."""

    def wait(self):
        """Returns at once."""
        return True

    def is_completed(self):
        """True."""
        return True


_OPERATIONS = (ReduceOp.SUM, ReduceOp.MAX, ReduceOp.MIN, ReduceOp.PROD, ReduceOp.AVG)
_groups = {0: Group()}


def _alone(what, *ranks, group=None, op=ReduceOp.SUM, sync_op=True):
    """Checks what a call was given, in a program that runs alone: whether it waits is the same then."""
    from argosy.distributed.parallel import need_one_process

    need_one_process(what)
    if not isinstance(group, (Group, type(None))):
        raise TypeError(
            f"[{what}] group: expected a Group, got {type(group).__name__}. Do this: pass what new_group"
            " returned, or None."
        )
    check_choice(what, "op", op, _OPERATIONS)
    check_choice(what, "sync_op", sync_op, (True, False))
    for rank in ranks:
        if rank != 0:
            raise ValueError(
                f"[{what}] there is no process {rank}: this program runs alone, as process 0. Do"
                " this: pass 0, or leave the call out where get_world_size() is 1."
            )


def _tensor(what, name, value):
    if not isinstance(value, Tensor):
        raise TypeError(
            f"[{what}] {name}: expected a Tensor, got {type(value).__name__}. Do this: convert it"
            " by paddle.to_tensor."
        )
    return value


def _only(what, name, values):
    """The one tensor of a list of as many tensors as there are processes."""
    if not isinstance(values, (list, tuple)) or len(values) != 1:
        size = len(values) if isinstance(values, (list, tuple)) else type(values).__name__
        raise ValueError(
            f"[{what}] {name}: expected a list of one tensor, as there is one process, got {size}."
            " Do this: pass as many tensors as get_world_size() says."
        )
    return values[0]


def new_group(ranks=None, backend=None, timeout=None, nccl_comm_init_option=0, nccl_config=None):
    """A group of the processes with these numbers; None: of all."""
    no_effect(
        "distributed.new_group", "a group of one process has no connection", backend=(backend, None),
        timeout=(timeout, None), nccl_comm_init_option=(nccl_comm_init_option, 0),
        nccl_config=(nccl_config, None),
    )  # fmt: skip
    ranks = [0] if ranks is None else sorted(ranks)
    _alone("distributed.new_group", *ranks)
    number = max(_groups) + 1
    _groups[number] = Group(0 if ranks else -1, number, ranks)
    return _groups[number]


def get_group(id=0):
    """The group with this number, None if there is none."""
    return _groups.get(id)


def destroy_process_group(group=None):
    """Forgets a group; None: all that new_group made."""
    for number in [n for n in _groups if n and (group is None or n == group.id)]:
        del _groups[number]


def get_backend(group=None):
    """Name of what carries tensors between processes: nothing does."""
    _alone("distributed.get_backend", group=group)
    return "NONE"


def barrier(group=None):
    """Waits until all processes are here: at once."""
    _alone("distributed.barrier", group=group)


def wait(tensor, group=None, use_calc_stream=True):
    """Waits until a tensor has been exchanged: at once."""
    _alone("distributed.wait", group=group, sync_op=use_calc_stream)
    _tensor("distributed.wait", "tensor", tensor)


def all_reduce(tensor, op=ReduceOp.SUM, group=None, sync_op=True):
    """Lets tensor be the reduction of the processes' tensors: it stays as it is."""
    _alone("distributed.all_reduce", group=group, op=op, sync_op=sync_op)
    _tensor("distributed.all_reduce", "tensor", tensor)
    return _Done()


def reduce(tensor, dst, op=ReduceOp.SUM, group=None, sync_op=True):
    """all_reduce for process dst only."""
    _alone("distributed.reduce", dst, group=group, op=op, sync_op=sync_op)
    _tensor("distributed.reduce", "tensor", tensor)
    return _Done()


def broadcast(tensor, src, group=None, sync_op=True):
    """Lets tensor be that of process src: it stays as it is."""
    _alone("distributed.broadcast", src, group=group, sync_op=sync_op)
    _tensor("distributed.broadcast", "tensor", tensor)
    return _Done()


def broadcast_object_list(object_list, src, group=None):
    """Lets the objects be those of process src: they stay as they are."""
    _alone("distributed.broadcast_object_list", src, group=group)
    if not isinstance(object_list, list):
        raise TypeError(
            "[distributed.broadcast_object_list] object_list: expected a list, got"
            f" {type(object_list).__name__}. Do this: put the objects into one."
        )


def all_gather(tensor_list, tensor, group=None, sync_op=True):
    """Appends each process's tensor to tensor_list (or fills the list's tensors): a copy of tensor."""
    _alone("distributed.all_gather", group=group, sync_op=sync_op)
    _receive("distributed.all_gather", "tensor_list", tensor_list, tensor)
    return _Done()


def _receive(what, name, tensor_list, tensor):
    _tensor(what, "tensor", tensor)
    if isinstance(tensor_list, Tensor):
        tensors.assign(tensor, tensor_list)
    elif tensor_list:
        tensors.assign(tensor, _only(what, name, tensor_list))
    else:
        tensor_list.append(tensors.assign(tensor))


def all_gather_object(object_list, obj, group=None):
    """Appends each process's object to object_list: a copy of obj."""
    import copy

    _alone("distributed.all_gather_object", group=group)
    object_list.append(copy.deepcopy(obj))


def gather(tensor, gather_list=None, dst=0, group=None, sync_op=True):
    """all_gather for process dst only."""
    _alone("distributed.gather", dst, group=group, sync_op=sync_op)
    if gather_list is None:
        raise ValueError(
            "[distributed.gather] process dst needs gather_list, got None. Do this: pass an empty"
            " list."
        )
    _receive("distributed.gather", "gather_list", gather_list, tensor)
    return _Done()


def scatter(tensor, tensor_list=None, src=0, group=None, sync_op=True):
    """Writes the tensor that process src has for this one in its list into tensor."""
    _alone("distributed.scatter", src, group=group, sync_op=sync_op)
    tensors.assign(_only("distributed.scatter", "tensor_list", tensor_list), tensor)
    return _Done()


def scatter_object_list(out_object_list, in_object_list=None, src=0, group=None):
    """Lets out_object_list hold the object that process src has for this one."""
    _alone("distributed.scatter_object_list", src, group=group)
    out_object_list[:] = [
        _only("distributed.scatter_object_list", "in_object_list", in_object_list)
    ]


def reduce_scatter(tensor, tensor_list, op=ReduceOp.SUM, group=None, sync_op=True):
    """Reduces the processes' lists and gives each process its tensor."""
    _alone("distributed.reduce_scatter", group=group, op=op, sync_op=sync_op)
    if not isinstance(tensor_list, Tensor):
        tensor_list = _only("distributed.reduce_scatter", "tensor_list", tensor_list)
    tensors.assign(tensor_list, tensor)
    return _Done()


def alltoall(out_tensor_list, in_tensor_list, group=None, sync_op=True):
    """Sends tensor i of in_tensor_list to process i; those that come are appended."""
    _alone("distributed.alltoall", group=group, sync_op=sync_op)
    _receive(
        "distributed.alltoall",
        "out_tensor_list",
        out_tensor_list,
        _only("distributed.alltoall", "in_tensor_list", in_tensor_list),
    )
    return _Done()


def alltoall_single(
    out_tensor, in_tensor, in_split_sizes=None, out_split_sizes=None, group=None, sync_op=True
):
    """Sends part i of in_tensor to process i and joins what comes in out_tensor."""
    rows = in_tensor.shape[0] if in_tensor.ndim else 1
    for name, sizes in (("in_split_sizes", in_split_sizes), ("out_split_sizes", out_split_sizes)):
        if sizes and list(sizes) != [rows]:
            raise ValueError(
                f"[distributed.alltoall_single] {name}: expected [{rows}], all rows, as there is one"
                f" process, got {list(sizes)}. Do this: leave it out."
            )
    _alone("distributed.alltoall_single", group=group, sync_op=sync_op)
    tensors.assign(_tensor("distributed.alltoall_single", "in_tensor", in_tensor), out_tensor)
    return _Done()


def _nobody(what):
    _alone(what)
    raise RuntimeError(
        f"[{what}] there is no other process: this program runs alone. Do this: leave the call out"
        " where get_world_size() is 1."
    )


def send(tensor, dst=0, group=None, sync_op=True):
    """Sends a tensor to another process: there is none."""
    _nobody("distributed.send")


def recv(tensor, src=0, group=None, sync_op=True):
    """Receives a tensor of another process: there is none."""
    _nobody("distributed.recv")


def isend(tensor, dst, group=None):
    """send without waiting."""
    _nobody("distributed.isend")


def irecv(tensor, src=None, group=None):
    """recv without waiting."""
    _nobody("distributed.irecv")


class _Spawned:
    """A process that spawn started."""

    def __init__(self, process):
        self.processes = [process]

    def join(self, timeout=None):
        """Waits for the end. False if it has not come after `timeout` seconds.

        Raises:
            RuntimeError: the function did not return.
        """
        process = self.processes[0]
        process.join(timeout)
        if process.exitcode is None:
            return False
        if process.exitcode != 0:
            raise RuntimeError(
                f"[distributed.spawn] process {process.pid} ended with {process.exitcode}; what it"
                " wrote stands above. Do this: call the function directly to debug it."
            )
        return True


# Options of spawn that say of one process what is so anyway.
_OF_ONE = {"gpus": None, "xpus": None, "ips": None, "backend": "auto", "print_config": False}


def spawn(func, args=(), nprocs=-1, join=True, daemon=False, **options):
    """Calls ``func(*args)`` in a new process, and waits for it unless join is False.

    Args:
        func (callable): Can be imported by the new process: no lambda, no inner function.
        nprocs (int): 1; -1 for as many as the machine has devices, which is 1.
        daemon (bool): Whether it ends with this process.
        options: start_method, as of multiprocessing.get_context ("spawn"); gpus, xpus, ips, backend
            and print_config, only with one device, this host and "auto".

    Raises:
        NotImplementedError: nprocs is greater than 1, or options name several devices or hosts.
        ValueError: other options.
        RuntimeError: the function did not return.
    """
    only_known("distributed.spawn", options, ("start_method", *_OF_ONE))
    unsupported(
        "distributed.spawn", "leave it out; this version of Argosy cannot connect processes",
        **{name: (value, _OF_ONE[name]) for name, value in options.items() if name in _OF_ONE},
    )  # fmt: skip
    if nprocs not in (-1, 1):
        raise NotImplementedError(
            f"[distributed.spawn] nprocs: expected 1 or -1, got {nprocs}; this version of Argosy"
            " cannot connect processes. Do this: pass nprocs=1."
        )
    import multiprocessing

    way = multiprocessing.get_context(options.get("start_method", "spawn"))
    process = way.Process(target=func, args=args, daemon=daemon)
    process.start()
    context = _Spawned(process)
    if join:
        context.join()
    return context
