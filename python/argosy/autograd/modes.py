"""Switches that decide whether ops are recorded for gradients, per thread."""

import functools

from argosy import _core

_GENERATOR = 0x20  # inspect.CO_GENERATOR, without the cost of importing it


def is_grad_enabled():
    """Whether ops of this thread are recorded for gradients.

    Returns:
        bool: That.

    Example:
        >>> with argosy.no_grad():
        ...     argosy.is_grad_enabled()
        False
    """
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
        if not callable(func):
            raise TypeError(
                f"[{type(self).__name__.rstrip('_')}] expected a function, got {type(func).__name__}."
                " Do this: decorate one, or use `with`."
            )
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
    """What is computed in this context, or decorated function, is not recorded for gradients.

    Args:
        func (callable, optional): The function that is decorated, where no_grad is used without brackets.

    Returns:
        A context manager and decorator, or the decorated function.

    Example:
        >>> x = argosy.to_tensor([1.0], stop_gradient=False)
        >>> with argosy.no_grad():
        ...     y = x * 2
        >>> y.stop_gradient
        True
    """

    _enabled = False


class enable_grad_(_GradMode):
    """What is computed in this context, or decorated function, is recorded for gradients, also inside of
    no_grad.

    Args:
        func (callable, optional): The function that is decorated, where enable_grad is used without brackets.

    Returns:
        A context manager and decorator, or the decorated function.

    Example:
        >>> x = argosy.to_tensor([1.0], stop_gradient=False)
        >>> with argosy.no_grad(), argosy.enable_grad():
        ...     y = x * 2
        >>> y.stop_gradient
        False
    """

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
    """Switches recording for gradients, at once; used as a context, until its end.

    Args:
        mode (bool): Whether ops are recorded.

    Example:
        >>> x = argosy.to_tensor([1.0], stop_gradient=False)
        >>> with argosy.set_grad_enabled(False):
        ...     y = x * 2
        >>> y.stop_gradient, argosy.is_grad_enabled()
        (True, True)
    """

    def __init__(self, mode):
        self._mode = bool(mode)
        self._before = _core.set_grad_enabled(self._mode)

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        _core.set_grad_enabled(self._before)
        return False

    def __call__(self, func):
        """Decorates a function, which runs in this mode; what follows runs in the mode before.

        Args:
            func (callable): It.

        Returns:
            callable: With the same arguments.

        Example:
            >>> @argosy.set_grad_enabled(False)
            ... def doubled(x):
            ...     return x * 2
            >>> doubled(argosy.to_tensor([1.0], stop_gradient=False)).stop_gradient, argosy.is_grad_enabled()
            (True, True)
        """
        _core.set_grad_enabled(self._before)
        return (enable_grad_ if self._mode else no_grad_)()(func)

    def clone(self):
        """Another one of this mode, which sets it at once, too.

        Returns:
            set_grad_enabled: It.

        Example:
            >>> with argosy.set_grad_enabled(True).clone():
            ...     argosy.is_grad_enabled()
            True
        """
        return type(self)(self._mode)
