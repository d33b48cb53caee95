"""Ranges that programs mark themselves, and reading back what was recorded."""

import enum
from contextlib import ContextDecorator

from argosy import _core

from .trace import ProfilerResult

__all__ = []


class TracerEventType(enum.IntEnum):
    """Kinds of events, with Paddle's names and numbers."""

    Operator = 0
    Dataloader = 1
    ProfileStep = 2
    CudaRuntime = 3
    Kernel = 4
    Memcpy = 5
    Memset = 6
    UserDefined = 7
    OperatorInner = 8
    Forward = 9
    Backward = 10
    Optimization = 11
    Communication = 12
    PythonOp = 13
    PythonUserDefined = 14
    DygraphKernelLaunch = 15
    StaticKernelLaunch = 16


_KINDS = {
    TracerEventType.Operator: "op",
    TracerEventType.Dataloader: "data",
    TracerEventType.Memcpy: "copy",
    TracerEventType.ProfileStep: "step",
    TracerEventType.Kernel: "kernel",
    TracerEventType.OperatorInner: "kernel",
    TracerEventType.Forward: "forward",
    TracerEventType.Backward: "backward",
    TracerEventType.Optimization: "optimization",
    TracerEventType.Communication: "communication",
    TracerEventType.PythonOp: "python",
}


class RecordEvent(ContextDecorator):
    """A named range of the program: ``with RecordEvent("augment"):``, as a decorator, or from
    ``begin()`` to ``end()``. Costs next to nothing while no profiler records.

    Args:
        name (str): What the range is called in traces and tables.
        event_type (TracerEventType): Its kind; by default the user's.

    Example:
        >>> with argosy.profiler.Profiler(on_trace_ready=lambda prof: None) as prof:
        ...     with argosy.profiler.RecordEvent("augment"):
        ...         x = argosy.ones([2])
        ...     event = argosy.profiler.RecordEvent("rest")
        ...     event.begin()
        ...     event.end()
        >>> {"augment", "rest"} <= {event.name for event in prof.profiler_result.events}
        True
    """

    def __init__(self, name, event_type=TracerEventType.PythonUserDefined):
        self.name = str(name)
        self.event_type = event_type
        self._kind = _KINDS.get(event_type, "user")
        self._opened = 0

    def __enter__(self):
        self.begin()
        return self

    def __exit__(self, exc_type, exc_value, traceback):
        self.end()

    def begin(self):
        """Starts the range, after ending it if it is open."""
        self.end()
        self._opened = _core.profile_open()

    def end(self):
        """Ends the range; without effect if none is open."""
        if self._opened:
            _core.profile_close(self.name, self._kind, self._opened)
            self._opened = 0


def in_profiler_mode():
    """Whether a profiler records now."""
    return _core.profile_enabled()


def load_profiler_result(filename):
    """Reads what :meth:`Profiler.export` or an export handler wrote.

    Args:
        filename (str): The file.

    Returns:
        ProfilerResult: The recording: ``events``, ``threads``, ``get_data()``, ``get_extra_info()``.

    Raises:
        OSError: There is no such file.
        ValueError: It is not a trace of this profiler.

    Example:
        >>> argosy.profiler.load_profiler_result("/no/such/file")
        Traceback (most recent call last):
        FileNotFoundError
    """
    return ProfilerResult.load(filename)
