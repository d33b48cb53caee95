"""What all collectives check, and the one way to call the core."""

from __future__ import annotations

import contextlib

from argosy import _core
from argosy import tensor as tensors
from argosy._beside import beside
from argosy._framework import in_dynamic_mode
from argosy._support import check_choice, is_operand
from argosy.autograd import no_grad
from argosy.distributed._groups import checked_group

from . import _recorded

__all__ = []


class Task:
    """A call under way, or one that is done."""

    def __init__(self, work=None):
        self._work = work

    def wait(self, timeout=None):
        """Waits until it is done; True. Raises what ended it: see distributed.CommunicationError.

        The limit is the group's (new_group): another one is an error.
        """
        if timeout is not None:
            raise NotImplementedError(
                f"[task.wait] timeout is not supported: expected None, got {timeout!r}. Do this: give the"
                " group its limit, new_group(timeout=..)."
            )
        if self._work is not None:
            _core.comm_wait(self._work)
        return True

    synchronize = wait

    def is_completed(self):
        """Whether it has ended, on devices too."""
        return self._work is None or _core.comm_done(self._work)

    is_sync = False


def entered(what, group, sync_op=True, use_calc_stream=False):
    """The group of a call, None where this process has no part in it."""
    check_choice(what, "sync_op", sync_op, (True, False))
    check_choice(what, "use_calc_stream", use_calc_stream, (True, False))
    if use_calc_stream and not sync_op:
        raise RuntimeError(
            f"[{what}] use_calc_stream: expected False with sync_op=False, got True. Do this: leave one"
            " of them out."
        )
    return checked_group(what, group)


def call(group, kind, inputs=(), outputs=(), op=0, root=-1, sync_op=True):
    """Calls the core; the Task."""
    if not in_dynamic_mode() and _recorded.is_recorded((*inputs, *outputs)):
        _recorded.record(group, kind, inputs, outputs, op, root)
        return Task()
    work = _core.comm_call(
        group.process_group, kind, list(outputs), list(inputs), op, root, not sync_op
    )
    task = Task(None if sync_op else work)
    if not sync_op:
        group._tasks = [t for t in group._tasks if not t.is_completed()]
        group._tasks.append(task)
    return task


def apart():
    """A context for what prepares a call: outside of autograd, as eager calls are."""
    return no_grad() if in_dynamic_mode() else contextlib.nullcontext()


def tensor_of(what, name, value):
    """`value`, which has to be a Tensor."""
    if not is_operand(value):
        raise TypeError(
            f"[{what}] {name}: expected a Tensor, got {type(value).__name__}. Do this: convert it"
            " by paddle.to_tensor."
        )
    return value


def one_each(what, name, values, group):
    """`values`, which has to be a list of a tensor for each process of the group."""
    count = len(values) if isinstance(values, (list, tuple)) else None
    if count != group.nranks:
        have = type(values).__name__ if count is None else count
        if group.nranks == 1:
            raise ValueError(
                f"[{what}] {name}: expected a list of one tensor, as there is one process, got {have}."
                " Do this: pass as many tensors as get_world_size() says."
            )
        raise ValueError(
            f"[{what}] {name}: expected a list of {group.nranks} tensors, one for each process of the"
            f" group, got {have}. Do this: pass as many tensors as get_world_size(group) says."
        )
    for value in values:
        tensor_of(what, name, value)
    return list(values)


@beside
def room_for(what, name, values, group, like):
    """Tensors to receive into: those of a list, filled with new ones like `like` if it is empty; the
    parts of a tensor."""
    if is_operand(values):
        return parts_of(what, name, values, group)
    if isinstance(values, list) and not values:
        values.extend(tensors.empty(t.shape, t.dtype) for t in like)
    return one_each(what, name, values, group)


def parts_of(what, name, value, group, sizes=None):
    """Views of a tensor's rows: equally many for each process, or `sizes`."""
    value = tensor_of(what, name, value)
    if in_dynamic_mode():
        value = value.detach()
    if value.ndim == 0:
        value = value.reshape([1])
    rows = value.shape[0]
    if sizes is None:
        if rows % group.nranks:
            raise ValueError(
                f"[{what}] {name}: expected rows that {group.nranks} processes can share, got {rows}. Do"
                " this: pad the tensor, or give sizes."
            )
        sizes = [rows // group.nranks] * group.nranks
    out, begin = [], 0
    for size in sizes:
        out.append(value[begin : begin + size])
        begin += size
    return out
