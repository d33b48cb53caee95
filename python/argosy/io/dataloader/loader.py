"""The loader: what to fetch, and who makes the batches."""

import os
import warnings
import weakref

from argosy._framework import in_static_mode
from argosy._support import listed_if_any, no_effect
from argosy.device import device_guard
from argosy.device.place import checked_place, current, has_streams

from .batch_sampler import BatchSampler, _require
from .collate import default_collate_fn, default_convert_fn
from .dataloader_iter import (
    _as_they_are,
    _Round,
    _SingleProcessIterator,
    _to_tensors,
    _WorkerIterator,
)
from .dataset import IterableDataset
from .sampler import SequenceSampler
from .worker import Fetcher

__all__ = []


class _LoaderHasNoLength(ValueError, TypeError):
    """A ValueError that, being a TypeError too, ``list(loader)`` takes for "no length hint"."""


class _MapKind:
    MAP = 0
    ITER = 1


class DataLoader:
    """Iterates over `dataset` in batches of tensors.

    Args:
        dataset (Dataset | IterableDataset | sequence): The samples.
        feed_list (list): In static mode, the inputs that the parts of a sample are for.
        return_list (bool): A batch is what `collate_fn` gives, arrays made tensors; False, in static
            mode: a list of one dict by the names of feed_list, for Executor.run.
        places (Place | str | list, optional): The device where the batches go; default: the current one
            when an iteration begins.
        use_buffer_reader (bool): To a device with streams, copy batches out of pinned memory on a stream of
            their own, ahead of the program. The CPU needs no copies.
        reader_buffer_size (int): So many are under way then, the one taken included.
        batch_sampler (BatchSampler, optional): Gives the lists of indices, in place of `batch_size`,
            `shuffle` and `drop_last`.
        batch_size (int | None): Samples in a batch; None for single samples, not collated.
        shuffle (bool): Visit the samples in random order.
        drop_last (bool): Leave out the last batch if it is smaller.
        collate_fn (callable, optional): Makes a batch of a list of samples.
        num_workers (int): Processes that make batches; 0 makes them in this process. Order is the
            same whatever their number.
        prefetch_factor (int): Batches that each worker makes ahead.
        use_shared_memory (bool): Pass large batches by shared memory rather than through a socket.
        timeout (float): Seconds to wait for a batch of a worker, after which it is a TimeoutError;
            0: what ARGOSY_DATA_TIMEOUT says, 600. math.inf waits as long as the worker lives.
        worker_init_fn (callable, optional): Called in each worker with its number.
        persistent_workers (bool): Keep the workers for the next iteration. One that begins before the one
            before it has ended gets others.

    An exception in a worker is raised here with its traceback; a worker that dies is named with its
    process id and the signal that ended it.

    Raises:
        AssertionError: A number is out of range, or batch_sampler is there beside batch_size, shuffle or
            drop_last.
        ValueError: An IterableDataset is to be shuffled or gets a batch_sampler.

    Example:
        >>> samples = [(np.full([2], i, "float32"), i) for i in range(3)]
        >>> for x, label in argosy.io.DataLoader(samples, batch_size=2):
        ...     print(list(x.shape), label.tolist())
        [2, 2] [0, 1]
        [1, 2] [2]
    """

    def __init__(
        self,
        dataset,
        feed_list=None,
        places=None,
        return_list=True,
        batch_sampler=None,
        batch_size=1,
        shuffle=False,
        drop_last=False,
        collate_fn=None,
        num_workers=0,
        use_buffer_reader=True,
        reader_buffer_size=2,
        prefetch_factor=2,
        use_shared_memory=True,
        timeout=0,
        worker_init_fn=None,
        persistent_workers=False,
    ):
        self.return_list = return_list
        self.collate_fn = collate_fn
        self._place = _one_place(places)
        if not has_streams(self._place or current.place):
            no_effect(
                "DataLoader", "workers hold prefetch_factor batches each, and none is copied to a device",
                use_buffer_reader=(use_buffer_reader, True), reader_buffer_size=(reader_buffer_size, 2),
            )  # fmt: skip
        _check_numbers(num_workers, reader_buffer_size, prefetch_factor, timeout)
        self.use_buffer_reader = use_buffer_reader
        self.reader_buffer_size = reader_buffer_size
        self.prefetch_factor = prefetch_factor
        self.worker_init_fn = worker_init_fn
        self.dataset = dataset
        self.feed_list = feed_list
        self.places = places
        self._as_feeds = not return_list and in_static_mode()
        _require(
            not self._as_feeds or feed_list is not None,
            "[DataLoader] feed_list should be set when return_list=False",
        )
        self.num_workers = num_workers
        self.use_shared_memory = use_shared_memory and num_workers > 0
        self.timeout = timeout
        self._persistent_workers = persistent_workers
        self._iterator = None
        self._round = None
        if isinstance(dataset, IterableDataset):
            self.dataset_kind = _MapKind.ITER
            if shuffle:
                raise ValueError(
                    "[DataLoader] an IterableDataset cannot be shuffled, got shuffle="
                    f"{shuffle}. Do this: shuffle in the data set's __iter__."
                )
            if batch_sampler is not None:
                raise ValueError(
                    "[DataLoader] an IterableDataset has no indices for a batch_sampler. Do this: "
                    "pass batch_size."
                )
        else:
            self.dataset_kind = _MapKind.MAP
        self._divide(batch_sampler, batch_size, shuffle, drop_last)
        self.drop_last = drop_last
        self.shuffle = shuffle
        self.auto_collate_batch = self.batch_sampler is not None or self.batch_size is not None
        if num_workers > 0 and not hasattr(os, "fork"):
            warnings.warn(
                "[DataLoader] worker processes need fork, which this system lacks: batches are made "
                "in this process.",
                stacklevel=2,
            )
            self.num_workers = 0

    def _divide(self, batch_sampler, batch_size, shuffle, drop_last):
        """How the data set becomes batches: batch_sampler and batch_size."""
        self.batch_sampler, self.batch_size = batch_sampler, None
        if batch_sampler is not None:
            _require(
                batch_size == 1 and not shuffle and not drop_last,
                "[DataLoader] batch_size, shuffle and drop_last are the batch_sampler's business. "
                "Do this: leave them out, or leave out batch_sampler.",
            )
        elif batch_size is not None:
            _require(
                batch_size > 0,
                f"[DataLoader] batch_size: expected None or a positive int, got {batch_size}.",
            )
            self.batch_size = batch_size
            if self.dataset_kind == _MapKind.MAP:
                self.batch_sampler = BatchSampler(
                    self.dataset, shuffle=shuffle, batch_size=batch_size, drop_last=drop_last
                )

    @staticmethod
    def from_generator(
        feed_list=None,
        capacity=None,
        use_double_buffer=True,
        iterable=True,
        return_list=False,
        use_multiprocess=False,
        drop_last=True,
    ):
        """A loader of the batches of a generator.

        Args:
            feed_list (list[Variable], optional): The inputs of a Program that the parts of a sample are for.
            capacity (int, optional): Has no effect, which a warning says.
            use_double_buffer (bool): Has no effect, which a warning says.
            iterable (bool): Whether it is iterated over; else runs of the Program take batches by themselves.
            return_list (bool): Whether iteration gives lists of tensors, not dicts by the names of inputs.
            use_multiprocess (bool): Has no effect, which a warning says.
            drop_last (bool): Whether to leave out a smaller last batch.

        Returns:
            GeneratorLoader: Needs one of its set_.. methods called.

        Example:
            >>> loader = argosy.io.DataLoader.from_generator()
            >>> def samples():
            ...     for i in range(4):
            ...         yield [np.float32(i)]
            >>> _ = loader.set_sample_generator(samples, batch_size=2)
            >>> [batch[0].tolist() for batch in loader()]
            [[0.0, 1.0], [2.0, 3.0]]
        """
        from .generated import GeneratorLoader

        no_effect(
            "DataLoader.from_generator", "the generator runs in this process",
            use_multiprocess=(use_multiprocess, False),
        )  # fmt: skip
        return GeneratorLoader(
            feed_list, capacity, use_double_buffer, iterable, return_list, drop_last
        )

    def __len__(self):
        if self.dataset_kind == _MapKind.ITER:
            raise _LoaderHasNoLength(
                "[DataLoader] the length of an IterableDataset is not known before its end. "
                "Do this: count the batches while iterating."
            )
        return len(self.batch_sampler) if self.auto_collate_batch else len(self.dataset)

    def __iter__(self):
        place = self._place or current.place
        if self.use_buffer_reader and has_streams(place):
            from .prefetch import Prefetcher

            batches = Prefetcher(self._batches(_as_they_are), place, self.reader_buffer_size)
        else:
            batches = self._batches(_to_tensors if place == current.place else _Delivery(place))
        return self._feeds(batches) if self._as_feeds else batches

    def _feeds(self, batches):
        names = [v.name for v in self.feed_list]
        for batch in batches:
            yield [dict(zip(names, batch))]

    def _batches(self, deliver):
        if self.num_workers == 0:
            return _SingleProcessIterator(self, deliver)
        if not self._persistent_workers or self._goes_on():
            return _WorkerIterator(self, deliver)
        if self._iterator is None or not self._iterator.usable():
            self._iterator = _WorkerIterator(self, deliver)
        else:
            self._iterator.restart(deliver)
        batches = _Round(self._iterator)
        self._round = weakref.ref(batches)
        return batches

    def _goes_on(self):
        """Whether an iteration that has not ended has the workers that stay."""
        batches = None if self._round is None else self._round()
        return batches is not None and not batches.over and self._iterator.usable()

    def __call__(self):
        return iter(self)

    def _tasks(self):
        """What to fetch, one after another: lists of indices, single indices, or nothing for a
        stream."""
        if self.dataset_kind == _MapKind.ITER:
            return _forever()
        if self.auto_collate_batch:
            return iter(self.batch_sampler)
        if self.shuffle:
            from .sampler import RandomSampler

            return iter(RandomSampler(self.dataset))
        return iter(SequenceSampler(self.dataset))

    def _make_fetcher(self):
        collate = self.collate_fn
        if collate is None:
            collate = default_collate_fn if self.auto_collate_batch else default_convert_fn
        return Fetcher(
            self.dataset,
            self.dataset_kind == _MapKind.ITER,
            self.auto_collate_batch,
            collate,
            self.drop_last,
            self.batch_size,
        )


class _Delivery:
    """Makes the tensors of a batch on a place."""

    def __init__(self, place):
        self._place = place

    def __call__(self, batch, copy):
        with device_guard(self._place):
            return _to_tensors(batch, copy)


def _check_numbers(num_workers, reader_buffer_size, prefetch_factor, timeout):
    for name, number, least, expected in (
        ("num_workers", num_workers, 0, "an int >= 0"),
        ("reader_buffer_size", reader_buffer_size, 1, "a positive int"),
        ("prefetch_factor", prefetch_factor, 1, "a positive int"),
        ("timeout", timeout, 0, "seconds >= 0"),
    ):
        _require(number >= least, f"[DataLoader] {name}: expected {expected}, got {number}.")


def _one_place(places):
    """The one place that `places` means, None for the current one."""
    different = {checked_place(place, "DataLoader") for place in listed_if_any(places)}
    if len(different) > 1:
        raise ValueError(
            f"[DataLoader] places: expected one device, got {len(different)}. Do this: make a loader for"
            " each device, with a DistributedBatchSampler."
        )
    return different.pop() if different else None


def _forever():
    while True:
        yield None
