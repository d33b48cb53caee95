"""Errors that programs name in `except`, under the names of Paddle's translators. Nothing here raises them."""

from __future__ import annotations

__all__ = []


class Dygraph2StaticException(Exception):
    """What Paddle raises for Python that it cannot rewrite. Capture raises CaptureError, a RuntimeError, here:
    programs may name this one in ``except``."""


class InnerError(Exception):
    """What Paddle's capture raises for a fault of its own; none is raised here. For ``except``."""
