"""Decorators that keep the name, the text and the signature of what they decorate."""

import contextlib
import functools

__all__ = ["signature_safe_contextmanager", "wrap_decorator"]


def wrap_decorator(decorator_func):
    """A decorator whose results look like the functions that they were made of.

    Args:
        decorator_func (callable): Takes a function, returns another.

    Returns:
        callable: The same, but what it returns has the function's name, text and signature.

    Example:
        >>> twice = argosy.base.wrapped_decorator.wrap_decorator(lambda f: lambda: 2 * f())
        >>> @twice
        ... def three():
        ...     return 3
        >>> three(), three.__name__
        (6, 'three')
    """

    @functools.wraps(decorator_func)
    def decorate(func):
        return functools.wraps(func)(decorator_func(func))

    return decorate


signature_safe_contextmanager = wrap_decorator(contextlib.contextmanager)
