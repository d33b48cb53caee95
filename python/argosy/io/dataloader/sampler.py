"""Samplers: in which order a data set's samples are visited."""

from argosy import tensor
from argosy._support import ArgumentError

__all__ = []


class Sampler:
    """Base of samplers: iterating over one gives indices of samples. Subclasses implement
    ``__iter__()``, and ``__len__()`` if they know it.

    Args:
        data_source (Dataset, optional): What is sampled, kept as the attribute of that name.

    Example:
        >>> class Backwards(argosy.io.Sampler):
        ...     def __iter__(self):
        ...         return iter(range(len(self.data_source) - 1, -1, -1))
        >>> list(Backwards(list("abc")))
        [2, 1, 0]
    """

    def __init__(self, data_source=None):
        self.data_source = data_source

    def __iter__(self):
        raise NotImplementedError(
            f"[{type(self).__name__}] __iter__ is missing. Do this: implement __iter__(self) so that "
            "it yields indices."
        )


class SequenceSampler(Sampler):
    """0, 1, 2, .. up to a length.

    Args:
        data_source (Dataset): Has the length.

    Example:
        >>> list(argosy.io.SequenceSampler(list("abc")))
        [0, 1, 2]
    """

    def __init__(self, data_source):
        self.data_source = data_source

    def __iter__(self):
        return iter(range(len(self.data_source)))

    def __len__(self):
        return len(self.data_source)


class RandomSampler(Sampler):
    """Indices at random, from NumPy's global generator (``numpy.random.seed`` repeats them).

    Args:
        data_source (Dataset): What to sample from.
        replacement (bool): An index may come more than once.
        num_samples (int, optional): How many indices; by default the length of `data_source`.
        generator (iterator, optional): Gives the indices instead.

    Raises:
        TypeError: replacement is no bool.
        ValueError: num_samples is no positive int, or above the length of the data without replacement.

    Example:
        >>> sorted(argosy.io.RandomSampler(list("abc")))
        [0, 1, 2]
    """

    def __init__(self, data_source, replacement=False, num_samples=None, generator=None):
        self.data_source = data_source
        self.replacement = replacement
        self._num_samples = num_samples
        self.generator = generator
        if not isinstance(replacement, bool):
            raise TypeError(
                f"[RandomSampler] replacement: expected bool, got {type(replacement).__name__}."
                " Do this: pass True or False."
            )
        if not isinstance(self.num_samples, int) or self.num_samples <= 0:
            raise ValueError(
                f"[RandomSampler] num_samples: expected a positive int, got {self.num_samples!r}."
                " Do this: pass the number of samples to draw."
            )
        self._check_enough()

    def _check_enough(self):
        n, count = len(self.data_source), self.num_samples
        if not self.replacement and count > n:
            raise ValueError(
                "[RandomSampler] num_samples must not exceed the length of the data without "
                f"replacement, got num_samples={count}, length {n}. Do this: pass replacement=True."
            )

    @property
    def num_samples(self):
        """How many indices an iteration gives."""
        return len(self.data_source) if self._num_samples is None else self._num_samples

    def __iter__(self):
        self._check_enough()  # again: the data may have become less
        n, count = len(self.data_source), self.num_samples
        if self.generator is not None:
            for _ in range(count):
                try:
                    index = next(self.generator)
                except StopIteration:
                    return
                yield index
            return
        import numpy

        if self.replacement:
            yield from numpy.random.choice(n, count, replace=True).tolist()
        else:
            yield from numpy.random.permutation(n)[:count].tolist()

    def __len__(self):
        return self.num_samples


class SubsetRandomSampler(Sampler):
    """Some indices in random order, a permutation from the global generator (``seed``).

    Args:
        indices (list[int]): Which.

    Raises:
        ValueError: There are none.

    Example:
        >>> sorted(argosy.io.SubsetRandomSampler([4, 2]))
        [2, 4]
    """

    def __init__(self, indices):
        if len(indices) == 0:
            raise ValueError(
                "[SubsetRandomSampler] indices is empty: expected at least one."
                " Do this: pass a list of indices."
            )
        self.indices = indices

    def __iter__(self):
        for i in tensor.randperm(len(self.indices)).tolist():
            yield self.indices[i]

    def __len__(self):
        return len(self.indices)


class WeightedRandomSampler(Sampler):
    """Indices drawn with probabilities proportional to `weights`.

    Args:
        weights (list | numpy.ndarray | Tensor): One weight >= 0 for each index.
        num_samples (int): How many indices.
        replacement (bool): An index may come more than once.

    Raises:
        ValueError: num_samples is no positive int, or too large without replacement, replacement is no bool,
            or weights are no vector.

    Example:
        >>> list(argosy.io.WeightedRandomSampler([0.0, 1.0], 3))
        [1, 1, 1]
    """

    def __init__(self, weights, num_samples, replacement=True):
        if not isinstance(num_samples, int) or isinstance(num_samples, bool) or num_samples <= 0:
            raise ValueError(
                f"[WeightedRandomSampler] num_samples: expected a positive int, got "
                f"{num_samples!r}."
                " Do this: pass the number of samples to draw."
            )
        if not isinstance(replacement, bool):
            raise ValueError(
                f"[WeightedRandomSampler] replacement: expected bool, got {replacement!r}."
                " Do this: pass True or False."
            )
        import numpy

        weights = weights.numpy() if hasattr(weights, "numpy") else weights
        weights = numpy.asarray(weights, dtype=None if hasattr(weights, "dtype") else "float64")
        if weights.ndim != 1:
            raise ValueError(
                f"[WeightedRandomSampler] weights: expected one axis, got shape {weights.shape}."
                " Do this: pass one weight for each sample."
            )
        if not replacement and num_samples > weights.size:
            raise ArgumentError(
                "[WeightedRandomSampler] num_samples must not exceed the number of weights without "
                f"replacement, got num_samples={num_samples}, {weights.size} weights."
                " Do this: draw fewer, or with replacement."
            )
        self.weights = weights
        self.num_samples = num_samples
        self.replacement = replacement

    def __iter__(self):
        import numpy

        weights = self.weights
        if not (weights >= 0).all() or not weights.sum() > 0:
            raise AssertionError(
                "[WeightedRandomSampler] weights must be >= 0 and not all zero, got "
                f"{weights.tolist()[:8]}."
                " Do this: pass such weights."
            )
        odds = weights / weights.sum()
        picks = numpy.random.choice(len(odds), self.num_samples, self.replacement, odds)
        return iter(picks.tolist())

    def __len__(self):
        return self.num_samples
