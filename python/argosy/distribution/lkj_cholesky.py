"""The LKJ distribution of correlation matrices."""

from __future__ import annotations

import math

from argosy import tensor
from argosy._beside import beside
from argosy._support import sizes_of
from argosy.autograd import no_grad

from .beta import Beta
from .distribution import Distribution, as_parameter, check


class LKJCholesky(Distribution):
    """Lower Cholesky factors of correlation matrices C with density proportional to
    ``det(C) ** (concentration - 1)``.

    Args:
        dim (int): rows of C, 2 or more.
        concentration (float | array | Tensor): positive; 1 is uniform.
        sample_method (str): 'onion' or 'cvine'.

    Raises:
        ValueError: an argument is out of range.

    Paper: Lewandowski, Kurowicka and Joe, "Generating random correlation matrices based on vines and
        extended onion method", 2009.

    Examples:
        >>> dist = argosy.distribution.LKJCholesky(3)
        >>> factor = dist.sample()
        >>> bool(argosy.allclose((factor @ factor.T).diagonal(), argosy.ones([3]), atol=1e-5))
        True
    """

    def __init__(self, dim=2, concentration=1.0, sample_method="onion"):
        check(dim >= 2, ValueError, "LKJCholesky", f"dim must be 2 or more, got {dim}", "raise it")
        check(
            sample_method in ("onion", "cvine"), ValueError, "LKJCholesky",
            f"sample_method must be 'onion' or 'cvine', got {sample_method!r}", "pass one of them",
        )  # fmt: skip
        self.dim, self.sample_method = dim, sample_method
        self.concentration = as_parameter(concentration)
        check(
            self.concentration > 0, ValueError, "LKJCholesky", "concentration must be positive",
            "check concentration",
        )  # fmt: skip
        super().__init__(self.concentration.shape, (dim, dim), like=self.concentration)

    @beside
    def _steps(self):
        return tensor.arange(0, self.dim - 1, dtype=self.concentration.dtype)

    def sample(self, sample_shape=()):
        """Draws factors without gradient."""
        with no_grad():
            rows = self._onion(sample_shape) if self.sample_method == "onion" else None
            return self._cvine(sample_shape) if rows is None else rows

    @beside
    def _onion(self, shape):
        """Row i is a point of the unit ball of i dimensions, lifted to the sphere."""
        steps, more = self._steps(), self.concentration.unsqueeze(-1)
        squared = Beta(steps / 2 + 0.5, more + 0.5 * (self.dim - 2 - steps))._draw(shape)
        full = self._extend_shape(shape)
        noise = tensor.tril(tensor.randn(full, more.dtype), -1)[..., 1:, :]
        direction = noise / noise.norm(p=2, axis=-1, keepdim=True)
        rows = tensor.sqrt(squared).unsqueeze(-1) * direction
        first = tensor.zeros([*full[:-2], 1, self.dim], dtype=more.dtype)
        rows = tensor.concat([first, rows], -2)
        return rows + tensor.diag_embed(tensor.sqrt(1 - (rows**2).sum(-1)))

    @beside
    def _cvine(self, shape):
        """Partial correlations, drawn for each pair, are multiplied up along the rows."""
        size, steps = self.dim, self._steps()
        counts = [k for k in range(1, size) for _ in range(k)]
        places = tensor.to_tensor([k for n in range(1, size) for k in range(n)])
        half = self.concentration.unsqueeze(-1) + 0.5 * (size - 2 - steps[places])
        partial = 2 * Beta(half, half)._draw(shape) - 1
        rest = tensor.sqrt(1 - partial**2)
        one = tensor.ones([*sizes_of(partial)[:-1], 1], dtype=partial.dtype)
        rows, at = [tensor.concat([one] + [0 * one] * (size - 1), -1)], 0
        for count in dict.fromkeys(counts):
            own, left = partial[..., at : at + count], rest[..., at : at + count]
            product = tensor.concat([one, tensor.cumprod(left, -1)], -1)
            row = tensor.concat([own, one], -1) * product
            rows.append(tensor.concat([row] + [0 * one] * (size - 1 - count), -1))
            at += count
        return tensor.stack(rows, -2)

    @beside
    def log_prob(self, value):
        """Logarithm of the density of the factor value [..., dim, dim]."""
        count = self.dim - 1
        diagonal = tensor.diagonal(value, axis1=-1, axis2=-2)[..., 1:]
        order = tensor.arange(2, self.dim + 1, dtype=self.concentration.dtype)
        order = 2 * (self.concentration - 1).unsqueeze(-1) + self.dim - order
        unnormalized = (order * tensor.log(diagonal)).sum(-1)
        alpha = self.concentration + 0.5 * count
        above = tensor.multigammaln(alpha - 0.5, count)
        constant = 0.5 * count * math.log(math.pi)
        return unnormalized - (constant + above - tensor.lgamma(alpha) * count)
