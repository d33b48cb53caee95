"""Loaders of batches that a generator of the program makes, the older way to feed Programs."""

from __future__ import annotations

from argosy import _core
from argosy._dtypes import BITS_IN_NUMPY
from argosy._framework import in_dynamic_mode
from argosy._programs.registry import program_of
from argosy._programs.scope import DenseTensor
from argosy._support import EOFException, dtype_name, listed, listed_if_any, no_effect
from argosy.device.place import checked_place

from .grouping import batch as _grouped


def _check_places(places):
    for place in listed_if_any(places):
        place = checked_place(place, "DataLoader")
        if not place.is_cpu_place():
            raise NotImplementedError(
                f"[DataLoader] places: expected CPUs, got {place!r}. Do this: leave it out; a run of a"
                " Program moves what it is fed."
            )


class GeneratorLoader:
    """Batches from a generator: what ``DataLoader.from_generator`` makes.

    Args:
        feed_list (list, optional): The inputs of a Program that the parts of a sample are for. None
            where operations run at once.
        capacity (int, optional): Without effect: a batch is made when it is asked for.
        use_double_buffer (bool): Without effect.
        iterable (bool): ``for feed in loader(): exe.run(feed=feed)``. False: after `start()` each run
            of the Program takes a batch by itself, raises ``base.core.EOFException`` when there is
            none left, and `reset()` ends the pass.
        return_list (bool): What iteration gives: lists of tensors, not dicts by the names of inputs.
        drop_last (bool): Whether `set_sample_generator` leaves out a smaller last batch by default.

    Where operations run at once, iteration gives lists of tensors.

    Raises:
        ValueError: A Program is being built and feed_list is empty.

    Example:
        >>> loader = argosy.io.DataLoader.from_generator()
        >>> def batches():
        ...     yield [np.ones([2], "float32")]
        >>> _ = loader.set_batch_generator(batches)
        >>> [batch[0].tolist() for batch in loader]
        [[1.0, 1.0]]
    """

    def __init__(self, feed_list=None, capacity=None, use_double_buffer=True, iterable=True,
                 return_list=False, drop_last=True):  # fmt: skip
        no_effect(
            "DataLoader.from_generator", "a batch is made when it is asked for",
            capacity=(capacity, None), use_double_buffer=(use_double_buffer, True),
        )  # fmt: skip
        self._eager = in_dynamic_mode()
        self._feed_list = list(feed_list or [])
        self._iterable = self._eager or bool(iterable)
        self._return_list = self._eager or bool(return_list)
        self._drop_last = drop_last
        self._batches = None  # returns an iterator of what a run is fed
        self._running = None
        if not self._eager and not self._feed_list:
            raise ValueError(
                "[DataLoader.from_generator] feed_list: expected the inputs of the Program, got"
                f" {feed_list!r}. Do this: pass what static.data returned."
            )
        if not self._iterable:
            program_of(self._feed_list[0])._loaders.append(self)

    @property
    def iterable(self):
        """Whether it is iterated over, not started."""
        return self._iterable

    # ---- where batches come from --------------------------------------------------------------

    def set_sample_generator(self, reader, batch_size, drop_last=None, places=None):
        """Takes samples from a generator.

        Args:
            reader (callable): Returns an iterator of samples, each a list of its parts, or its one part alone.
            batch_size (int): Samples of a batch.
            drop_last (bool, optional): Whether to leave out a smaller last batch; default: as the loader was made.
            places (list[Place], optional): CPUs, where batches are made.

        Returns:
            GeneratorLoader: This one.

        Raises:
            AssertionError: batch_size is not positive.

        Example:
            >>> loader = argosy.io.DataLoader.from_generator()
            >>> _ = loader.set_sample_generator(lambda: iter([[1], [2], [3]]), 2, drop_last=False)
            >>> [batch[0].tolist() for batch in loader]
            [[1, 2], [3]]
        """
        if batch_size <= 0:
            raise AssertionError(
                "[DataLoader.set_sample_generator] batch_size must be larger than 0, got"
                f" {batch_size}. Do this: pass a positive int."
            )
        drop_last = self._drop_last if drop_last is None else drop_last
        return self.set_sample_list_generator(_grouped(reader, batch_size, drop_last), places)

    def set_sample_list_generator(self, reader, places=None):
        """Takes lists of samples from a generator.

        Args:
            reader (callable): Returns an iterator of batches, each a list of samples.
            places (list[Place], optional): CPUs, where batches are made.

        Returns:
            GeneratorLoader: This one.

        Example:
            >>> loader = argosy.io.DataLoader.from_generator()
            >>> _ = loader.set_sample_list_generator(lambda: iter([[[1], [2]]]))
            >>> [batch[0].tolist() for batch in loader]
            [[1, 2]]
        """
        _check_places(places)
        self._batches = lambda: map(self._of_samples, reader())
        return self

    def set_batch_generator(self, reader, places=None):
        """Takes whole batches from a generator.

        Args:
            reader (callable): Returns an iterator of batches, each a list of arrays or tensors, one for each input.
            places (list[Place], optional): CPUs, where batches are made.

        Returns:
            GeneratorLoader: This one.
        """
        _check_places(places)
        self._batches = lambda: map(self._of_arrays, reader())
        return self

    decorate_sample_generator = set_sample_generator
    decorate_sample_list_generator = set_sample_list_generator
    decorate_batch_generator = set_batch_generator

    def _of_samples(self, samples):
        parts = []
        for one in samples:
            parts.append(listed(one))
        if len({len(p) for p in parts}) > 1:
            raise ValueError(
                f"[DataLoader] samples of a batch have {sorted({len(p) for p in parts})} parts."
                " Do this: yield the same number of parts for each sample."
            )
        return self._of_arrays([list(column) for column in zip(*parts)], _column)

    def _of_arrays(self, values, convert=None):
        if isinstance(values, dict):
            values = [values[v.name] for v in self._feed_list]
        values = listed(values)
        if self._feed_list and len(values) != len(self._feed_list):
            raise ValueError(
                f"[DataLoader] expected {len(self._feed_list)} values, one for each of"
                f" {[v.name for v in self._feed_list]}, got {len(values)}."
                " Do this: let the generator yield as many."
            )
        inputs = self._feed_list or [None] * len(values)
        return [_dense(x, v) if convert is None else convert(x, v) for x, v in zip(values, inputs)]

    # ---- passes -------------------------------------------------------------------------------

    def _begin(self):
        if self._batches is None:
            raise AssertionError(
                "[DataLoader] there is no generator yet. Do this: call set_sample_generator,"
                " set_sample_list_generator or set_batch_generator first."
            )
        return self._batches()

    def __call__(self):
        return iter(self)

    def __iter__(self):
        if not self._iterable:
            raise AssertionError(
                "[DataLoader] made with iterable=False. Do this: call start() and run the Program"
                " without feed, or make it with iterable=True."
            )
        names = [v.name for v in self._feed_list]
        for values in self._begin():
            if self._eager:
                yield [_core.to_tensor(getattr(x, "_tensor", x), None, True) for x in values]
            else:
                yield [values if self._return_list else dict(zip(names, values))]

    def _check_started(self, name):
        if self._iterable:
            raise AssertionError(
                f"[DataLoader.{name}] is for loaders made with iterable=False."
                " Do this: iterate over this one."
            )

    def start(self):
        """Begins a pass of a loader that is not iterable: runs of the Program take their batches from here.

        Example:
            >>> argosy.enable_static()
            >>> x = argosy.static.data("x", [2], "float32")
            >>> loader = argosy.io.DataLoader.from_generator(feed_list=[x], iterable=False)
            >>> _ = loader.set_batch_generator(lambda: iter([[np.ones([2], "float32")]]))
            >>> y = x + 1
            >>> loader.start()
            >>> argosy.static.Executor().run(fetch_list=[y])[0].tolist()
            [2.0, 2.0]
            >>> loader.reset()
        """
        self._check_started("start")
        self._running = self._begin()

    def reset(self):
        """Ends a pass of a loader that is not iterable."""
        self._check_started("reset")
        self._running = None

    def _feed(self, given):
        """What a run of the Program is fed, those that were `given` included."""
        names = [v.name for v in self._feed_list]
        if all(name in given for name in names):
            return given
        if self._running is None:
            raise RuntimeError(
                f"[Executor.run] the DataLoader of {names} is not under way."
                " Do this: call its start() before the first run of a pass, or feed them."
            )
        for values in self._running:
            return {**dict(zip(names, values)), **given}
        raise EOFException(
            f"[Executor.run] the DataLoader of {names} is at its end."
            " Do this: catch base.core.EOFException around the runs of a pass, and call reset()."
        )


