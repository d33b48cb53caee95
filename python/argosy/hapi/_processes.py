"""What ``Model`` does in one of several processes."""

import contextlib

from argosy import tensor
from argosy._job import get_rank
from argosy._support import is_operand
from argosy.autograd import no_grad

__all__ = []


class Processes:
    """The other processes of a job that train the same network, which they are connected with.

    Args:
        network (Layer): The network; what trains it is `network` afterwards.
        trains (bool): Whether it is trained.
    """

    def __init__(self, network, trains):
        from argosy import distributed

        distributed.init_parallel_env()
        wrap = trains and not isinstance(network, distributed.DataParallel)
        self.network = distributed.DataParallel(network) if wrap else network
        self._left = None  # samples of the evaluation's data set that are still to come

    def begin_pass(self, loader):
        """A pass over a loader: samples that a DistributedBatchSampler gives twice will count once."""
        from argosy.io import DataLoader, DistributedBatchSampler

        sampler = loader.batch_sampler if isinstance(loader, DataLoader) else None
        dealt = isinstance(sampler, DistributedBatchSampler)
        self._left = len(sampler.dataset) if dealt else None

    def exchanging(self, wanted):
        """A context of forward passes whose gradients are exchanged, or left for a later exchange."""
        from argosy import distributed

        if wanted or not isinstance(self.network, distributed.DataParallel):
            return contextlib.nullcontext()
        return self.network.no_sync()

    @no_grad()
    def rows_of_all(self, *lists):
        """Lists of tensors, with the rows of all processes below each other, in their order."""
        gathered = [[_all_gather(t) if _is_rows(t) else t for t in values] for values in lists]
        if self._left is None:
            return gathered
        first = next((t for values in gathered for t in values if _is_rows(t)), None)
        count = 0 if first is None else min(first.shape[0], self._left)
        self._left -= count
        return [[t[:count] if _is_rows(t) else t for t in values] for values in gathered]

    @staticmethod
    @no_grad()
    def mean(losses):
        """Losses as their mean over processes: who stops by them, stops everywhere."""
        from argosy import distributed

        losses = [loss.clone() for loss in losses]
        for loss in losses:
            distributed.all_reduce(loss, op=distributed.ReduceOp.AVG)
        return losses


def is_first():
    """Whether this process is the one that prints and saves."""
    return get_rank() == 0


def _is_rows(value):
    return is_operand(value) and value.ndim > 0


def _all_gather(x):
    """The rows of all processes, which may have different numbers of them, below each other."""
    from argosy import distributed

    counts = []
    distributed.all_gather(counts, tensor.to_tensor([x.shape[0]], dtype="int64"))
    parts = [tensor.empty([int(count), *x.shape[1:]], x.dtype) for count in counts]
    distributed.all_gather(parts, x.detach())
    return tensor.concat(parts)
