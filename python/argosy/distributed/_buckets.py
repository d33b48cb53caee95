"""Buckets of gradients, and how they are averaged over processes."""

from __future__ import annotations

from argosy import _core
from argosy import tensor as tensors
from argosy._beside import beside
from argosy.autograd import no_grad

from .communication import _calls
from .communication.collectives import _OPERATIONS, ReduceOp

__all__ = []


def in_buckets(items, limits):
    """Lists of tensors of one dtype: each holds as many bytes as its limit, the last limit holding for all
    further ones. What is larger is alone, and small ones around it wait for company beside it. Lists are in
    the order in which they are complete when tensors come in the order given."""
    buckets, open_ones = [], {}  # a bucket is [place of its last tensor, tensors]
    for place, tensor in enumerate(items):
        bucket, room = open_ones.get(tensor.dtype, (None, 0))
        size = tensor.size * tensor.element_size()
        limit = limits[min(len(buckets), len(limits) - 1)]
        alone = size > limit
        if alone or bucket is None or size > room:
            bucket, room = [place, []], limit
            buckets.append(bucket)
        bucket[0] = place
        bucket[1].append(tensor)
        if not alone:
            open_ones[tensor.dtype] = (bucket, room - size)
    return [tensors for _, tensors in sorted(buckets, key=lambda bucket: bucket[0])]


@beside
def sum_rows(parameter, group, divisor):
    """Lets a gradient that has some rows only, or is None, have those of all processes, in their order and divided;
    repeated ones add up."""
    if parameter.grad is None:
        rows = tensors.zeros([0], "int64")
        values = tensors.zeros([0, parameter.shape[1]], parameter.dtype)
    elif parameter.grad.is_selected_rows():
        rows, values = parameter.grad._parts
    else:
        rows, values = tensors.arange(parameter.shape[0]), parameter.grad
    counts = [tensors.zeros([1], "int64") for _ in range(group.nranks)]
    count = tensors.to_tensor([rows.shape[0]], dtype="int64")
    _calls.call(group, "all_gather", [count], counts)
    both = []
    for mine in (rows, values):
        parts = [tensors.empty([int(c), *mine.shape[1:]], mine.dtype) for c in counts]
        _calls.call(group, "all_gather_unequal", [mine], parts)
        both.append(tensors.concat(parts))
    parameter.grad = _core.ops.embedding_rows_grad(both[0], both[1] / divisor, parameter)


def scaled(parameter, factor):
    """The parameter's gradient, all of it or some rows, times a number."""
    gradient = parameter.grad
    if not gradient.is_selected_rows():
        return gradient * factor
    rows, values = gradient._parts
    return _core.ops.embedding_rows_grad(rows, values * factor, parameter)


class Bucket:
    """Gradients that are exchanged together; what a communication hook gets.

    Attributes:
        index (int): Its number in this pass of backward, the same in all processes.
        parameters (list[Tensor]): Whose gradients.
        gradients (list[Tensor]): This process's, of one dtype; they become those of all in place.
        group (Group): The processes.
    """

    __slots__ = ("gradients", "group", "index", "parameters")

    def __init__(self, index, parameters, gradients, group):
        self.index = index
        self.parameters = parameters
        self.gradients = gradients
        self.group = group

    def all_reduce(self, values, op):
        """Starts an all_reduce of a list of tensors of one dtype, in place.

        Returns:
            What has wait().
        """
        return _calls.call(
            self.group, "all_reduce", list(values), op=_OPERATIONS[op], sync_op=False
        )


def average(bucket):
    """The hook that DataParallel has unless told otherwise: the mean over processes."""
    return bucket.all_reduce(bucket.gradients, ReduceOp.AVG)


average.wire = None  # Programs do it by an operation: the dtype that is sent, None for the own one


class _Widening:
    """Waits for narrow values and writes them into wide ones."""

    def __init__(self, work, narrow, wide):
        self._work = work
        self._pairs = list(zip(narrow, wide))

    def wait(self):
        self._work.wait()
        with no_grad():
            for narrow, wide in self._pairs:
                tensors.assign(narrow.astype(wide.dtype), wide)


def average_in(dtype):
    """A hook that sends gradients of float32 and float64 as float16 or bfloat16: half the bytes of float32.
    Values are divided by the number of processes before they are cast, so that sums do not overflow."""
    narrow_dtype = getattr(_core, dtype)

    def average_narrow(bucket):
        gradients = bucket.gradients
        if gradients[0].dtype not in (_core.float32, _core.float64):
            return average(bucket)
        narrow = [(g / bucket.group.nranks).astype(narrow_dtype) for g in gradients]
        return _Widening(bucket.all_reduce(narrow, ReduceOp.SUM), narrow, gradients)

    average_narrow.wire = dtype
    return average_narrow
