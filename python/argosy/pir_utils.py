"""Guards of Paddle's test programs that choose an intermediate representation. There is one here, so
they choose static mode or leave the mode as it is."""

from __future__ import annotations

from argosy._framework import disable_static, enable_static, in_dynamic_mode

__all__ = ["DygraphOldIrGuard", "DygraphPirGuard", "IrGuard", "OldIrGuard"]


class IrGuard:
    """Within the context static mode is on."""

    def __enter__(self):
        self._was_dynamic = in_dynamic_mode()
        if self._was_dynamic:
            enable_static()

    def __exit__(self, *exc):
        if self._was_dynamic:
            disable_static()


class OldIrGuard(IrGuard):
    """Within the context static mode is on."""


class DygraphPirGuard:
    """Leaves the mode as it is."""

    def __enter__(self):
        pass

    def __exit__(self, *exc):
        pass


class DygraphOldIrGuard(DygraphPirGuard):
    """Leaves the mode as it is."""
