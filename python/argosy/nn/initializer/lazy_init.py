"""Models whose parameters are filled later."""

from __future__ import annotations


class LazyInitHelper:
    """Whether parameters that are being made should stay unfilled."""

    def __init__(self):
        self._state = False

    def enable(self):
        self._state = True

    def disable(self):
        self._state = False


_helper = LazyInitHelper()


def lazy_init_helper():
    return _helper


class LazyGuard:
    """Layers made within the context do not fill their parameters.

    Call ``param.initialize()`` on each parameter later.
    """

    def __enter__(self):
        _helper.enable()
        return self

    def __exit__(self, *exc):
        _helper.disable()
