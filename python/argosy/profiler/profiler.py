"""The profiler: when it records, and what becomes of a recording."""

import datetime
import os
import socket
import warnings
from enum import Enum

from argosy._support import no_effect

from . import instrument
from .statistic import SortedKeys, summary_text
from .timer import Timer
from .trace import Recording
from .utils import RecordEvent, TracerEventType

__all__ = []


class ProfilerState(Enum):
    """What a profiler does during a step."""

    CLOSED = 0  # nothing
    READY = 1  # nothing; the step before recording begins
    RECORD = 2
    RECORD_AND_RETURN = 3  # records, and hands the recording over when the step ends


class ProfilerTarget(Enum):
    """What to watch."""

    CPU = 0
    GPU = 1
    XPU = 2
    CUSTOM_DEVICE = 3


_RECORDING = (ProfilerState.RECORD, ProfilerState.RECORD_AND_RETURN)


def make_scheduler(*, closed, ready, record, repeat=0, skip_first=0):
    """A schedule in cycles: after `skip_first` steps, again and again `closed` steps of nothing,
    `ready` steps of getting ready and `record` steps of recording.

    Args:
        closed, ready (int): Steps, at least 0.
        record (int): Steps, at least 1; the last hands the recording over.
        repeat (int): How many cycles; 0 for no end.
        skip_first (int): Steps before the first cycle.

    Returns:
        callable: From the number of a step to its :class:`ProfilerState`.

    Raises:
        AssertionError: A number is out of range.

    Example:
        >>> schedule = argosy.profiler.make_scheduler(closed=1, ready=1, record=1)
        >>> [schedule(step).name for step in range(3)]
        ['CLOSED', 'READY', 'RECORD_AND_RETURN']
    """
    if closed < 0 or ready < 0 or record <= 0 or repeat < 0 or skip_first < 0:
        raise AssertionError(
            "[make_scheduler] expected closed >= 0, ready >= 0, record >= 1, repeat >= 0 and "
            f"skip_first >= 0, got closed={closed}, ready={ready}, record={record}, "
            f"repeat={repeat}, skip_first={skip_first}."
        )
    period = closed + ready + record

    def state_of(step):
        step -= skip_first
        if step < 0 or (repeat > 0 and step >= repeat * period):
            return ProfilerState.CLOSED
        step %= period
        if step < closed:
            return ProfilerState.CLOSED
        if step < closed + ready:
            return ProfilerState.READY
        return ProfilerState.RECORD_AND_RETURN if step == period - 1 else ProfilerState.RECORD

    return state_of


def _always_record(step):
    return ProfilerState.RECORD


def _schedule_of(scheduler):
    if scheduler is None:
        return _always_record
    if callable(scheduler):
        return scheduler
    if not isinstance(scheduler, (tuple, list)):
        raise TypeError(
            "[Profiler] scheduler: expected a function from step numbers to ProfilerStates, or a "
            f"pair (first step, step to stop before), got {type(scheduler).__name__}. Do this: "
            "use make_scheduler, or a pair."
        )
    if len(scheduler) != 2 or scheduler[1] <= max(scheduler[0], 0):
        raise AssertionError(
            "[Profiler] scheduler: a pair is (first step, step to stop before) with the second "
            f"larger, got {tuple(scheduler)}."
        )
    begin, end = max(scheduler[0], 0), scheduler[1]
    ready = min(begin, 1)
    return make_scheduler(closed=begin - ready, ready=ready, record=end - begin, repeat=1)


def _handler(dir_name, worker_name, ending):
    os.makedirs(dir_name, exist_ok=True)

    def handle(prof):
        worker = worker_name or f"host_{socket.gethostname()}pid_{os.getpid()}"
        time = datetime.datetime.now().strftime("%Y_%m_%d_%H_%M_%S_%f")
        prof.export(os.path.join(dir_name, f"{worker}_time_{time}{ending}"))

    return handle


