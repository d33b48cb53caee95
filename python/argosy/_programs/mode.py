"""Which mode is on, and the Programs that calls are recorded into: of each thread its own."""

from __future__ import annotations

import threading

from argosy import _core


class _Thread(threading.local):
    static = False
    main = None  # made at first use
    startup = None
    recording = False  # whether the innermost recording of this thread is that of static mode


_thread = _Thread()


def static_mode():
    """Whether enable_static() is in force on this thread (capture by jit.to_static is not meant)."""
    return _thread.static


def is_recorded():
    """Whether a call of this thread is added to the default main Program."""
    return _thread.recording


def default_main_program():
    """The Program that calls in static mode are added to, on this thread."""
    if _thread.main is None:
        _make_defaults()
    return _thread.main


def default_startup_program():
    """The Program that gives parameters their first values, on this thread."""
    if _thread.startup is None:
        _make_defaults()
    return _thread.startup


def existing_programs():
    """The default main Program and the default startup Program; None for what was not used yet."""
    return _thread.main, _thread.startup


def _make_defaults():
    from argosy.static.program import Program

    _thread.main, _thread.startup = Program(), Program()
    _thread.startup._is_start_up_program_ = True


def set_default_programs(main, startup):
    """Makes `main` the Program that calls are added to, `startup` the one for initializers."""
    _thread.main, _thread.startup = main, startup
    _synchronize()


def _synchronize():
    """Makes the recording of this thread what the state says."""
    if _thread.recording:
        _core.program_end()
    if _thread.static:
        _core.program_begin(default_main_program()._handle)
    _thread.recording = _thread.static


def set_static_mode(on):
    """Makes calls of this thread add operations to the default main Program, or compute."""
    _thread.static = on
    _synchronize()


class recording:
    """Within the context calls are added to `program`; None: they compute at once."""

    def __init__(self, program):
        self._program = program

    def __enter__(self):
        _core.program_begin(None if self._program is None else self._program._handle)

    def __exit__(self, *exc):
        _core.program_end()
        return False
