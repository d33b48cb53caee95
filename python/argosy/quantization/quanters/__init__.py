"""What rounds tensors as integers would."""

from __future__ import annotations

from .abs_max import FakeQuanterWithAbsMaxObserver

__all__ = ["FakeQuanterWithAbsMaxObserver"]
