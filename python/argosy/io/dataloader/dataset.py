"""Data sets: by index (``Dataset``) or as a stream (``IterableDataset``)."""

import bisect
import math
import warnings

from argosy import tensor as _tensor
from argosy._support import listed, need_type

__all__ = []


class Dataset:
    """Base of data sets whose samples are got by index. Subclasses implement ``__getitem__(idx)`` and
    ``__len__()``.
    """

    def __getitem__(self, idx):
        raise NotImplementedError(
            f"[{type(self).__name__}] __getitem__ is missing. Do this: implement __getitem__(self, "
            "idx) so that it returns the sample number idx."
        )

    def __len__(self):
        raise NotImplementedError(
            f"[{type(self).__name__}] __len__ is missing. Do this: implement __len__(self) so that "
            "it returns the number of samples."
        )

    def __add__(self, other):
        return ConcatDataset([self, other])


class IterableDataset(Dataset):
    """Base of data sets that are streams. Subclasses implement ``__iter__()``.

    With worker processes each of them iterates over its own copy: use ``get_worker_info()`` in
    ``__iter__`` to give each a part of the data.
    """

    def __iter__(self):
        raise NotImplementedError(
            f"[{type(self).__name__}] __iter__ is missing. Do this: implement __iter__(self) so that "
            "it yields samples."
        )

    def __getitem__(self, idx):
        raise RuntimeError(
            f"[{type(self).__name__}] an IterableDataset has no samples by index. Do this: iterate "
            "over it, or derive from Dataset."
        )

    def __len__(self):
        raise _NoLength(
            f"[{type(self).__name__}] an IterableDataset has no length. "
            "Do this: count its samples while iterating."
        )

    def __add__(self, other):
        return ChainDataset([self, other])


class _NoLength(RuntimeError, TypeError):
    """A RuntimeError that, being a TypeError too, ``list()`` takes for "no length hint"."""


class TensorDataset(Dataset):
    """Sample i is the tuple of the i-th slices of some tensors.

    Args:
        tensors (list[Tensor]): With equally long first axes.

    Raises:
        AssertionError: They are not.

    Example:
        >>> data = argosy.io.TensorDataset([argosy.to_tensor([1, 2]), argosy.to_tensor([3, 4])])
        >>> [int(part) for part in data[1]]
        [2, 4]
    """

    def __init__(self, tensors):
        tensors = list(tensors)
        lengths = [t.shape[0] for t in tensors]
        if any(n != lengths[0] for n in lengths):
            raise AssertionError(
                f"[TensorDataset] tensors must have equally long first axes, got {lengths}."
                " Do this: cut or complete them."
            )
        self.tensors = tensors

    def __getitem__(self, index):
        return tuple(tensor[index] for tensor in self.tensors)

    def __len__(self):
        return self.tensors[0].shape[0]


def _check_datasets(op, datasets, iterable):
    if len(datasets) == 0:
        raise AssertionError(
            f"[{op}] datasets is empty: expected at least one. Do this: pass a list of data sets."
        )
    for i, dataset in enumerate(datasets):
        if isinstance(dataset, IterableDataset) != iterable:
            kind = "an IterableDataset" if iterable else "a Dataset with samples by index"
            raise AssertionError(
                f"[{op}] datasets[{i}] must be {kind}, got {type(dataset).__name__}."
                " Do this: pass data sets of one kind."
            )


class ComposeDataset(Dataset):
    """Joins the fields of equally long data sets: sample i is the tuple of all fields of their
    samples i.

    Args:
        datasets (list[Dataset]): With samples by index.

    Raises:
        AssertionError: They are not equally long, none, or streams.

    Example:
        >>> len(argosy.io.ComposeDataset([argosy.io.Subset(list("abc"), [0, 1])] * 2))
        2
    """

    def __init__(self, datasets):
        self.datasets = list(datasets)
        _check_datasets("ComposeDataset", self.datasets, iterable=False)
        for i, dataset in enumerate(self.datasets):
            need_type("ComposeDataset", f"datasets[{i}]", dataset, Dataset, "derive from Dataset")
        lengths = [len(d) for d in self.datasets]
        if any(n != lengths[0] for n in lengths):
            raise AssertionError(
                f"[ComposeDataset] datasets must be equally long, got {lengths}."
                " Do this: cut or complete them."
            )

    def __len__(self):
        return len(self.datasets[0])

    def __getitem__(self, idx):
        return tuple(field for d in self.datasets for field in listed(d[idx]))


