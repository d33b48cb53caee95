"""The Programs that exist, of all threads."""

from __future__ import annotations

import weakref

from argosy import _core

from .mode import default_main_program

_by_id = weakref.WeakValueDictionary()  # by _core.program_id


def register(program):
    """Lets program_of find a Program."""
    _by_id[_core.program_id(program._handle)] = program


def program_by_id(number):
    """The Program of a _core.program_id, or None."""
    return _by_id.get(number)


def all_programs():
    """The Programs that exist, of all threads."""
    return list(_by_id.values())


def program_of(value):
    """The Program that a symbolic tensor belongs to; for state the one calls are added to now."""
    number = _core.program_id_of_value(value)
    if number is None:
        return default_main_program()
    found = program_by_id(number)
    if found is None:
        raise RuntimeError(
            f"The Program of '{value.name}' no longer exists, or was not made by the static API."
        )
    return found
