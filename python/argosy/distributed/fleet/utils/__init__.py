"""Helpers of training at scale that also serve one process."""

from .recomputation import recompute

__all__ = ["recompute"]
