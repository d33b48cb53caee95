"""Streams and events of devices that have them: queues of work beside the host, and marks in them.

On the CPU there are none: its work is done when a call returns.
"""

import atexit
import threading
import weakref

from argosy import _core
from argosy._support import no_effect, unsupported
from argosy.device.place import (
    CUDAPlace,
    checked_place,
    current,
    gpu_count,
    has_streams,
    to_place,
    why_no_gpu,
)

# Work of a device must not run on while the process is taken apart.
atexit.register(_core.stop_streamed)


class NoCudaError(ValueError, TypeError):
    """What needs a GPU was asked where there is none."""


def need_cuda(what):
    """Raises the error of ``what`` of ``device.cuda`` that is asked of a device without streams."""
    reason = why_no_gpu() or "this device has no streams. Do this: pass a GPU, such as 'gpu:0'."
    text = f"[device.cuda.{what}] {reason}"  # which says what to do
    raise NoCudaError(text)


class _Kept(threading.local):
    """The streams that a thread made current, by device: they live as long as they are that."""

    def __init__(self):
        self.streams = {}


_kept = _Kept()


def _streamed(what, device):
    """The place that ``device`` means, which has streams; None: the current one, or the first GPU where
    that has none."""
    place = current.place if device is None else to_place(device)
    if device is None and not has_streams(place) and gpu_count():
        place = to_place(CUDAPlace(0))
    if not has_streams(place):
        need_cuda(what)
    return checked_place(place, f"device.{what}")


class Stream:
    """A queue of work on a device: in order within, beside other streams of the device.

    Args:
        device (str | Place | int, optional): Of which device; default: the current one, or the first GPU.
        priority (int): 1 before 2.
        stream_base (Stream, optional): Another handle on this stream.

    Raises:
        ValueError: The device has no streams, as the CPU, or there is no such device.

    Example:
        >>> argosy.device.Stream("cpu")
        Traceback (most recent call last):
        argosy.device.cuda.NoCudaError
        >>> if argosy.device.is_available():
        ...     first, second = argosy.device.Stream(), argosy.device.Stream()
        ...     second.wait_event(first.record_event())
        ...     second.wait_stream(first)
        ...     done = second.query()
    """

    def __init__(self, device=None, priority=2, stream_base=None):
        if isinstance(stream_base, Stream):
            self.device, self._number = stream_base.device, stream_base._number
            self._owner = stream_base
            return
        unsupported("device.Stream", "pass a Stream of this build", stream_base=(stream_base, None))
        self.device = _streamed("Stream", device)
        no_effect(
            "device.Stream", f"{self.device!r} treats all streams alike", priority=(priority, 2)
        )
        self._number = _core.make_stream(self.device)
        weakref.finalize(self, _core.drop_stream, self.device, self._number)

    @classmethod
    def _of(cls, place, number):
        """A handle on a stream that is there."""
        self = cls.__new__(cls)
        self.device, self._number = place, number
        return self

    @property
    def stream_base(self):
        """This stream."""
        return self

    def wait_event(self, event):
        """Lets later work of this queue wait for an event.

        Args:
            event (Event): It; one that was not recorded is not waited for.
        """
        if event._mark is not None:
            _core.wait_event(self.device, self._number, event._mark)

    def wait_stream(self, stream):
        """Lets later work of this queue wait for what is in another queue now.

        Args:
            stream (Stream): It.
        """
        self.wait_event(stream.record_event())

    def record_event(self, event=None):
        """Puts an event into this queue.

        Args:
            event (Event, optional): It; default: a new one.

        Returns:
            Event: It.
        """
        event = Event() if event is None else event
        event.record(self)
        return event

    def query(self):
        """Whether the work of this queue is done.

        Returns:
            bool: That.
        """
        return _core.stream_done(self.device, self._number)

    def synchronize(self):
        """Waits until the work of this queue is done.

        Raises:
            DeviceError: Work on the device failed.

        Example:
            >>> if argosy.device.cuda.device_count():
            ...     argosy.cuda.Stream().synchronize()
        """
        _core.synchronize_stream(self.device, self._number)

    def __eq__(self, other):
        return isinstance(other, Stream) and (self.device, self._number) == (
            other.device,
            other._number,
        )

    def __hash__(self):
        return hash((self.device, self._number))

    def __repr__(self):
        return f"<argosy.device.Stream {self._number} of {self.device!r}>"


