"""What signatures of functions say."""

from __future__ import annotations

import inspect
import textwrap

__all__ = []

_BY_PLACE = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


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
    known = [p for p in inspect.signature(function).parameters.values() if p.kind in _BY_PLACE]
    return [p.name for p in known], {p.name: p.default for p in known if p.default is not p.empty}


class ArgumentsError(ValueError, TypeError):
    """Arguments that do not fit a captured function's signature: a ValueError for programs of Paddle's
    translators, a TypeError as of the function itself."""


class Arguments:
    """The parameters of a function, which complete and name the arguments of its calls.

    Args:
        function (callable): It.
        is_method (bool): Whether its first parameter is left out.
    """

    def __init__(self, function, is_method):
        self._function, self._is_method = function, is_method
        self._signature = None
        code, defaults = (
            getattr(function, "__code__", None),
            getattr(function, "__defaults__", None),
        )
        self._count = code.co_argcount - is_method if code and defaults else 0
        self._defaults = defaults or ()

    def signature(self):
        """The function's signature, with the first parameter of a method."""
        if self._signature is None:
            self._signature = inspect.signature(self._function)
        return self._signature

    def needs_some(self):
        """Whether a call without arguments does not fit."""
        kinds = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
        known = list(self.signature().parameters.values())[self._is_method :]
        return any(p.default is p.empty and p.kind not in kinds for p in known)

    def with_defaults(self, args):
        """Arguments by place, with the defaults of those that are left out at the end."""
        missing = self._count - len(args)
        if not 0 < missing <= len(self._defaults):
            return args
        return (*args, *self._defaults[-missing:])

    def bind(self, args, kwargs, where, specified):
        """(args, kwargs) in the order of the signature, with all defaults.

        Raises:
            ArgumentsError: One is missing, or too many are given.
            TypeError: One is not known.
        """
        full = (None, *args) if self._is_method else args
        try:
            bound = self.signature().bind(*full, **kwargs)
        except TypeError as error:
            unknown = "unexpected keyword" in str(error)
            kind = TypeError if unknown and not specified else ArgumentsError
            raise kind(
                f"[to_static] the arguments do not fit {where}: {error}."
                f" Do this: call it as its signature says, {self.signature()}."
            ) from None
        bound.apply_defaults()
        return (bound.args[1:] if self._is_method else bound.args), bound.kwargs

    def names(self, args, kwargs):
        """Names of the leaves of (args, kwargs), in the order of flatten: of the parameter, with the place
        in a list behind it; in a dict of the key."""
        try:
            parameters = self.signature().parameters.values()
        except (TypeError, ValueError):  # a callable written in C
            parameters = ()
        kinds = (*_BY_PLACE, inspect.Parameter.VAR_POSITIONAL)
        places = [p for p in parameters if p.kind in kinds][self._is_method :]
        found = []
        for i, arg in enumerate(args):
            rest = places[-1] if i >= len(places) and places else None
            place = rest or (places[i] if places else None)
            if place is None:
                _name_leaves(arg, f"input_{i}", found)
            elif place.kind is place.VAR_POSITIONAL:
                _name_leaves(arg, f"{place.name}_{i - len(places) + 1}", found)
            else:
                _name_leaves(arg, place.name, found)
        _name_leaves(kwargs, "", found)
        return found


def _name_leaves(nest, name, found):
    if isinstance(nest, dict):
        for key in sorted(nest):
            _name_leaves(nest[key], str(key), found)
    elif isinstance(nest, (list, tuple)):
        for i, item in enumerate(nest):
            _name_leaves(item, f"{name}_{i}", found)
    else:
        found.append(name)


def func_to_source_code(function, dedent=True):
    """The source of a function.

    Args:
        function (callable): It.
        dedent (bool): Whether lines begin at the left.

    Returns:
        str: As it was written.

    Raises:
        TypeError: It is no function or method.
        OSError: Its source is not known.
    """
    if not (inspect.isfunction(function) or inspect.ismethod(function)):
        raise TypeError(
            f"[func_to_source_code] expected a function or method, got {type(function).__name__}. Do this:"
            " pass one."
        )
    source = inspect.getsource(function)
    return textwrap.dedent(source) if dedent else source


def told_apart(names, given):
    """The given names, and where there is none (None) that of names, with a number if it comes again."""
    taken = set(given)
    for name, own in zip(names, given):
        free, count = own or name, 0
        while not own and free in taken:
            count += 1
            free = f"{name}_{count}"
        taken.add(free)
        yield free
