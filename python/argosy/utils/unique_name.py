"""Names that are unique within a process."""

from __future__ import annotations

from argosy.base.unique_name import generate, guard, switch

__all__ = ["generate", "guard", "switch"]
