"""Distributions of transformed random numbers."""

from __future__ import annotations

from argosy._support import sizes_of

from .distribution import Distribution, check, sum_rightmost
from .independent import Independent
from .transform import ChainTransform, Transform


class TransformedDistribution(Distribution):
    """Distribution of transforms of a value drawn from another one.

    Args:
        base (Distribution): where the value comes from.
        transforms (list[Transform]): applied one after the other.

    Raises:
        TypeError: ``base`` or ``transforms`` has the wrong type.
        ValueError: base has fewer dimensions than the transforms map as a whole.

    Examples:
        >>> base = argosy.distribution.Normal(0.0, 1.0)
        >>> dist = argosy.distribution.TransformedDistribution(base, [argosy.distribution.ExpTransform()])
        >>> dist.log_prob(argosy.to_tensor(1.0)).item()
        -0.9189
    """

    def __init__(self, base, transforms):
        name = type(self).__name__
        check(
            isinstance(base, Distribution), TypeError, name,
            f"base must be a Distribution, got {type(base).__name__}", "pass one",
        )  # fmt: skip
        check(
            isinstance(transforms, (list, tuple))
            and all(isinstance(t, Transform) for t in transforms),
            TypeError, name, "transforms must be a list of Transforms", "pass one",
        )  # fmt: skip
        chain = ChainTransform(transforms)
        shape = base.batch_shape + base.event_shape
        check(
            len(shape) >= chain._domain_rank, ValueError, name,
            f"base must have {chain._domain_rank} dimensions or more, got shape {list(shape)}",
            "give its parameters more dimensions",
        )  # fmt: skip
        missing = chain._domain_rank - len(base.event_shape)
        self._base = Independent(base, missing) if missing > 0 else base
        self._transforms = list(transforms)
        rank = max(
            chain._codomain_rank,
            len(self._base.event_shape) + chain._codomain_rank - chain._domain_rank,
        )
        shape = tuple(chain.forward_shape(shape))
        split = len(shape) - rank
        super().__init__(shape[:split], shape[split:])

    def sample(self, shape=()):
        """Draws values of base, with the gradients that its ``sample`` has, and transforms them."""
        return self._through(self._base.sample(shape))

    def rsample(self, shape=()):
        """Draws values as functions of the parameters."""
        return self._through(self._base.rsample(shape))

    def _through(self, x):
        for transform in self._transforms:
            x = transform.forward(x)
        return x

    def log_prob(self, value):
        """Logarithm of the density at value."""
        result, rank, y = 0.0, len(self.event_shape), self._value(value)
        for transform in reversed(self._transforms):
            x = transform.inverse(y)
            rank += transform._domain_rank - transform._codomain_rank
            part = transform.forward_log_det_jacobian(x)
            extra = rank - transform._domain_rank
            if extra > 0 and part.ndim < x.ndim - transform._domain_rank:
                part = part.expand(sizes_of(x)[: x.ndim - transform._domain_rank])
            result = result - sum_rightmost(part, extra)
            y = x
        inner = self._base.log_prob(y)
        return sum_rightmost(inner, rank - len(self._base.event_shape)) + result
