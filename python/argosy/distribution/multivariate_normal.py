"""The multivariate normal distribution."""

from __future__ import annotations

import math

from argosy import linalg, tensor
from argosy._beside import beside
from argosy._support import sizes_of

from .distribution import Distribution, as_parameter, check


def _quadratic(scale_tril, difference):
    """d' (L L')^-1 d for d [..., D]."""
    solved = linalg.triangular_solve(scale_tril, difference.unsqueeze(-1), upper=False)
    return (solved.squeeze(-1) ** 2).sum(-1)


class MultivariateNormal(Distribution):
    """Normal distribution of vectors [D].

    Args:
        loc (array | Tensor): [.., D] mean.
        covariance_matrix, precision_matrix, scale_tril (Tensor, optional): one of the covariance
            matrix, its inverse, or its lower Cholesky factor, [.., D, D].

    Raises:
        ValueError: not one matrix is given, or it does not fit ``loc``.

    Examples:
        >>> dist = argosy.distribution.MultivariateNormal(argosy.zeros([2]), argosy.eye(2))
        >>> dist.event_shape, dist.log_prob(argosy.zeros([2])).item()
        ((2,), -1.8379)
    """

    def __init__(self, loc, covariance_matrix=None, precision_matrix=None, scale_tril=None):
        given = {
            "covariance_matrix": covariance_matrix,
            "precision_matrix": precision_matrix,
            "scale_tril": scale_tril,
        }
        named = [name for name, value in given.items() if value is not None]
        check(
            len(named) == 1, ValueError, "MultivariateNormal",
            f"takes one of {', '.join(given)}, got {', '.join(named) or 'none'}", "pass one",
        )  # fmt: skip
        matrix = as_parameter(given[named[0]])
        loc = as_parameter(loc, matrix.dtype)
        if loc.ndim == 0:
            loc = loc.reshape([1])
        size = loc.shape[-1]
        check(
            matrix.ndim >= 2 and all(-1 in (n, size) or n == size for n in matrix.shape[-2:]),
            ValueError,
            "MultivariateNormal",
            f"{named[0]} must be [..., {size}, {size}], got {list(matrix.shape)}",
            "match it to the last size of loc",
        )  # fmt: skip
        batch = tensor.broadcast_shape(list(loc.shape[:-1]), list(matrix.shape[:-2]))
        if -1 in batch or size == -1:
            columns, matrix = tensor.broadcast_tensors([loc.unsqueeze(-1), matrix])
            self.loc = columns[..., 0]
        else:
            self.loc = loc.expand([*batch, size])
            matrix = matrix.expand([*batch, size, size])
        self.covariance_matrix = self.precision_matrix = self.scale_tril = (
            None  # but that which was given
        )
        setattr(self, named[0], matrix)
        if named[0] == "scale_tril":
            self._tril = matrix
        elif named[0] == "covariance_matrix":
            self._tril = linalg.cholesky(matrix)
        else:
            self._tril = linalg.cholesky(linalg.inv(matrix))
        super().__init__(batch, [size], like=self.loc)

    @property
    def mean(self):
        """``loc``."""
        return self.loc

    @property
    def variance(self):
        """The diagonal of the covariance matrix, [..., D]."""
        return (self._tril**2).sum(-1)

    @beside
    def rsample(self, shape=()):
        """``loc + L z``, z being standard normal."""
        noise = tensor.randn(self._extend_shape(shape), self.loc.dtype)
        return self.loc + tensor.matmul(self._tril, noise.unsqueeze(-1)).squeeze(-1)

    def _size(self):
        return sizes_of(self.loc)[-1]

    def _half_log_det(self):
        return tensor.log(tensor.diagonal(self._tril, axis1=-2, axis2=-1)).sum(-1)

    def log_prob(self, value):
        """Logarithm of the density at value [..., D]."""
        difference = self._value(value).astype(self.loc.dtype) - self.loc
        shape = [*sizes_of(difference)[:-1], *sizes_of(self._tril)[-2:]]
        distance = _quadratic(self._tril.expand(shape), difference)
        size = self._size()
        return -0.5 * (size * math.log(2 * math.pi) + distance) - self._half_log_det()

    def entropy(self):
        """Expected -log_prob, in nats."""
        return 0.5 * self._size() * (1 + math.log(2 * math.pi)) + self._half_log_det()
