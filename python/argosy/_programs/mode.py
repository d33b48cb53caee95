"""Which mode is on, of each thread its own, and the Programs that calls are recorded into: those of
the process, or of a thread within its program_guard."""

from __future__ import annotations

import threading

from argosy import _core


class _Thread(threading.local):
    static = False
    guarded = None  # the main and the startup Program of the innermost program_guard
    recording = False  # whether the innermost recording of this thread is that of static mode


_thread = _Thread()
_shared = [None, None]  # the main and the startup Program of the process, made at first use
_making = threading.RLock()


def static_mode():
    """Whether enable_static() is in force on this thread (capture by jit.to_static is not meant).

    Returns:
        bool: That.

    Example:
        >>> argosy.static.mode.static_mode()
        False
    """
    return _thread.static


def is_recorded():
    """Whether a call of this thread is added to the default main Program.

    Returns:
        bool: That.

    Example:
        >>> argosy.static.mode.is_recorded()
        False
    """
    return _thread.recording


def default_main_program():
    """The Program that calls in static mode are added to.

    Returns:
        Program: It.

    Example:
        >>> argosy.enable_static()
        >>> x = argosy.static.data("x", [2], "float32") * 2
        >>> len(argosy.static.default_main_program().global_block().ops)
        1
    """
    return _defaults()[0]


def default_startup_program():
    """The Program that gives parameters their first values.

    Returns:
        Program: It.

    Example:
        >>> argosy.enable_static()
        >>> weight = argosy.create_parameter([2], "float32")
        >>> _ = argosy.static.Executor().run(argosy.static.default_startup_program())
        >>> argosy.static.global_scope().find_var(weight.name).get_tensor().shape()
        [2]
    """
    return _defaults()[1]


def existing_programs():
    """The default main Program and the default startup Program.

    Returns:
        tuple: None for what was not used yet.

    Example:
        >>> main = argosy.static.default_main_program()
        >>> argosy.static.mode.existing_programs()[0] is main
        True
    """
    return _thread.guarded or tuple(_shared)


def _defaults():
    if _thread.guarded:
        return _thread.guarded
    if _shared[0] is None:
        from argosy.static.program import Program

        with _making:
            if _shared[0] is None:
                startup = Program()
                startup._is_start_up_program_ = True
                _shared[:] = Program(), startup
    return tuple(_shared)


def guard(programs):
    """Makes (main, startup) the default Programs of this thread, or with None those of the process.
    Returns what was in force before, to be given back."""
    before, _thread.guarded = _thread.guarded, programs
    _synchronize()
    return before


def set_default_programs(main, startup):
    """Makes two Programs the default ones: of the process, or within a program_guard of its thread.

    Args:
        main (Program): Gets the operations.
        startup (Program): Gets the initializers.

    Example:
        >>> main, startup = argosy.static.Program(), argosy.static.Program()
        >>> argosy.static.mode.set_default_programs(main, startup)
        >>> argosy.static.default_main_program() is main
        True
    """
    if _thread.guarded:
        _thread.guarded = main, startup
    else:
        _shared[:] = main, startup
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
    """A context in which calls are added to a Program.

    Args:
        program (Program | None): It; None: they compute at once.

    Example:
        >>> argosy.enable_static()
        >>> with argosy.static.mode.recording(None):
        ...     argosy.ones([2]).tolist()
        [1.0, 1.0]
    """

    def __init__(self, program):
        self._program = program

    def __enter__(self):
        _core.program_begin(None if self._program is None else self._program._handle)

    def __exit__(self, *exc):
        _core.program_end()
        return False
