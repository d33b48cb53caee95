"""Batch samplers: which samples form a batch."""

from argosy._job import get_rank, get_world_size

from .dataset import IterableDataset
from .sampler import RandomSampler, Sampler, SequenceSampler

__all__ = []


def _require(condition, text):
    if not condition:
        raise AssertionError(text)


def _is_count(value):
    return isinstance(value, int) and not isinstance(value, bool) and value > 0


class BatchSampler(Sampler):
    """Lists of indices, `batch_size` each.

    Args:
        dataset (Dataset, optional): What to sample from, in order or, with `shuffle`, at random.
        sampler (Sampler, optional): Gives the indices instead of `dataset`.
        shuffle (bool): Visit the samples of `dataset` in random order.
        batch_size (int): Indices in a batch.
        drop_last (bool): Leave out the last batch if it is smaller.

    Raises:
        AssertionError: Neither or both of dataset and sampler are given, or an argument is of another kind.

    Example:
        >>> list(argosy.io.BatchSampler(list("abcde"), batch_size=2))
        [[0, 1], [2, 3], [4]]
    """

    def __init__(self, dataset=None, sampler=None, shuffle=False, batch_size=1, drop_last=False):
        if dataset is None:
            _require(
                sampler is not None,
                "[BatchSampler] neither dataset nor sampler is given. Do this: pass one of them.",
            )
            _require(
                hasattr(sampler, "__iter__"),
                f"[BatchSampler] sampler: expected a Sampler or an iterable, got {type(sampler).__name__}."
                " Do this: pass what gives indices.",
            )
            self.sampler = sampler
        else:
            _require(
                not isinstance(dataset, IterableDataset),
                "[BatchSampler] dataset must have samples by index, got an IterableDataset.",
            )
            _require(
                sampler is None,
                "[BatchSampler] both dataset and sampler are given. Do this: pass one of them.",
            )
            _require(
                isinstance(shuffle, bool),
                f"[BatchSampler] shuffle: expected bool, got {type(shuffle).__name__}.",
            )
            self.sampler = RandomSampler(dataset) if shuffle else SequenceSampler(dataset)
        _require(
            _is_count(batch_size),
            f"[BatchSampler] batch_size: expected a positive int, got {batch_size!r}.",
        )
        _require(
            isinstance(drop_last, bool),
            f"[BatchSampler] drop_last: expected bool, got {type(drop_last).__name__}.",
        )
        self.shuffle = shuffle
        self.batch_size = batch_size
        self.drop_last = drop_last

    def __iter__(self):
        batch = []
        for index in self.sampler:
            batch.append(index)
            if len(batch) == self.batch_size:
                yield batch
                batch = []
        if batch and not self.drop_last:
            yield batch

    def __len__(self):
        n = len(self.sampler)
        return n // self.batch_size if self.drop_last else -(-n // self.batch_size)


class DistributedBatchSampler(BatchSampler):
    """The batches of one of several processes that train on one data set. Each global batch of
    `num_replicas` * `batch_size` consecutive indices is dealt out in rank order, so that all
    processes together visit it once; the first indices are used again to make all shares equal.

    Args:
        dataset (Dataset): What to sample from.
        batch_size (int): Indices in a batch of one process.
        num_replicas (int, optional): Number of processes; by default that of this job.
        rank (int, optional): Number of this process; by default its rank in this job.
        shuffle (bool): Random order, a function of the epoch alone, so equal in all processes.
        drop_last (bool): Leave out the last batch if it is smaller.

    Raises:
        AssertionError: An argument is of another kind.

    Example:
        >>> list(argosy.io.DistributedBatchSampler(list("abcd"), 1, num_replicas=2, rank=1))
        [[1], [3]]
    """

    def __init__(
        self, dataset, batch_size, num_replicas=None, rank=None, shuffle=False, drop_last=False
    ):
        label = "[DistributedBatchSampler]"
        _require(
            _is_count(batch_size),
            f"{label} batch_size: expected a positive int, got {batch_size!r}.",
        )
        for name, value in (("shuffle", shuffle), ("drop_last", drop_last)):
            _require(
                isinstance(value, bool),
                f"{label} {name}: expected bool, got {type(value).__name__}.",
            )
        if num_replicas is not None:
            _require(
                _is_count(num_replicas),
                f"{label} num_replicas: expected a positive int, got {num_replicas!r}.",
            )
        if rank is not None:
            _require(
                isinstance(rank, int) and rank >= 0,
                f"{label} rank: expected an int >= 0, got {rank!r}.",
            )
        self.dataset = dataset
        self.batch_size = batch_size
        self.shuffle = shuffle
        self.drop_last = drop_last
        self.nranks = get_world_size() if num_replicas is None else num_replicas
        self.local_rank = get_rank() if rank is None else rank
        self.epoch = 0
        self.num_samples = -(-len(dataset) // self.nranks)
        self.total_size = self.num_samples * self.nranks

    def __iter__(self):
        import numpy

        n = len(self.dataset)
        order = list(range(n))
        while len(order) < self.total_size:
            order += order[: self.total_size - len(order)]
        if self.shuffle:
            numpy.random.RandomState(self.epoch).shuffle(order)
            self.epoch += 1
        if self.nranks > 1:
            order = self._share(order)
        batch = []
        for index in order:
            batch.append(index)
            if len(batch) == self.batch_size:
                yield batch
                batch = []
        if batch and not self.drop_last:
            yield batch

    def _share(self, order):
        step = self.batch_size * self.nranks
        whole = len(order) // step * step
        share = []
        for begin in range(self.local_rank * self.batch_size, whole, step):
            share += order[begin : begin + self.batch_size]
        rest = (len(order) - whole) // self.nranks
        begin = whole + self.local_rank * rest
        return share + order[begin : begin + rest]

    def __len__(self):
        n = self.num_samples
        return n // self.batch_size if self.drop_last else -(-n // self.batch_size)

    def set_epoch(self, epoch):
        """Sets the epoch that decides the order; without it each iteration counts one on.

        Args:
            epoch (int): Its number.

        Example:
            >>> sampler = argosy.io.DistributedBatchSampler(list("abcd"), 4, 1, 0, shuffle=True)
            >>> sampler.set_epoch(3)
            >>> first = list(sampler)
            >>> sampler.set_epoch(3)
            >>> list(sampler) == first
            True
        """
        self.epoch = epoch
