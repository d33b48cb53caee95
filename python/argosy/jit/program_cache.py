"""The specializations of a captured function."""

from __future__ import annotations

__all__ = []


class ProgramCache(dict):
    """The captured specializations of a function by their keys; None for forms that run as Python.

    Example:
        >>> double = argosy.jit.to_static(lambda x: x * 2)
        >>> for size in 1, 2:
        ...     _ = double(argosy.ones([size]))
        >>> found = double.program_cache.concrete_programs()
        >>> len(found), double.program_cache.last()[1][0] is found[-1]
        (2, True)
    """

    def concrete_programs(self):
        """Those that were captured.

        Returns:
            list[Captured]: They, the oldest first.
        """
        return [captured for captured in self.values() if captured is not None]

    def last(self):
        """What was captured last.

        Returns:
            tuple: Its key; and the specialization, and what runs it: the same.

        Raises:
            AssertionError: Nothing was captured.
        """
        found = [(key, captured) for key, captured in self.items() if captured is not None]
        assert found, (
            "[ProgramCache.last] nothing is captured yet. Do this: call the function first."
        )
        key, captured = found[-1]
        return key, (captured, captured)
