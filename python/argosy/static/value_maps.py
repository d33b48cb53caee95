"""Dictionaries and sets of variables, which tell them apart by identity: == of variables is an operation."""

from __future__ import annotations

from collections.abc import MutableMapping, MutableSet

__all__ = []


class ValueDict(MutableMapping):
    """A dictionary whose keys are variables.

    Args:
        items (ValueDict | iterable of pairs, optional): What it begins with.
        default_factory (callable, optional): Makes the value of a key that is not there.

    Example:
        >>> x, y = argosy.ones([2]), argosy.ones([2])
        >>> found = argosy.static.value_maps.ValueDict([(x, 1)], default_factory=list)
        >>> found[x], y in found, found[y]
        (1, False, [])
    """

    def __init__(self, items=None, *, default_factory=None):
        self._entries = {}  # id of the key -> (key, value)
        self._default_factory = default_factory
        if items is not None:
            self.update(items)

    def __getitem__(self, key):
        if id(key) not in self._entries:
            if self._default_factory is None:
                raise KeyError(key)
            self[key] = self._default_factory()
        return self._entries[id(key)][1]

    def __setitem__(self, key, value):
        self._entries[id(key)] = key, value

    def __delitem__(self, key):
        del self._entries[id(key)]

    def __contains__(self, key):
        return id(key) in self._entries

    def __iter__(self):
        return (key for key, _ in self._entries.values())

    def __len__(self):
        return len(self._entries)

    def copy(self):
        """Another dictionary with the same entries.

        Returns:
            ValueDict: It.
        """
        return ValueDict(self.items(), default_factory=self._default_factory)


class ValueSet(MutableSet):
    """A set of variables.

    Args:
        values (iterable, optional): What it begins with.

    Example:
        >>> x, y = argosy.ones([2]), argosy.ones([2])
        >>> values = argosy.static.value_maps.ValueSet([x, x])
        >>> len(values), x in values, y in values
        (1, True, False)
    """

    def __init__(self, values=()):
        self._entries = {id(value): value for value in values}

    def add(self, value):
        """Puts a variable in.

        Args:
            value (Variable): It.
        """
        self._entries[id(value)] = value

    def discard(self, value):
        """Takes a variable out if it is there.

        Args:
            value (Variable): It.
        """
        self._entries.pop(id(value), None)

    def update(self, values):
        """Puts several variables in.

        Args:
            values (iterable): They.
        """
        self._entries.update({id(value): value for value in values})

    def copy(self):
        """Another set with the same variables.

        Returns:
            ValueSet: It.
        """
        return ValueSet(self)

    def __contains__(self, value):
        return id(value) in self._entries

    def __iter__(self):
        return iter(self._entries.values())

    def __len__(self):
        return len(self._entries)