class PyReader(GeneratorLoader):
    """GeneratorLoader under its first name.

    Args:
        feed_list (list[Variable], optional): The inputs of a Program that the parts of a sample are for.
        capacity (int, optional): Has no effect, which a warning says.
        use_double_buffer (bool): Has no effect, which a warning says.
        iterable (bool): Whether it is iterated over; else runs of the Program take batches by themselves.
        return_list (bool): Whether iteration gives lists of tensors, not dicts by the names of inputs.

    Example:
        >>> reader = argosy.base.reader.PyReader(return_list=True)
        >>> _ = reader.set_batch_generator(lambda: iter([[np.ones([2], "float32")]]))
        >>> [batch[0].tolist() for batch in reader]
        [[1.0, 1.0]]
    """

    def __init__(self, feed_list=None, capacity=None, use_double_buffer=True, iterable=True,
                 return_list=False):  # fmt: skip
        super().__init__(feed_list, capacity, use_double_buffer, iterable, return_list)


def _dense(value, v):
    """The DenseTensor of an array, of the dtype of input v."""
    import numpy

    if isinstance(value, DenseTensor):
        return value
    if hasattr(value, "numpy"):
        value = value.numpy()
    array = numpy.asarray(value)
    if v is not None and v.dtype not in BITS_IN_NUMPY:
        array = array.astype(dtype_name(v.dtype), copy=False)
    made = DenseTensor()
    made.set(array)
    return made


def _column(values, v):
    """The batch of one part of the samples: sequences for an input of lod_level 1, else rows."""
    import numpy

    if v is not None and v.lod_level:
        rows = [numpy.asarray(x).reshape(-1, *v.shape[1:]) for x in values]
        made = _dense(numpy.concatenate(rows), v)
        made.set_recursive_sequence_lengths([[len(r) for r in rows]])
        return made
    array = numpy.asarray(values)
    if v is not None and array.ndim != len(v.shape):
        array = array.reshape([len(values), *v.shape[1:]])
    return _dense(array, v)
