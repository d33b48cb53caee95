"""Passes of backward, and what runs when one has ended."""

from __future__ import annotations

import threading

from argosy import _core

__all__ = []


class _Passes(threading.local):
    """Of this thread: how many passes are within each other, and whom the outermost has to tell."""

    def __init__(self):
        self.depth = 0
        self.told = []


_passes = _Passes()


def tell(observer):
    """Called in the middle of a pass of backward: `observer.finish()` is called when the outermost pass of
    this thread has ended, `observer.abandon()` when it ended by an exception. Passes within a pass are
    those of recomputation."""
    _passes.told.append(observer)


def run(roots, seeds, retain_graph):
    """_core.backward, and then what has to be told of its end."""
    if not _core.leaves_are_exchanged():
        _core.backward(roots, seeds, retain_graph)
        return
    _passes.depth += 1
    try:
        _core.backward(roots, seeds, retain_graph)
    except BaseException:
        _passes.depth -= 1
        if _passes.depth == 0:
            for observer in _take():
                observer.abandon()
        raise
    _passes.depth -= 1
    if _passes.depth == 0:
        for observer in _take():
            observer.finish()


def _take():
    told, _passes.told = _passes.told, []
    return told