def export_chrome_tracing(dir_name, worker_name=None):
    """A handler for ``on_trace_ready`` that writes each recording to a file of `dir_name`, for
    chrome://tracing or Perfetto (https://ui.perfetto.dev).

    Args:
        dir_name (str): Folder; made if it is missing.
        worker_name (str, optional): How file names begin; by default the host's name and the
            process's number. The time follows, then ``.paddle_trace.json``.

    Returns:
        callable: Takes the profiler.

    Raises:
        OSError: The folder cannot be made.

    Example:
        >>> import os, tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     handler = argosy.profiler.export_chrome_tracing(folder, "me")
        ...     with argosy.profiler.Profiler(on_trace_ready=handler) as prof:
        ...         prof.step()
        ...     [name.split("_")[0] for name in os.listdir(folder)]
        ['me']
    """
    return _handler(dir_name, worker_name, ".paddle_trace.json")


def export_protobuf(dir_name, worker_name=None):
    """Like :func:`export_chrome_tracing`, for files that :func:`load_profiler_result` reads.

    There is one form of traces here, which that function reads too, so these files hold JSON and
    are named so (``.paddle_trace.pb.json``): Paddle's protobuf tools do not read them.

    Args:
        dir_name (str): Folder; made if it is missing.
        worker_name (str, optional): How file names begin; by default the host's name and the
            process's number.

    Returns:
        callable: Takes the profiler.

    Raises:
        OSError: The folder cannot be made.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     handler = argosy.profiler.export_protobuf(folder)
        ...     with argosy.profiler.Profiler(on_trace_ready=handler) as prof:
        ...         prof.step()
    """
    return _handler(dir_name, worker_name, ".paddle_trace.pb.json")


