"""Parts of models."""

from __future__ import annotations

from . import moe  # noqa: F401
