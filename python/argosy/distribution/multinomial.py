"""The multinomial distribution."""

from __future__ import annotations

from argosy import tensor
from argosy._beside import beside
from argosy.autograd import no_grad
from argosy.nn import functional as F

from .binomial import Binomial
from .distribution import Distribution, as_parameter, check, sizes_of


class Multinomial(Distribution):
    """How often each of K outcomes comes in a number of draws.

    Args:
        total_count (int): number of draws, 1 or more.
        probs (array | Tensor): [.., K] weights of the outcomes; they are divided by their sum.

    Raises:
        ValueError: ``total_count`` is no positive int, or ``probs`` 0-d.

    Examples:
        >>> dist = argosy.distribution.Multinomial(4, argosy.to_tensor([1.0, 3.0]))
        >>> dist.mean.tolist(), dist.sample([2]).sum(-1).tolist()
        ([1.0, 3.0], [4.0, 4.0])
        >>> dist.prob(argosy.to_tensor([1.0, 3.0])).item()
        0.4219
    """

    def __init__(self, total_count, probs):
        check(
            isinstance(total_count, int) and total_count >= 1, ValueError, "Multinomial",
            f"total_count must be an int of 1 or more, got {total_count!r}", "pass a positive int",
        )  # fmt: skip
        probs = as_parameter(probs)
        check(
            probs.ndim >= 1, ValueError, "Multinomial",
            "probs must have a dimension or more, got a 0-d tensor", "pass a vector",
        )  # fmt: skip
        self.total_count = total_count
        self.probs = probs / probs.sum(-1, keepdim=True)
        super().__init__(probs.shape[:-1], probs.shape[-1:], like=self.probs)

    @property
    def mean(self):
        """``total_count * probs``."""
        return self.probs * self.total_count

    @property
    def variance(self):
        """``total_count * probs * (1 - probs)``."""
        return self.total_count * self.probs * (1 - self.probs)

    def sample(self, shape=()):
        """Draws counts [..., K], as floats."""
        shape = sizes_of(shape)
        kinds = self.probs.shape[-1]
        count = 1
        for size in shape:
            count *= size
        with no_grad():
            rows = self.probs.reshape([-1, kinds])
            drawn = tensor.multinomial(rows, count * self.total_count, True)
            drawn = drawn.reshape([rows.shape[0], self.total_count, count]).transpose([2, 0, 1])
            counts = F.one_hot(drawn, kinds).sum(-2)
            return counts.reshape(self._extend_shape(shape)).astype(self.probs.dtype)

    def log_prob(self, value):
        """Logarithm of the probability of counts [..., K]."""
        value = self._value(value).astype(self.probs.dtype)
        logits = tensor.log(self.probs)
        # 0 * log 0 counts as 0.
        possible = (value == 0).logical_and(self.probs == 0)
        logits = tensor.where(possible, tensor.zeros_like(logits), logits)
        return (
            tensor.lgamma(value.sum(-1) + 1)
            - tensor.lgamma(value + 1).sum(-1)
            + (value * logits).sum(-1)
        )

    @beside
    def entropy(self):
        """Expected -log_prob, in nats: a sum over the counts that each outcome may have."""
        count = tensor.full([], float(self.total_count), self.probs.dtype)
        support = tensor.arange(1, self.total_count + 1, dtype=self.probs.dtype)
        support = support.reshape([-1] + [1] * self.probs.ndim)
        binomial = tensor.exp(Binomial(self.total_count, self.probs).log_prob(support))
        return (
            self.total_count * -(self.probs * tensor.log(self.probs)).sum(-1)
            - tensor.lgamma(count + 1)
            + (binomial * tensor.lgamma(support + 1)).sum([0, -1])
        )
