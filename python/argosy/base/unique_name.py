"""Names that are unique within a process: ``fc_0``, ``fc_1``, ``linear_0.w_0`` ..."""

from __future__ import annotations

from contextlib import contextmanager

__all__ = ["generate", "guard", "switch"]


class UniqueNameGenerator:
    """Counts how often each key was asked for and appends the count to it."""

    def __init__(self, prefix=None):
        self.ids = {}
        self.prefix = prefix or ""

    def __call__(self, key):
        return self.generate(key)

    def generate(self, key):
        number = self.ids.get(key, 0)
        self.ids[key] = number + 1
        return f"{self.prefix}{key}_{number}"

    def generate_with_ignorable_key(self, key):
        return self.generate(key)

    def clone(self):
        copy = UniqueNameGenerator(self.prefix)
        copy.ids = dict(self.ids)
        return copy


class ParameterNameChecker:
    """Names that parameters of eager mode were given; each may be given once."""

    def __init__(self):
        self._names = set()

    def __call__(self, name):
        """Whether the name was given before; from now on it was."""
        known = name in self._names
        self._names.add(name)
        return known


generator = UniqueNameGenerator()
dygraph_parameter_name_checker = ParameterNameChecker()


def generate(key):
    """A name that no other call has given.

    Args:
        key (str): What it begins with.

    Returns:
        str: key, an underscore and a counter that starts at 0 for each key.

    Example:
        >>> with argosy.utils.unique_name.guard():
        ...     argosy.utils.unique_name.generate("fc"), argosy.utils.unique_name.generate("fc")
        ('fc_0', 'fc_1')
    """
    return generator(key)


def generate_with_ignorable_key(key):
    """Like :func:`generate`, for names that nobody reads (temporaries)."""
    return generator(key)


def switch(new_generator=None, new_para_name_checker=None):
    """Puts another generator of names in force.

    Args:
        new_generator (UniqueNameGenerator, optional): It; default: a fresh one.
        new_para_name_checker (ParameterNameChecker, optional): What looks for names of parameters that come
            twice; default: a fresh one.

    Returns:
        tuple: The generator and the checker that were in force.

    Example:
        >>> before = argosy.utils.unique_name.switch()
        >>> argosy.utils.unique_name.generate("fc")
        'fc_0'
    """
    global generator, dygraph_parameter_name_checker
    previous = generator, dygraph_parameter_name_checker
    generator = UniqueNameGenerator() if new_generator is None else new_generator
    dygraph_parameter_name_checker = new_para_name_checker or ParameterNameChecker()
    return previous


@contextmanager
def guard(new_generator=None):
    """Within the context names come from a separate generator, so counters start again at 0.

    Args:
        new_generator: None for a fresh generator, a str or bytes that becomes the prefix of every
            name, or a generator object.

    Returns:
        A context manager.

    Example:
        >>> with argosy.utils.unique_name.guard("left_"):
        ...     argosy.utils.unique_name.generate("fc")
        'left_fc_0'
    """
    if isinstance(new_generator, bytes):
        new_generator = new_generator.decode()
    if isinstance(new_generator, str):
        new_generator = UniqueNameGenerator(new_generator)
    previous = switch(new_generator)
    try:
        yield
    finally:
        switch(*previous)
