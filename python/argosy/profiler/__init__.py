"""What ran when, on which thread: recording, Chrome traces, summary tables, step timers.

with paddle.profiler.Profiler(scheduler=(2, 5)) as prof:
    for batch in loader:
        train(batch)
        prof.step()
prof.summary()
"""

from .profiler import (
    Profiler,
    ProfilerState,
    ProfilerTarget,
    export_chrome_tracing,
    export_protobuf,
    make_scheduler,
)
from .statistic import SortedKeys, SummaryView
from .utils import RecordEvent, load_profiler_result

__all__ = [
    "ProfilerState",
    "ProfilerTarget",
    "make_scheduler",
    "export_chrome_tracing",
    "export_protobuf",
    "Profiler",
    "RecordEvent",
    "load_profiler_result",
    "SortedKeys",
    "SummaryView",
]
