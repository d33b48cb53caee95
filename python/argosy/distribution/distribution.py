"""What all distributions share."""

from __future__ import annotations

import functools

from argosy import _core
from argosy import tensor as _tensor
from argosy._beside import beside
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
    if isinstance(shape, (str, bytes)):
        raise TypeError(
            f"[sample] shape: expected a list or tuple of ints, got {shape!r}. Do this: pass one, such as [2, 3]."
        )
    return [size if isinstance(size, Tensor) and size._symbolic else int(size) for size in shape]


def as_parameter(value, dtype=None):
    """A parameter of a distribution as a floating-point tensor; numbers take the default dtype."""
    if isinstance(value, Tensor):
        return value if value.dtype in _CONTINUOUS else value.astype(_core.get_default_dtype())
    if isinstance(value, complex):
        raise TypeError(
            f"[distribution] a parameter is a real number, an array or a Tensor: got {value!r}. Do this:"
            " pass its real part, or use Normal, whose loc may be complex."
        )
    kind = getattr(value, "dtype", None)
    return _tensor.to_tensor(
        value, dtype or (kind if kind in _NAMES else _core.get_default_dtype())
    )


@beside
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

    Args:
        batch_shape (list | tuple): shape of the set of distributions.
        event_shape (list | tuple): shape of one value.
        like (Tensor, optional): its sizes begin with those of both shapes, for the sizes that only a
            run of a Program knows.

    Examples:
        >>> normal = argosy.distribution.Normal(argosy.zeros([2]), 1.0)
        >>> normal.batch_shape, normal.event_shape, normal.sample([3]).shape
        ((2,), (), paddle.Size([3, 2]))
        >>> zero = argosy.zeros([2])
        >>> normal.log_prob(zero).tolist(), normal.prob(zero).tolist()
        ([-0.9189, -0.9189], [0.3989, 0.3989])
        >>> normal.entropy().tolist(), normal.mean.tolist(), normal.stddev.tolist()
        ([1.4189, 1.4189], [0.0, 0.0], [1.0, 1.0])
        >>> normal.kl_divergence(argosy.distribution.Normal(1.0, 1.0)).tolist()
        [0.5, 0.5]
        >>> normal.rsample([4]).shape
        paddle.Size([4, 2])
        >>> argosy.distribution.Exponential(1.0).probs(argosy.to_tensor(1.0)).item()
        0.3679
    """

    def __init__(self, batch_shape=(), event_shape=(), like=None):
        self._batch_shape = tuple(batch_shape)
        self._event_shape = tuple(event_shape)
        self._like = like

    @property
    def _operand(self):
        """A parameter; what is drawn is made beside it."""
        return next((v for v in vars(self).values() if isinstance(v, Tensor)), None)

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
        """Draws values; no gradient flows to the parameters.

        Args:
            shape (list | tuple): sample shape.

        Returns:
            Tensor [*shape, *batch_shape, *event_shape].
        """
        with no_grad():
            return self.rsample(shape)

    def rsample(self, shape=()):
        """Draws values as functions of the parameters, so that gradients flow to these.

        Args:
            shape (list | tuple): sample shape.

        Returns:
            Tensor [*shape, *batch_shape, *event_shape].

        Raises:
            NotImplementedError: the distribution has no such functions.
        """
        return self._missing("rsample")

    def entropy(self):
        """Expected -log_prob, in nats.

        Returns:
            Tensor [*batch_shape].
        """
        return self._missing("entropy")

    def log_prob(self, value):
        """Logarithm of the density (or of the probability) at a value.

        Args:
            value (Tensor): [.., *event_shape], broadcast with the batch.

        Returns:
            Tensor [.., *batch_shape].
        """
        return self._missing("log_prob")

    def prob(self, value):
        """The density (or the probability) at a value.

        Args:
            value (Tensor): [.., *event_shape], broadcast with the batch.

        Returns:
            Tensor [.., *batch_shape].
        """
        return _tensor.exp(self.log_prob(value))

    def probs(self, value):
        """Another name of :meth:`prob`.

        Args:
            value (Tensor): [.., *event_shape], broadcast with the batch.

        Returns:
            Tensor [.., *batch_shape].
        """
        return self.prob(value)

    def kl_divergence(self, other):
        """KL(self || other), in nats.

        Args:
            other (Distribution): the other one.

        Returns:
            Tensor [*batch_shape].

        Raises:
            NotImplementedError: there is no rule for the two classes.
        """
        return kl_divergence(self, other)

    def _extend_shape(self, shape):
        own = [*self._batch_shape, *self._event_shape]
        if -1 in own and self._like is not None:
            known = sizes_of_tensor(self._like)[: len(own)]
            own[: len(known)] = known
        return [*sizes_of(shape), *own]

    def _value(self, value):
        return value if isinstance(value, Tensor) else as_parameter(value)

    def _number(self, value, like):
        """_value, of the dtype of a parameter where it is an integer."""
        value = self._value(value)
        return value if value.is_floating_point() else value.astype(like.dtype)

    def __repr__(self):
        batch, event = list(self._batch_shape), list(self._event_shape)
        return f"{type(self).__name__}(batch_shape={batch}, event_shape={event})"