class ChainDataset(IterableDataset):
    """One stream after another.

    Args:
        datasets (list[IterableDataset]): The streams.

    Raises:
        AssertionError: There are none, or one is no stream.

    Example:
        >>> class Count(argosy.io.IterableDataset):
        ...     def __iter__(self):
        ...         return iter(range(2))
        >>> list(argosy.io.ChainDataset([Count(), Count()]))
        [0, 1, 0, 1]
    """

    def __init__(self, datasets):
        self.datasets = list(datasets)
        _check_datasets("ChainDataset", self.datasets, iterable=True)

    def __iter__(self):
        for dataset in self.datasets:
            yield from dataset


class ConcatDataset(Dataset):
    """Data sets one after another, got by one index.

    Args:
        datasets (list[Dataset]): With samples by index.

    Raises:
        AssertionError: There are none, or one is a stream.

    Example:
        >>> parts = [argosy.io.Subset("abc", [0]), argosy.io.Subset("def", [1, 2])]
        >>> data = argosy.io.ConcatDataset(parts)
        >>> [data[i] for i in range(len(data))]
        ['a', 'e', 'f']
    """

    @staticmethod
    def cumsum(sequence):
        """Running sums of lengths.

        Args:
            sequence (list): Things with a length.

        Returns:
            list[int]: How long the first is, the first two are, and so on.

        Example:
            >>> argosy.io.ConcatDataset.cumsum(["abc", "de"])
            [3, 5]
        """
        sums, total = [], 0
        for part in sequence:
            total += len(part)
            sums.append(total)
        return sums

    def __init__(self, datasets):
        self.datasets = list(datasets)
        _check_datasets("ConcatDataset", self.datasets, iterable=False)
        self.cumulative_sizes = self.cumsum(self.datasets)

    def __len__(self):
        return self.cumulative_sizes[-1]

    def __getitem__(self, idx):
        if idx < 0:
            if -idx > len(self):
                raise ValueError(
                    f"[ConcatDataset] index {idx} is out of range for {len(self)} samples."
                    " Do this: pass an index of that range."
                )
            idx += len(self)
        elif idx >= len(self):
            raise IndexError(
                f"[ConcatDataset] index {idx} is out of range for {len(self)} samples."
                " Do this: pass an index of that range."
            )
        which = bisect.bisect_right(self.cumulative_sizes, idx)
        begin = self.cumulative_sizes[which - 1] if which else 0
        return self.datasets[which][idx - begin]


class Subset(Dataset):
    """Some samples of a data set.

    Args:
        dataset (Dataset): It.
        indices (list[int]): Which, in the order of the subset.

    Example:
        >>> subset = argosy.io.Subset(list("abc"), [2, 0])
        >>> len(subset), subset[0]
        (2, 'c')
    """

    def __init__(self, dataset, indices):
        self.dataset = dataset
        self.indices = indices

    def __getitem__(self, idx):
        return self.dataset[self.indices[idx]]

    def __len__(self):
        return len(self.indices)


def random_split(dataset, lengths, generator=None):
    """Splits a data set at random into parts that do not overlap.

    Args:
        dataset (Dataset): What to split.
        lengths (list): Lengths of the parts, which add up to ``len(dataset)``, or fractions, which
            add up to 1 (what rounding leaves over goes to the first parts, one each).
        generator (optional): What draws the permutation: a NumPy Generator or RandomState; a Generator
            of this package, or None, is the default one (``seed``).

    Returns:
        list[Subset]: The parts.

    Raises:
        ValueError: lengths do not add up, or a fraction is out of range.
        TypeError: generator is of another kind.

    Example:
        >>> parts = argosy.io.random_split(list(range(10)), [0.8, 0.2])
        >>> [len(part) for part in parts]
        [8, 2]
    """
    total = len(dataset)
    lengths = list(lengths)
    if math.isclose(sum(lengths), 1) and sum(lengths) <= 1:
        counts = []
        for i, fraction in enumerate(lengths):
            if not 0 <= fraction <= 1:
                raise ValueError(
                    f"[random_split] lengths[{i}]: expected a fraction in [0, 1], got {fraction}."
                    " Do this: pass fractions such as [0.8, 0.2]."
                )
            counts.append(math.floor(total * fraction))
        for i in range(total - sum(counts)):
            counts[i % len(counts)] += 1
        for i, count in enumerate(counts):
            if count == 0:
                warnings.warn(f"[random_split] part {i} is empty.", stacklevel=2)
        lengths = counts
    if sum(lengths) != total:
        raise ValueError(
            f"[random_split] lengths must add up to the {total} samples of the data set (or be "
            f"fractions that add up to 1), got {lengths} with sum {sum(lengths)}."
            " Do this: pass such lengths."
        )
    if hasattr(generator, "permutation"):
        order = generator.permutation(total).tolist()
    else:
        _tensor.random.is_default_generator("random_split", generator)
        order = _tensor.randperm(total).tolist() if total else []
    parts, at = [], 0
    for length in lengths:
        parts.append(Subset(dataset, order[at : at + length]))
        at += length
    return parts
