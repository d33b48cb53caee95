"""Layers whose interface may still change in Paddle."""

from argosy._generated.incubate_layers import correlation

__all__ = ["correlation"]
