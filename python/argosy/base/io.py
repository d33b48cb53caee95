"""The old place of loaders that a generator feeds."""

from .reader import PyReader  # noqa: F401

__all__ = []
