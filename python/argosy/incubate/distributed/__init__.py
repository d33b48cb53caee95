"""Layers and functions for several processes whose interface may still change in Paddle."""

from __future__ import annotations

from . import fleet, models  # noqa: F401
