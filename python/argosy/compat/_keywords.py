"""The parameters of a function's namesake, and what a call with them says."""

import functools


def refuse(name, other, *keywords):
    """Decorator: a call with one of `keywords` raises a TypeError that names argosy.`other`."""
    unknown = frozenset(keywords)

    def decorate(function):
        @functools.wraps(function)
        def wrapper(*args, **kwargs):
            wrong = unknown.intersection(kwargs)
            if wrong:
                raise TypeError(
                    f"[compat.{name}] got the keyword {', '.join(sorted(wrong))}, which belongs to"
                    f" argosy.{other}. Do this: use the parameters of compat.{name}, or call"
                    f" argosy.{other}."
                )
            return function(*args, **kwargs)

        return wrapper

    return decorate
