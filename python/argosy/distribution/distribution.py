"""What all distributions share."""

from __future__ import annotations

import functools

from argosy import _core
from argosy import tensor as _tensor
from argosy._core import Tensor
from argosy._dtypes import COMPLEX, FLOATING
from argosy._support import dtype_name
from argosy._support import sizes_of as sizes_of_tensor
from argosy.autograd import no_grad

from .registry import kl_divergence

_CONTINUOUS = (*FLOATING, *COMPLEX)
_NAMES = tuple(map(dtype_name, _CONTINUOUS))  # which NumPy compares its dtypes with


def sizes_of(shape):
    """A sample shape (int, list, tuple or tensor) as a list of ints, or of 0-d tensors where a
    Program does not know them yet."""
    if isinstance(shape, Tensor) and not shape._symbolic:
        return [int(size) for size in shape.tolist()]
    if isinstance(shape, (int, Tensor)):
        shape = [shape] if isinstance(shape, int) or shape.ndim == 0 else _tensor.unstack(shape)
    return [size if isinstance(size, Tensor) and size._symbolic else int(size) for size in shape]


def as_parameter(value, dtype=None):
    """A parameter of a distribution as a floating-point tensor; numbers take the default dtype."""
    if isinstance(value, Tensor):
        return value if value.dtype in _CONTINUOUS else value.astype(_core.get_default_dtype())
    kind = getattr(value, "dtype", None)
    return _tensor.to_tensor(
        value, dtype or (kind if kind in _NAMES else _core.get_default_dtype())
    )


def broadcast(*values):
    """The parameters as tensors of one shape and one dtype."""
    given = [value for value in values if isinstance(value, Tensor)]
    dtype = given[0].dtype if given and given[0].dtype in _CONTINUOUS else None
    tensors = [as_parameter(value, dtype) for value in values]
    if len(tensors) == 1:
        return tensors
    if any(-1 in t.shape for t in tensors):
        return _tensor.broadcast_tensors(tensors)
    shape = functools.reduce(_tensor.broadcast_shape, [list(t.shape) for t in tensors])
    return [t if list(t.shape) == shape else t.expand(shape) for t in tensors]


def check(condition, kind, name, wrong, remedy):
    """Raises kind when condition, a bool or a tensor of bools, does not hold everywhere. A value of
    a Program is not looked at."""
    if isinstance(condition, Tensor):
        if condition._symbolic:
            return
        condition = bool(condition.all())
    holds = condition
    if not holds:
        raise kind(f"[{name}] {wrong}. Do this: {remedy}.")


def sum_rightmost(value, count):
    """value summed over its last `count` dimensions."""
    return value.sum(list(range(-count, 0))) if count > 0 else value


class Distribution:
    """A probability distribution.

    A sample has the shape ``sample shape + batch_shape + event_shape``: independent draws, one for
    each of the distributions with parameters of their own, each a value of ``event_shape``.
    """

    def __init__(self, batch_shape=(), event_shape=(), like=None):
        """like: a tensor whose sizes those of both shapes begin with, for the sizes that only a run
        of a Program knows."""
        self._batch_shape = tuple(batch_shape)
        self._event_shape = tuple(event_shape)
        self._like = like

    @property
    def batch_shape(self):
        """Shape of the set of distributions."""
        return self._batch_shape

    @property
    def event_shape(self):
        """Shape of one value."""
        return self._event_shape

    def _missing(self, what):
        raise NotImplementedError(
            f"[{type(self).__name__}] {what} is not defined for this distribution. Do this: define"
            f" {what} in the class, or use another distribution."
        )

    @property
    def mean(self):
        """Expected value."""
        return self._missing("mean")

    @property
    def variance(self):
        """Expected square of the distance from the mean."""
        return self._missing("variance")

    @property
    def stddev(self):
        """Square root of the variance."""
        return _tensor.sqrt(self.variance)

    def sample(self, shape=()):
        """Draws values; no gradient flows to the parameters."""
        with no_grad():
            return self.rsample(shape)

    def rsample(self, shape=()):
        """Draws values as functions of the parameters, so that gradients flow to these."""
        return self._missing("rsample")

    def entropy(self):
        """Expected -log_prob, in nats."""
        return self._missing("entropy")

    def log_prob(self, value):
        """Logarithm of the density (or of the probability) at value."""
        return self._missing("log_prob")

    def prob(self, value):
        """The density (or the probability) at value."""
        return _tensor.exp(self.log_prob(value))

    def probs(self, value):
        """Another name of prob."""
        return self.prob(value)

    def kl_divergence(self, other):
        """KL(self || other), in nats."""
        return kl_divergence(self, other)

    def _extend_shape(self, shape):
        own = [*self._batch_shape, *self._event_shape]
        if -1 in own and self._like is not None:
            known = sizes_of_tensor(self._like)[: len(own)]
            own[: len(known)] = known
        return [*sizes_of(shape), *own]

    def _value(self, value):
        return value if isinstance(value, Tensor) else as_parameter(value)

    def __repr__(self):
        batch, event = list(self._batch_shape), list(self._event_shape)
        return f"{type(self).__name__}(batch_shape={batch}, event_shape={event})"
