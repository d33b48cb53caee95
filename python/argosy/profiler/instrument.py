"""The phases of training as events: calls of layers, steps of optimizers, waits for data.

While a profiler is on, the methods of those classes are replaced by ones that record; otherwise
they are untouched and cost nothing more.
"""

import functools
import time

from argosy import _core

__all__ = []

_timers = []  # of the profilers that are on; they hear of waits for data
_originals = []  # (class, name, method), while some profiler is on


def install(timer):
    """Begins to record phases, and to tell `timer` of waits."""
    if not _timers:
        for cls, name, kind, name_of in _targets():
            method = cls.__dict__[name]
            wrap = _timed if kind == "data" else _recorded
            _originals.append((cls, name, method))
            setattr(cls, name, wrap(method, kind, name_of))
    _timers.append(timer)


def remove(timer):
    """Undoes :func:`install`."""
    _timers.remove(timer)
    if not _timers:
        for cls, name, method in _originals:
            setattr(cls, name, method)
        _originals.clear()


def _targets():
    from argosy.io.dataloader import dataloader_iter
    from argosy.nn.layer.layers import Layer
    from argosy.optimizer.optimizer import Optimizer

    for cls in (dataloader_iter._SingleProcessIterator, dataloader_iter._WorkerIterator):
        yield cls, "__next__", "data", lambda self: "DataLoader"
    yield Layer, "__call__", "forward", lambda self: type(self).__name__
    for cls in (Optimizer, *_subclasses(Optimizer)):
        if "step" in cls.__dict__:
            yield cls, "step", "optimization", lambda self: f"{type(self).__name__}.step"


def _subclasses(cls):
    for sub in cls.__subclasses__():
        yield sub
        yield from _subclasses(sub)


def _recorded(method, kind, name_of):
    @functools.wraps(method)
    def recorded(self, *args, **kwargs):
        opened = _core.profile_open()
        try:
            return method(self, *args, **kwargs)
        finally:
            _core.profile_close(name_of(self), kind, opened)

    return recorded


def _timed(method, kind, name_of):
    recorded = _recorded(method, kind, name_of)

    @functools.wraps(method)
    def timed(self):
        begun = time.perf_counter()
        try:
            return recorded(self)
        finally:
            waited = time.perf_counter() - begun
            for timer in _timers:
                timer.add_wait(waited)

    return timed
