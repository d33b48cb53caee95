"""What the inputs of a captured function are called."""

from __future__ import annotations

from argosy.utils.layers_utils import flatten


def input_names(signature, bound, args, kwargs):
    """What each leaf of [args, kwargs] is called: as the parameter, list item or key that it is. [= Paddle]

    signature: called for the function's signature; bound: whether self is not among args.
    """
    try:
        parameters = list(signature().parameters.values())[int(bound) :]
    except (TypeError, ValueError):  # a callable written in C
        parameters = []
    rest = next((p.name for p in parameters if p.kind is p.VAR_POSITIONAL), "input")
    positional = ("POSITIONAL_ONLY", "POSITIONAL_OR_KEYWORD")
    names = [p.name for p in parameters if p.kind.name in positional]
    names += [f"{rest}_{i}" for i in range(len(args) - len(names))]
    return flatten([list(map(_named, args, names)), _named(kwargs, "")])


def _named(nest, name):
    """The names of the leaves of `nest`, which is called `name`, arranged like it."""
    if isinstance(nest, dict):
        return {key: _named(value, str(key)) for key, value in nest.items()}
    if isinstance(nest, (list, tuple)):
        return [_named(value, f"{name}_{i}") for i, value in enumerate(nest)]
    return name


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
