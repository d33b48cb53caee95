"""Layers for training that is to get used to few bits."""

from __future__ import annotations

from .conv import QuantedConv2D  # noqa: F401
from .linear import QuantedLinear  # noqa: F401
