"""What looks at a tensor and finds its scales."""

from __future__ import annotations

import abc

from .base_quanter import BaseQuanter


class BaseObserver(BaseQuanter):
    """Base class of quanters that return their input as it is, and find its scales from what they saw."""

    @abc.abstractmethod
    def cal_thresholds(self):
        """Finds the scales."""
