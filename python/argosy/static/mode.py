"""Which mode is on, and the Programs that calls are recorded into."""

from __future__ import annotations

import threading
from contextlib import contextmanager

from argosy import _core


class _State:
    static = False
    main = None  # made at first use
    startup = None


class _Thread(threading.local):
    recording = False  # whether the innermost recording of this thread is ours


_thread = _Thread()


def static_mode():
    """Whether enable_static() is in force."""
    return _State.static


def default_main_program():
    """The Program that calls in static mode are added to."""
    if _State.main is None:
        _make_defaults()
    return _State.main


def default_startup_program():
    """The Program that gives parameters their first values."""
    if _State.startup is None:
        _make_defaults()
    return _State.startup


def _make_defaults():
    from .program import Program

    _State.main, _State.startup = Program(), Program()
    _State.startup._is_start_up_program_ = True


def _synchronize():
    """Makes the recording of this thread what the state says."""
    if _thread.recording:
        _core.program_end()
    if _State.static:
        _core.program_begin(default_main_program()._handle)
    _thread.recording = _State.static


def enable_static():
    """Makes calls add operations to the default main Program instead of computing."""
    _State.static = True
    _synchronize()


def disable_static(place=None):
    """Makes calls compute at once (the default).

    Args:
        place (str | Place, optional): Device to compute on from now on.
    """
    _State.static = False
    _synchronize()
    if place is not None:
        import argosy

        argosy.set_device(place)


@contextmanager
def program_guard(main_program, startup_program=None):
    """Within the context calls are added to `main_program`, initializers of parameters to
    `startup_program` (None: to the one that is the default now).

    Raises:
        TypeError: one of them is no Program.
    """
    from .program import Program

    for name, value in (("main_program", main_program), ("startup_program", startup_program)):
        if not isinstance(value, Program) and not (value is None and name == "startup_program"):
            raise TypeError(
                f"[program_guard] {name}: expected static.Program, got {type(value).__name__}."
                " Do this: pass static.Program()."
            )
    before = default_main_program(), default_startup_program()
    _State.main = main_program
    if startup_program is not None:
        _State.startup = startup_program
        startup_program._is_start_up_program_ = True
    _synchronize()
    try:
        yield
    finally:
        _State.main, _State.startup = before
        _synchronize()


@contextmanager
def recording(program):
    """Within the context calls are added to `program`; None: they compute at once."""
    _core.program_begin(None if program is None else program._handle)
    try:
        yield
    finally:
        _core.program_end()


@contextmanager
def role(program, number):
    """What is added to `program` within the context is forward (0), backward (1) or optimize (2)."""
    before, program._role = program._role, number
    _core.program_set_role(program._handle, number)
    try:
        yield
    finally:
        program._role = before
        _core.program_set_role(program._handle, before)


_scopes = []  # of name_scope


@contextmanager
def name_scope(prefix=None):
    """Groups operations under a name, for people who look at a Program; results do not change.

    Args:
        prefix (str): The name; scopes nest as in 'encoder/attention'.
    """
    if not isinstance(prefix, str) or not prefix:
        raise AssertionError(
            "[name_scope] prefix: expected a str that is not empty. Do this: pass a name."
        )
    _scopes.append(prefix)
    try:
        yield
    finally:
        _scopes.pop()


@contextmanager
def device_guard(device=None):
    """Asks for a device for the operations made within the context.

    There is one device at a time, so this checks the name and changes nothing.

    Args:
        device (str | None): 'cpu', 'gpu', 'gpu:0' ..

    Raises:
        ValueError: no such device.
    """
    name, _, number = (device or "cpu").partition(":")
    if name == "cpu" and number:
        raise ValueError(
            "[device_guard] 'cpu' takes no number: expected 'cpu', got " + repr(device)
        )
    if name not in ("cpu", "gpu", "xpu", "all"):
        raise ValueError(
            f"[device_guard] device: expected 'cpu', 'gpu:x', 'gpu:all' or None, got {device!r}."
            " Do this: use one of them."
        )
    yield
