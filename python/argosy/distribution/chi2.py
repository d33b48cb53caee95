"""The chi-squared distribution."""

from __future__ import annotations

from .distribution import broadcast, check
from .gamma import Gamma


class Chi2(Gamma):
    """Distribution of the sum of squares of ``df`` standard normal numbers.

    Args:
        df (float | array | Tensor): degrees of freedom.

    Raises:
        ValueError: ``df`` is not positive.

    Examples:
        >>> dist = argosy.distribution.Chi2(3.0)
        >>> dist.mean.item(), dist.variance.item()
        (3.0, 6.0)
    """

    def __init__(self, df):
        (self.df,) = broadcast(df)
        check(self.df > 0, ValueError, "Chi2", "df must be positive", "check df")
        super().__init__(self.df * 0.5, self.df * 0 + 0.5)