class Event:
    """A mark in a stream.

    Args:
        enable_timing (bool): Whether elapsed_time may be asked of it.
        blocking (bool): Whether to sleep while waiting for it, which waits here always do.
        interprocess (bool): Whether other processes may use it; only False.

    Raises:
        ValueError: This process has no device with streams.
        NotImplementedError: interprocess is True.

    Example:
        >>> if argosy.device.is_available():
        ...     begin, end = (argosy.device.Event(enable_timing=True) for _ in range(2))
        ...     begin.record()
        ...     end.record()
        ...     while not end.query():
        ...         pass
        ...     milliseconds = begin.elapsed_time(end)
    """

    def __init__(self, enable_timing=False, blocking=False, interprocess=False):
        if not _core.devices() and why_no_gpu():
            need_cuda("Event")
        unsupported("device.Event", "leave it out", interprocess=(bool(interprocess), False))
        no_effect("device.Event", "waits sleep", blocking=(bool(blocking), False))
        self._timed = bool(enable_timing)
        self._mark = None

    def record(self, stream=None):
        """Puts this mark into a stream, and takes it out of the one where it was.

        Args:
            stream (Stream, optional): It; default: the current one.

        Raises:
            ValueError: No stream is given, and the current device has none.
        """
        stream = current_stream() if stream is None else stream
        self._mark = _core.record_event(stream.device, stream._number)

    def query(self):
        """Whether the work before this mark is done.

        Returns:
            bool: That; True before it is recorded.
        """
        return self._mark is None or _core.event_done(self._mark)

    def elapsed_time(self, end_event):
        """Milliseconds between this mark and another.

        Args:
            end_event (Event): It.

        Returns:
            float: That.

        Raises:
            ValueError: One of them was made without enable_timing, or is not recorded.
            RuntimeError: Work before one of them is not done.
        """
        for event in (self, end_event):
            if not event._timed or event._mark is None:
                raise ValueError(
                    "[Event.elapsed_time] expected two recorded events that were made with"
                    " enable_timing=True. Do this: make them so, and record both."
                )
        return _core.event_milliseconds(self._mark, end_event._mark)

    def synchronize(self):
        """Waits until the work before this mark is done; one that was not recorded is not waited for.

        Raises:
            DeviceError: Work on the device failed.

        Example:
            >>> if argosy.device.cuda.device_count():
            ...     argosy.cuda.Event().synchronize()
        """
        if self._mark is not None:
            _core.synchronize_event(self._mark)


def current_stream(device=None):
    """The stream to which this thread's work on a device goes.

    Args:
        device (str | Place | int, optional): Which; default: the current one.

    Returns:
        Stream: It.

    Raises:
        ValueError: The device has no streams, as the CPU.

    Example:
        >>> argosy.device.current_stream("cpu")
        Traceback (most recent call last):
        argosy.device.cuda.NoCudaError
    """
    place = _streamed("current_stream", device)
    return _kept.streams.get(place) or Stream._of(place, _core.current_stream(place))


def set_stream(stream):
    """Lets this thread's work on a device go to another stream of it.

    Args:
        stream (Stream): It.

    Returns:
        Stream: The one before.

    Raises:
        ValueError: It is no stream.

    Example:
        >>> argosy.device.set_stream(None)
        Traceback (most recent call last):
        argosy.device.cuda.NoCudaError
    """
    if not isinstance(stream, Stream):
        need_cuda("set_stream")
    before = current_stream(stream.device)
    _core.set_current_stream(stream.device, stream._number)
    _kept.streams[stream.device] = stream
    return before


class stream_guard:
    """A context in which this thread's work goes to another stream.

    Args:
        stream (Stream, optional): It; None leaves it where it is.

    Raises:
        ValueError: On entering, where it is no stream.

    Example:
        >>> with argosy.device.stream_guard(None):
        ...     x = argosy.ones([2])
    """

    def __init__(self, stream=None):
        self._stream = stream

    def __enter__(self):
        self._before = None if self._stream is None else set_stream(self._stream)
        return self

    def __exit__(self, *exc):
        if self._before is not None:
            set_stream(self._before)
        return False
