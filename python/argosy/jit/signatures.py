"""What signatures of functions say."""

from __future__ import annotations

import inspect

__all__ = []


def parse_arg_and_kwargs(function):
    """The parameters of a function, and their defaults.

    Args:
        function (callable): It.

    Returns:
        (list[str], dict): Names of those that may be given by place, in their order, and defaults by name.

    Example:
        >>> argosy.jit.signatures.parse_arg_and_kwargs(lambda x, axis=-1: x)
        (['x', 'axis'], {'axis': -1})
    """
    by_place = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    known = [p for p in inspect.signature(function).parameters.values() if p.kind in by_place]
    return [p.name for p in known], {p.name: p.default for p in known if p.default is not p.empty}
