"""What auto_cast asks for: of each thread, and what may be asked for at all."""

import contextlib
import functools
import threading
import warnings

from argosy import _core
from argosy._op_names import ops_called
from argosy.device.place import current

LEVELS = {"OD": 0, "O1": 1, "O2": 2}


class _Thread(threading.local):
    arguments = None  # of the innermost auto_cast, as a dict
    depth = 0  # regions that are open


thread = _Thread()
_entered = 0  # regions of any thread that cast
_warned = set()


def warn_once(key, text):
    """Warns, the first time that somebody asks for `key`."""
    if key not in _warned:
        _warned.add(key)
        warnings.warn(text, stacklevel=3)


def takes_effect(dtype):
    """Whether mixed precision in this dtype (a name) is computed, or leaves programs as they are."""
    return dtype == "bfloat16" or (dtype == "float16" and computes_float16())


def computes_float16():
    """Whether this thread's device computes in float16, as GPUs do."""
    return current.place.is_gpu_place() or _core.get_flag("ARGOSY_AMP_FLOAT16")


def warn_without_effect(what):
    """Says that float16 changes nothing here."""
    warn_once(
        "float16",
        f"[{what}] has no effect on the CPU for float16: everything stays in its own dtype."
        " dtype='bfloat16' computes in 16 bits.",
    )


def entered():
    """How many regions that cast were entered so far."""
    return _entered


def _ops_of(names, what):
    found = []
    for name in sorted(names or ()):
        ops = ops_called(name)
        if not ops:
            warn_once(name, f"[auto_cast] {what}: no op is called {name!r}.")
        found.extend(ops)
    return found


@functools.lru_cache(64)
def _core_state(level, dtype, promote, white, black):
    return _core.autocast_state(
        LEVELS[level],
        dtype,
        promote,
        _ops_of(white, "custom_white_list"),
        _ops_of(black, "custom_black_list"),
    )


def enter(arguments):
    """Begins a region with these arguments of auto_cast (`enable`: whether it casts). Gives what
    leave() takes."""
    global _entered
    state = None
    if arguments["enable"]:
        _entered += 1
        state = _core_state(
            arguments["level"],
            arguments["dtype"],
            bool(arguments["use_promote"]),
            frozenset(arguments["custom_white_list"] or ()),
            frozenset(arguments["custom_black_list"] or ()),
        )
    outer = thread.arguments
    thread.arguments = arguments
    thread.depth += 1
    return outer, _core.set_autocast(state)


def leave(outer):
    """Ends the region."""
    thread.arguments, state = outer
    thread.depth -= 1
    _core.set_autocast(state)
    if thread.depth == 0:
        _core.forget_casts()


@contextlib.contextmanager
def region(arguments):
    """A block under arguments that were `thread.arguments` at some time: None casts nothing."""
    if arguments is None:
        with as_called():
            yield
        return
    outer = enter(arguments)
    try:
        yield
    finally:
        leave(outer)


@contextlib.contextmanager
def as_called():
    """Casts nothing for a block: updates of parameters."""
    state = _core.set_autocast(None)
    try:
        yield
    finally:
        _core.set_autocast(state)


def key():
    """What a captured Program depends on, hashable: None where nothing is cast."""
    now = thread.arguments
    if now is None or not now["enable"]:
        return None
    return (
        now["level"],
        now["dtype"],
        bool(now["use_promote"]),
        frozenset(now["custom_white_list"] or ()),
        frozenset(now["custom_black_list"] or ()),
    )