class Profiler:
    """Records what runs: ops, gradients, layers, waits for data, ranges of the program; by thread.

    Args:
        targets (list of ProfilerTarget, optional): What to watch. The CPU always is.
        scheduler (callable | pair, optional): The state for each step (:func:`make_scheduler`), or
            ``(first, last + 1)`` of the steps to record. By default all are recorded.
        on_trace_ready (callable, optional): Called with the profiler when a recording is complete.
            By default it is written to ``./profiler_log``.
        record_shapes (bool): Note shapes and dtypes of the inputs of ops.
        profile_memory (bool): Note how many bytes each op takes, and the bytes in use over time.
        timer_only (bool): Record nothing; only time steps (:meth:`step_info`).
        emit_nvtx (bool): Has no effect on CPUs.
        custom_device_types (list): Has no effect on CPUs.
        with_flops (bool): Note the arithmetic operations of ops that know them.

    Examples:
        >>> seen = []
        >>> with paddle.profiler.Profiler(scheduler=(1, 3), on_trace_ready=seen.append) as prof:
        ...     for step in range(4):
        ...         _ = paddle.ones([2, 2]).sum()
        ...         prof.step()
        >>> seen[0] is prof
        True
    """

    def __init__(
        self,
        *,
        targets=None,
        scheduler=None,
        on_trace_ready=None,
        record_shapes=False,
        profile_memory=False,
        timer_only=False,
        emit_nvtx=False,
        custom_device_types=[],
        with_flops=False,
    ):
        no_effect(
            "Profiler", "only CPUs are watched", custom_device_types=(custom_device_types, []),
            emit_nvtx=(emit_nvtx, False),
        )  # fmt: skip
        self.targets = set(targets) if targets is not None else {ProfilerTarget.CPU}
        self.scheduler = _schedule_of(scheduler)
        self.on_trace_ready = on_trace_ready
        self.record_shapes = record_shapes
        self.profile_memory = profile_memory
        self.timer_only = timer_only
        self.emit_nvtx = emit_nvtx
        self.with_flops = with_flops
        self.step_num = 0
        self.previous_state = ProfilerState.CLOSED
        self.current_state = self.scheduler(0)
        self.profiler_result = None  # the last complete recording
        self._recording = None
        self._step_event = None
        self._timer = Timer()
        self._started = False

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, exc_type, exc_value, traceback):
        self.stop()

    def start(self):
        """Begins with step 0.

        Example:
            >>> import tempfile
            >>> prof = argosy.profiler.Profiler(on_trace_ready=lambda prof: None)
            >>> prof.start()
            >>> _ = argosy.ones([2]) + 1
            >>> prof.step(num_samples=8)
            >>> text = prof.step_info(unit="samples")
            >>> prof.stop()
            >>> with tempfile.TemporaryDirectory() as folder:
            ...     prof.export(folder + "/trace.json")
            ...     result = argosy.profiler.load_profiler_result(folder + "/trace.json")
            >>> len(result.events) > 0
            True
        """
        if self._started:
            return
        self._started = True
        instrument.install(self._timer)
        try:
            self._timer.begin()
            if self.timer_only:
                return
            if self.current_state in _RECORDING:
                self._begin_recording()
            self._begin_step()
        except BaseException:
            self._started = False
            instrument.remove(self._timer)
            raise

    def stop(self):
        """Ends; a recording under way is complete."""
        if not self._started:
            return
        self._started = False
        instrument.remove(self._timer)
        if self.timer_only:
            self._timer.end()
            return
        self._end_step()
        if self._recording is not None:
            self._end_recording()
            self._hand_over()

    def step(self, num_samples=None):
        """Marks the end of a step and the beginning of the next.

        Args:
            num_samples (int, optional): Samples of the step that ends, for the rate that
                :meth:`step_info` tells.
        """
        if not self._started:
            return
        self._timer.step(num_samples)
        if self.timer_only:
            return
        self._end_step()
        self.step_num += 1
        self.previous_state, self.current_state = self.current_state, self.scheduler(self.step_num)
        if self.previous_state is ProfilerState.RECORD_AND_RETURN:
            self._end_recording()
            self._hand_over()
        elif self._recording is not None and self.current_state not in _RECORDING:
            warnings.warn(
                f"[Profiler] the scheduler went from RECORD to {self.current_state.name} at step "
                f"{self.step_num}; the recording is dropped. Do this: let the last step to record "
                "be RECORD_AND_RETURN.",
                stacklevel=2,
            )
            self._recording.stop()
            self._recording = None
        if self._recording is None and self.current_state in _RECORDING:
            self._begin_recording()
        self._begin_step()

    def step_info(self, unit=None):
        """The averages of the steps since the last call.

        Args:
            unit (str, optional): What ``num_samples`` of :meth:`step` counts; "samples".

        Returns:
            str: ``reader_cost`` (seconds of waiting for data, if a DataLoader ran), ``batch_cost``
            (seconds of a step) and ``ips`` (samples, or steps, in a second).
        """
        return self._timer.step_info(unit)

    def export(self, path="", format="json"):
        """Writes the last complete recording, for chrome://tracing, Perfetto and
        :func:`load_profiler_result`.

        Args:
            path (str): The file; folders are made.
            format (str): "json" or "pb"; JSON is written for both.
        """
        if self.profiler_result is None:
            warnings.warn(
                "[Profiler] nothing to export: no recording is complete yet. Do this: call it "
                "after stop(), or from on_trace_ready.",
                stacklevel=2,
            )
            return
        self.profiler_result.save(path, format)

    def summary(
        self,
        sorted_by=SortedKeys.CPUTotal,
        op_detail=True,
        thread_sep=False,
        time_unit="ms",
        views=None,
    ):
        """Prints tables of the last complete recording.

        Args:
            sorted_by (SortedKeys): The order of rows. There is no device time on the CPU: GPU keys
                sort as their CPU kin.
            op_detail (bool): Below each op, those that ran inside it.
            thread_sep (bool): A table of ops for each thread.
            time_unit (str): "s", "ms", "us" or "ns".
            views (SummaryView | list of SummaryView, optional): Which tables; by default all.
        """
        if self.profiler_result is None:
            return
        print(
            summary_text(self.profiler_result, sorted_by, op_detail, thread_sep, time_unit, views)
        )

    def _begin_recording(self):
        self._recording = Recording(self.record_shapes, self.profile_memory, self.with_flops)

    def _end_recording(self):
        self.profiler_result = self._recording.stop()
        self._recording = None

    def _hand_over(self):
        if self.on_trace_ready is None:
            self.on_trace_ready = export_chrome_tracing("./profiler_log/")
        self.on_trace_ready(self)

    def _begin_step(self):
        self._step_event = RecordEvent(
            f"ProfileStep#{self.step_num}", event_type=TracerEventType.ProfileStep
        )
        self._step_event.begin()

    def _end_step(self):
        if self._step_event is not None:
            self._step_event.end()
            self._step_event = None
