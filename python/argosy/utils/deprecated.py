"""Marking old functions."""

from __future__ import annotations

import functools
import warnings

__all__ = []


def deprecated(update_to="", since="", reason="", level=0):
    """Decorator that warns about the use of an old function.

    Args:
        update_to: name of the function to use instead, beginning with ``paddle.``.
        since: first version in which it is old.
        reason: why.
        level: 0 and 1 warn; 2 raises RuntimeError when the function is called.

    Returns:
        The decorator.

    Raises:
        AssertionError: ``update_to`` begins otherwise.

    Examples:
        >>> import warnings
        >>> @argosy.utils.deprecated(since="2.0", reason="there is a better one")
        ... def old():
        ...     return 3
        >>> with warnings.catch_warnings():
        ...     warnings.simplefilter("ignore")
        ...     old()
        3
    """
    update_to, since, reason = update_to.strip(), since.strip(), reason.strip()
    if update_to and not update_to.startswith("paddle."):
        raise AssertionError(
            "[deprecated] update_to: expected a name that starts with 'paddle.', got "
            f"{update_to!r}. Do this: write the full name."
        )

    def decorate(function):
        text = f'API "{function.__module__}.{function.__name__}" is deprecated'
        if since:
            text += f" since {since}"
        text += ", and will be removed in future versions."
        if update_to:
            text += f' Please use "{update_to}" instead.'
        if reason:
            text += f"\n    Reason: {reason}"

        @functools.wraps(function)
        def wrapper(*args, **kwargs):
            if level == 2:
                raise RuntimeError(text)
            warnings.warn(text, DeprecationWarning, stacklevel=2)
            return function(*args, **kwargs)

        return wrapper

    return decorate
