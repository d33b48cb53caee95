"""Averaging gradients over processes when a pass of backward has ended."""

from __future__ import annotations

import weakref
import zlib

from argosy import _backward, _core
from argosy import tensor as tensors
from argosy._framework import in_dynamic_mode
from argosy.autograd import no_grad

from .communication import _calls
from .communication.collectives import _OPERATIONS, ReduceOp

__all__ = []

_MEGABYTE = 1 << 20


def in_buckets(items, limits):
    """Lists of tensors of one dtype, in the order given: each holds as many bytes as its limit, the last
    limit holding for all further ones."""
    buckets, open_ones = [], {}
    for tensor in items:
        bucket, room = open_ones.get(tensor.dtype, (None, 0))
        size = tensor.size * tensor.element_size()
        if bucket is None or size > room:
            bucket, room = [], limits[min(len(buckets), len(limits) - 1)]
            buckets.append(bucket)
        bucket.append(tensor)
        open_ones[tensor.dtype] = (bucket, room - size)
    return buckets


def copy_from_first(items, group):
    """Lets tensors be those of the group's first process, after comparing their number, shapes and
    dtypes with those of all."""
    forms = [(list(t.shape), str(t.dtype)) for t in items]
    with no_grad():
        mine = tensors.to_tensor([zlib.crc32(repr(forms).encode())], dtype="int64")
        all_forms = [tensors.zeros_like(mine) for _ in range(group.nranks)]
        _calls.call(group, "all_gather", [mine], all_forms)
        others = [r for r, form in zip(group.ranks, all_forms) if int(form) != int(all_forms[0])]
        if others:
            raise _core.RanksDisagreeError(
                "[DataParallel] the layers of the processes differ in the number, shapes or dtypes of their"
                f" parameters and buffers: process {group.ranks[0]} has another layer than"
                f" {', '.join(map(str, others))}; this one has {len(items)} tensors, the first of shape"
                f" {forms[0][0]}. Do this: make the same layer in all of them."
            )
        for bucket in in_buckets(items, [128 * _MEGABYTE]):
            _calls.call(group, "broadcast", bucket, root=0)


class Reducer:
    """Averages the gradients of parameters over a group, after each pass of backward that has reached one
    of them while `wanted` is set.

    The whole gradient is averaged, also what passes before have left in it: they were averaged then,
    or were kept back by no_sync.

    Args:
        parameters (list): Of the same number, shapes and order in all processes.
        limits (list): Bytes of the first buckets; the last for all further ones.
        find_unused (bool): Whether a pass may leave parameters out, also other ones in each process.
    """

    def __init__(self, parameters, group, limits, find_unused):
        # What is last in a layer has its gradient first.
        self._parameters = list(reversed(parameters))
        self._group = group
        self._limits = limits
        self._find_unused = find_unused
        self._reached = set()
        self.wanted = False
        for index, parameter in enumerate(self._parameters):
            _core.after_accumulate(parameter, _Reached(self._reached, index))
        reference = weakref.ref(self)

        def finish():
            reducer = reference()
            if reducer is not None:
                reducer._finish()

        _backward.after.append(finish)
        weakref.finalize(self, _backward.after.remove, finish)

    def _finish(self):
        if not self._reached:
            return
        reached = set(self._reached)
        self._reached.clear()
        if self.wanted:
            with no_grad():
                self.reduce(reached)

    def reduce(self, reached):
        """Averages the gradients of the parameters with these numbers."""
        sparse = {i for i in reached if self._parameters[i].grad.is_selected_rows()}
        if self._find_unused:
            # Of each parameter: not reached, a gradient, one with rows only.
            kinds = [int(i in reached) + (i in sparse) for i in range(len(self._parameters))]
            kinds = tensors.to_tensor(kinds, dtype="int8")
            _calls.call(self._group, "all_reduce", [kinds], op=_OPERATIONS[ReduceOp.MAX])
            kinds = kinds.tolist()
            reached = {i for i, kind in enumerate(kinds) if kind}
            sparse = {i for i, kind in enumerate(kinds) if kind == 2}
        elif len(reached) < len(self._parameters):
            missing = [p.name for i, p in enumerate(self._parameters) if i not in reached]
            raise RuntimeError(
                f"[DataParallel] the loss reached {len(reached)} of {len(self._parameters)} parameters,"
                f" and not {', '.join(missing[:8])}{', ..' if len(missing) > 8 else ''}. Do this: pass"
                " find_unused_parameters=True, or set stop_gradient of what is not trained."
            )
        for index in sorted(sparse):
            self._average_rows(self._parameters[index])
        gradients = []
        for index in sorted(reached - sparse):
            parameter = self._parameters[index]
            if parameter.grad is None:  # another process has one
                parameter.grad = tensors.zeros_like(parameter)
            gradients.append(parameter.grad)
        for bucket in in_buckets(gradients, self._limits):
            _calls.call(self._group, "all_reduce", bucket, op=_OPERATIONS[ReduceOp.AVG])

    def _average_rows(self, parameter):
        """Lets a gradient with rows only have those of all processes, in their order; repeated ones add
        up."""
        if parameter.grad is None:
            rows = tensors.zeros([0], "int64")
            values = tensors.zeros([0, parameter.shape[1]], parameter.dtype)
        else:
            rows, values = parameter.grad._parts
        size = self._group.nranks
        counts = [tensors.zeros([1], "int64") for _ in range(size)]
        count = tensors.to_tensor([rows.shape[0]], dtype="int64")
        _calls.call(self._group, "all_gather", [count], counts)
        both = []
        for mine in (rows, values):
            parts = [tensors.empty([int(c), *mine.shape[1:]], mine.dtype) for c in counts]
            _calls.call(self._group, "all_gather_unequal", [mine], parts)
            both.append(tensors.concat(parts))
        parameter.grad = _core.ops.embedding_rows_grad(both[0], both[1] / size, parameter)


class _Reached:
    """Called when a gradient was added to a parameter. Holds no reducer: the parameter lives longer."""

    def __init__(self, reached, index):
        self._reached = reached
        self._index = index

    def __call__(self):
        if in_dynamic_mode():  # else a step is being captured, which exchanges by operations
            self._reached.add(self._index)
