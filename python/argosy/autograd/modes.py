"""Switches that decide whether ops are recorded for gradients, per thread."""

import functools

from argosy import _core

_GENERATOR = 0x20  # inspect.CO_GENERATOR, without the cost of importing it


def is_grad_enabled():
    """Whether ops of this thread are recorded for gradients."""
    return _core.is_grad_enabled()


class _GradMode:
    """Context manager and decorator (also of generators) that sets the mode for a scope."""

    _enabled = False

    def __init__(self):
        self._before = []

    def __enter__(self):
        self._before.append(_core.set_grad_enabled(self._enabled))
        return self

    def __exit__(self, *exc):
        _core.set_grad_enabled(self._before.pop())
        return False

    def __call__(self, func):
        enabled = self._enabled
        if getattr(func, "__code__", None) and func.__code__.co_flags & _GENERATOR:

            @functools.wraps(func)
            def generator(*args, **kwargs):
                iterator = func(*args, **kwargs)
                sent = None
                while True:
                    before = _core.set_grad_enabled(enabled)
                    try:
                        value = iterator.send(sent)
                    except StopIteration as stop:
                        return stop.value
                    finally:
                        _core.set_grad_enabled(before)
                    sent = yield value

            return generator

        @functools.wraps(func)
        def wrapper(*args, **kwargs):
            before = _core.set_grad_enabled(enabled)
            try:
                return func(*args, **kwargs)
            finally:
                _core.set_grad_enabled(before)

        return wrapper


class no_grad_(_GradMode):
    """Records nothing: `with no_grad(): ..` or `@no_grad()` or `@no_grad`."""

    _enabled = False


class enable_grad_(_GradMode):
    """Records again inside no_grad: `with enable_grad(): ..` or as a decorator."""

    _enabled = True


def _factory(cls):
    def make(func=None):
        return cls() if func is None else cls()(func)

    make.__doc__ = cls.__doc__
    make.__name__ = make.__qualname__ = cls.__name__.rstrip("_")
    return make


no_grad = _factory(no_grad_)
enable_grad = _factory(enable_grad_)
inference_mode = no_grad


class set_grad_enabled:
    """Sets recording to mode, at once and, used as a context manager, until its end."""

    def __init__(self, mode):
        self._mode = bool(mode)
        self._before = _core.set_grad_enabled(self._mode)

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        _core.set_grad_enabled(self._before)
        return False

    def clone(self):
        """Another one of this mode, which sets it at once, too."""
        return type(self)(self._mode)
