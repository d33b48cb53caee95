"""A recording, and its form on disk: Chrome's trace events, which chrome://tracing and Perfetto
open."""

import json
import os
import threading
import time
from collections import namedtuple

from argosy import _core
from argosy._support import check_choice, no_effect

__all__ = []

# begin and end: nanoseconds since the recording began. thread: index into ProfilerResult.threads. amount:
# bytes in use ("memory" events) or taken less given back (ops). cost: arithmetic operations.
Event = namedtuple("Event", "name kind begin end thread depth amount cost detail")
Thread = namedtuple("Thread", "id name")

# Paddle's names of our kinds.
CATEGORIES = {
    "op": "Operator",
    "kernel": "Kernel",
    "gradient": "Gradient",
    "memory": "Memory",
    "communication": "Communication",
    "data": "Dataloader",
    "copy": "Memcpy",
    "wait": "HostWait",
    "python": "PythonOp",
    "user": "PythonUserDefined",
    "forward": "Forward",
    "backward": "Backward",
    "optimization": "Optimization",
    "step": "ProfileStep",
}
_KINDS = {category: kind for kind, category in CATEGORIES.items()}
_VERSION = "1.0"
# Each thread keeps its newest events; some 120 bytes each.
_CAPACITY = 1 << 20


class Recording:
    """The one recording of the process, from its making to :meth:`stop`."""

    def __init__(self, shapes, memory, cost):
        if _core.profile_enabled():
            raise RuntimeError(
                "[Profiler] another profiler records already. Do this: stop it first; one process "
                "has one recording at a time."
            )
        self._cpu = os.times()
        self._begun = time.monotonic_ns()
        self._begun_wall = time.time_ns()
        _core.profile_start(_CAPACITY, shapes, memory, cost)

    def stop(self):
        events, threads, dropped = _core.profile_stop()
        lasted = (time.monotonic_ns() - self._begun) / 1e9
        now = os.times()
        busy = now.user + now.system - self._cpu.user - self._cpu.system
        zero = self._begun
        events = [
            Event(name, kind, begin - zero, end - zero, *rest)
            for name, kind, begin, end, *rest in events
        ]
        python_names = {t.native_id: t.name for t in threading.enumerate()}
        threads = [Thread(id, python_names.get(id, name)) for id, name in threads]
        extra = {
            "cpu_utilization": busy / lasted / (os.cpu_count() or 1) if lasted > 0 else 0.0,
            "seconds": lasted,
            "dropped_events": dropped,
            "begin_time_ns": self._begun_wall,
        }
        return ProfilerResult(events, threads, extra)


class ProfilerResult:
    """What one recording saw.

    Attributes:
        events (list of Event): By their beginning.
        threads (list of Thread): The system's ids and the names of the threads that events name by
            index.
        extra (dict): ``cpu_utilization`` of this process (1: all cores busy), ``seconds`` recorded,
            ``dropped_events``: how many old events had to make room for newer ones,
            ``begin_time_ns``: when it began, since the epoch.
    """

    def __init__(self, events, threads, extra, pid=None):
        self.events = events
        self.threads = threads
        self.extra = extra
        self.pid = os.getpid() if pid is None else pid

    def get_data(self):
        """The events of each thread, by its id."""
        data = {}
        for event in self.events:
            data.setdefault(self.threads[event.thread].id, []).append(event)
        return data

    def get_extra_info(self):
        return dict(self.extra)

    def get_version(self):
        return _VERSION

    def save(self, path, format="json"):
        """Writes the trace as JSON, the one form that there is on disk. format: 'json'; 'pb' is JSON,
        too, which load_profiler_result reads."""
        check_choice("ProfilerResult.save", "format", format, ("json", "pb"))
        no_effect("ProfilerResult.save", "traces are JSON", format=(format, "json"))
        folder = os.path.dirname(path)
        if folder:
            os.makedirs(folder, exist_ok=True)
        with open(path, "w") as file:
            json.dump(self._to_json(), file, separators=(",", ":"))

    def _to_json(self):
        out = [
            {
                "name": "process_name",
                "ph": "M",
                "pid": self.pid,
                "tid": 0,
                "args": {"name": "argosy"},
            }
        ]
        for order, thread in enumerate(self.threads):
            head = {"ph": "M", "pid": self.pid, "tid": thread.id}
            out.append({**head, "name": "thread_name", "args": {"name": thread.name}})
            out.append({**head, "name": "thread_sort_index", "args": {"sort_index": order}})
        for e in self.events:
            item = {
                "name": e.name,
                "cat": CATEGORIES[e.kind],
                "pid": self.pid,
                "tid": self.threads[e.thread].id,
                "ts": e.begin / 1000,
            }
            if e.kind == "memory":
                item["ph"] = "C"
                item["name"] = f"memory {e.name}"
                item["args"] = {"allocated": e.amount}
            else:
                item["ph"] = "X"
                item["dur"] = (e.end - e.begin) / 1000
                args = {"depth": e.depth}
                if e.detail:
                    args["inputs"] = e.detail
                if e.amount:
                    args["bytes"] = e.amount
                if e.cost:
                    args["flops"] = e.cost
                item["args"] = args
            out.append(item)
        return {
            "schemaVersion": _VERSION,
            "displayTimeUnit": "ms",
            # Where traces of several processes meet.
            "baseTimeNanoseconds": self.extra["begin_time_ns"],
            "traceEvents": out,
            "ExtraInfo": self.extra,
        }

    @classmethod
    def load(cls, path):
        try:
            with open(path, encoding="utf-8") as file:
                trace = json.load(file)
            items = trace["traceEvents"]
            threads, index, events, pid = [], {}, [], None
            for item in items:
                pid = item["pid"]
                if item["ph"] == "M":
                    if item["name"] == "thread_name":
                        index[item["tid"]] = len(threads)
                        threads.append(Thread(item["tid"], item["args"]["name"]))
                    continue
                args = item["args"]
                begin = round(item["ts"] * 1000)
                end = begin + round(item.get("dur", 0) * 1000)
                memory = item["ph"] == "C"
                events.append(
                    Event(
                        item["name"][len("memory ") :] if memory else item["name"],
                        _KINDS[item["cat"]],
                        begin,
                        end,
                        index[item["tid"]],
                        args.get("depth", 0),
                        args["allocated"] if memory else args.get("bytes", 0),
                        args.get("flops", 0.0),
                        args.get("inputs"),
                    )
                )
            return cls(events, threads, trace["ExtraInfo"], pid)
        except (ValueError, KeyError, TypeError) as error:
            raise ValueError(
                f"[load_profiler_result] {path!r} is not a trace written by this profiler: "
                f"{type(error).__name__}: {error}. Do this: pass a file that Profiler.export wrote."
            ) from None
