"""The engine behind fleet: programs divided between workers and servers, and what runs them."""

from .runtime import make_runtime, show

__all__ = ["make_runtime", "show"]
