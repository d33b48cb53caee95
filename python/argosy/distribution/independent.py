"""Batches as events."""

from __future__ import annotations

from .distribution import Distribution, check, sum_rightmost


class Independent(Distribution):
    """A distribution with its last batch dimensions as part of the event.

    Args:
        base (Distribution): the distribution.
        reinterpreted_batch_rank (int): how many dimensions.

    Raises:
        TypeError: ``base`` is no Distribution.
        ValueError: the batch of base has not so many dimensions.

    Examples:
        >>> base = argosy.distribution.Normal(argosy.zeros([2, 3]), 1.0)
        >>> dist = argosy.distribution.Independent(base, 1)
        >>> dist.batch_shape, dist.event_shape, dist.log_prob(argosy.zeros([2, 3])).shape
        ((2,), (3,), paddle.Size([2]))
    """

    def __init__(self, base, reinterpreted_batch_rank):
        check(
            isinstance(base, Distribution), TypeError, "Independent",
            f"base must be a Distribution, got {type(base).__name__}", "pass one",
        )  # fmt: skip
        rank = len(base.batch_shape)
        check(
            0 < reinterpreted_batch_rank <= rank, ValueError, "Independent",
            f"reinterpreted_batch_rank must be in 1 .. {rank}, the dimensions of the batch, got "
            f"{reinterpreted_batch_rank}", "correct it",
        )  # fmt: skip
        self._base, self._reinterpreted_batch_rank = base, reinterpreted_batch_rank
        shape, split = base.batch_shape + base.event_shape, rank - reinterpreted_batch_rank
        super().__init__(shape[:split], shape[split:])

    @property
    def mean(self):
        """base's."""
        return self._base.mean

    @property
    def variance(self):
        """base's."""
        return self._base.variance

    def sample(self, shape=()):
        """Draws values by ``sample`` of base."""
        return self._base.sample(shape)

    def rsample(self, shape=()):
        """Draws values of base as functions of its parameters."""
        return self._base.rsample(shape)

    def log_prob(self, value):
        """base's, summed over the dimensions that joined the event."""
        return sum_rightmost(self._base.log_prob(value), self._reinterpreted_batch_rank)

    def entropy(self):
        """base's, summed over the dimensions that joined the event."""
        return sum_rightmost(self._base.entropy(), self._reinterpreted_batch_rank)
