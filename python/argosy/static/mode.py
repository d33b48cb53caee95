"""The mode, and the Programs that calls are recorded into, as the static API shows them."""

from __future__ import annotations

from contextlib import contextmanager

from argosy import _core
from argosy._framework import disable_static, enable_static  # noqa: F401
from argosy._programs.mode import (
    default_main_program,
    default_startup_program,
    existing_programs,
    guard,
    is_recorded,
    recording,
    set_default_programs,
    static_mode,
)

__all__ = [
    "default_main_program", "default_startup_program", "device_guard", "disable_static",
    "enable_static", "existing_programs", "is_recorded", "name_scope",
    "program_guard", "recording", "role", "set_default_programs", "static_mode",
]  # fmt: skip


@contextmanager
def program_guard(main_program, startup_program=None):
    """A context in which calls are added to other Programs than the default ones.

    Args:
        main_program (Program): Gets the operations.
        startup_program (Program, optional): Gets the initializers of parameters; default: the one that is the
            default now.

    Returns:
        A context manager.

    Raises:
        TypeError: One of them is no Program.

    Example:
        >>> argosy.enable_static()
        >>> main = argosy.static.Program()
        >>> with argosy.static.program_guard(main):
        ...     x = argosy.static.data("x", [2], "float32") + 1
        >>> [op.type for op in main.global_block().ops]
        ['elementwise_add']
    """
    from .program import Program

    for name, value in (("main_program", main_program), ("startup_program", startup_program)):
        if not isinstance(value, Program) and not (value is None and name == "startup_program"):
            raise TypeError(
                f"[program_guard] {name}: expected static.Program, got {type(value).__name__}."
                " Do this: pass static.Program()."
            )
    if startup_program is None:
        startup_program = default_startup_program()
    else:
        startup_program._is_start_up_program_ = True
    before = guard((main_program, startup_program))
    try:
        yield
    finally:
        guard(before)


@contextmanager
def role(program, number):
    """A context in which what is added to a Program has a role.

    Args:
        program (Program): It.
        number (int): 0 for forward, 1 for backward, 2 for optimization.

    Returns:
        A context manager.

    Example:
        >>> argosy.enable_static()
        >>> with argosy.static.mode.role(argosy.static.default_main_program(), 2):
        ...     x = argosy.static.data("x", [2], "float32") + 1
    """
    before, program._role = program._role, number
    _core.program_set_role(program._handle, number)
    try:
        yield
    finally:
        program._role = before
        _core.program_set_role(program._handle, before)


@contextmanager
def name_scope(prefix=None):
    """A context that groups operations under a name, for people who look at a Program; results do not change.

    Args:
        prefix (str): The name; scopes nest as in 'encoder/attention'.

    Returns:
        A context manager.

    Raises:
        AssertionError: prefix is no str, or empty.

    Example:
        >>> with argosy.static.name_scope("encoder"):
        ...     pass
    """
    if not isinstance(prefix, str) or not prefix:
        raise AssertionError(
            "[name_scope] prefix: expected a str that is not empty. Do this: pass a name."
        )
    yield


@contextmanager
def device_guard(device=None):
    """Asks for a device for the operations made within the context.

    There is one device at a time, so this checks the name and changes nothing.

    Args:
        device (str | None): 'cpu', 'gpu', 'gpu:0' ..

    Raises:
        ValueError: no such device.

    Returns:
        A context manager.

    Example:
        >>> with argosy.static.device_guard("cpu"):
        ...     pass
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
