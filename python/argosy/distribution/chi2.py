"""The chi-squared distribution."""

from __future__ import annotations

from .distribution import broadcast, check
from .gamma import Gamma


class Chi2(Gamma):
    """Distribution of the sum of squares of ``df`` standard normal numbers."""

    def __init__(self, df):
        (self.df,) = broadcast(df)
        check(self.df > 0, ValueError, "Chi2", "df must be positive", "check df")
        super().__init__(self.df * 0.5, self.df * 0 + 0.5)
