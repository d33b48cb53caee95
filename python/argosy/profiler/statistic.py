"""Tables of a recording."""

from enum import Enum

from argosy._support import check_choice

__all__ = []


class SortedKeys(Enum):
    """By what rows are sorted."""

    CPUTotal = 0
    CPUAvg = 1
    CPUMax = 2
    CPUMin = 3
    GPUTotal = 4
    GPUAvg = 5
    GPUMax = 6
    GPUMin = 7


class SummaryView(Enum):
    """The tables of :meth:`Profiler.summary`."""

    DeviceView = 0
    OverView = 1
    ModelView = 2
    DistributedView = 3
    KernelView = 4
    OperatorView = 5
    MemoryView = 6
    MemoryManipulationView = 7
    UDFView = 8


_UNITS = {"s": 1e9, "ms": 1e6, "us": 1e3, "ns": 1.0}
_PHASES = ("data", "forward", "backward", "optimization")
_COPIES = ("assign", "cast", "copy_", "contiguous", "to_device")


class _Row:
    """What the events of one name add up to. Times in nanoseconds."""

    __slots__ = ("name", "calls", "total", "own", "most", "least", "bytes", "cost", "parts")

    def __init__(self, name):
        self.name = name
        self.calls = self.total = self.own = self.most = self.bytes = 0
        self.least = None
        self.cost = 0.0
        self.parts = {}

    def add(self, event, own):
        lasted = event.end - event.begin
        self.calls += 1
        self.total += lasted
        self.own += own
        self.most = max(self.most, lasted)
        self.least = lasted if self.least is None else min(self.least, lasted)
        self.bytes += event.amount
        self.cost += event.cost

    def mean(self):
        return self.total / self.calls


class _Node:
    __slots__ = ("event", "inner", "children")

    def __init__(self, event):
        self.event = event
        self.inner = 0  # time of the children
        self.children = []


def _forest(events):
    """Events of one thread, sorted by their beginning, as trees of what encloses what."""
    roots, stack = [], []
    for event in sorted(events, key=lambda e: (e.begin, -e.end)):
        while stack and stack[-1].event.end < event.end:
            stack.pop()
        node = _Node(event)
        if stack:
            stack[-1].children.append(node)
            stack[-1].inner += event.end - event.begin
        else:
            roots.append(node)
        stack.append(node)
    return roots


def _walk(nodes):
    todo = list(nodes)
    while todo:
        node = todo.pop()
        yield node
        todo.extend(node.children)


def _rows(events, detail):
    """Rows by name, for events of one thread; with `detail`, also rows of what ran inside."""
    rows = {}
    for node in _walk(_forest(events)):
        event = node.event
        row = rows.setdefault(event.name, _Row(event.name))
        row.add(event, event.end - event.begin - node.inner)
        if detail:
            for child in node.children:
                e = child.event
                row.parts.setdefault(e.name, _Row(e.name)).add(e, e.end - e.begin - child.inner)
    return rows


def _merge(all_rows):
    merged = {}
    for rows in all_rows:
        for name, row in rows.items():
            into = merged.get(name)
            if into is None:
                merged[name] = row
                continue
            into.calls += row.calls
            into.total += row.total
            into.own += row.own
            into.most = max(into.most, row.most)
            into.least = min(into.least, row.least)
            into.bytes += row.bytes
            into.cost += row.cost
            into.parts = _merge([into.parts, row.parts])
    return merged


def _covered(events):
    """Time during which at least one of them ran, on any thread."""
    total, until = 0, None
    for event in sorted(events, key=lambda e: e.begin):
        begin = event.begin if until is None else max(event.begin, until)
        if event.end > begin:
            total += event.end - begin
            until = event.end
    return total


def _sorted(rows, sorted_by):
    key = {
        0: lambda row: -row.total,
        1: lambda row: -row.mean(),
        2: lambda row: -row.most,
        3: lambda row: row.least,
    }[sorted_by.value % 4]
    return sorted(rows, key=key)


def _bytes(n):
    for unit in ("B", "KiB", "MiB"):
        if abs(n) < 1024:
            return f"{n:.0f} {unit}" if unit == "B" else f"{n:.1f} {unit}"
        n /= 1024
    return f"{n:.1f} GiB"


def _table(title, head, rows, note=""):
    """Left column left, others right; a row that is a str is a line of its own."""
    cells = [row for row in rows if not isinstance(row, str)]
    widths = [max(len(str(row[i])) for row in [head, *cells]) for i in range(len(head))]

    def line(row):
        return "  ".join(
            str(cell).ljust(width) if i == 0 else str(cell).rjust(width)
            for i, (cell, width) in enumerate(zip(row, widths))
        )

    rule = "  ".join("-" * width for width in widths)
    lines = [f" {title} ".center(len(rule), "-")]
    if note:
        lines.append(note)
    lines += [rule, line(head), rule]
    lines += [row.center(len(rule), "-") if isinstance(row, str) else line(row) for row in rows]
    lines += [rule, ""]
    return "\n".join(lines)


class _Report:
    def __init__(self, result, sorted_by, op_detail, thread_sep, time_unit):
        self.result = result
        self.sorted_by = sorted_by
        self.op_detail = op_detail
        self.thread_sep = thread_sep
        self.unit = time_unit
        self.by_kind = {}
        for event in result.events:
            self.by_kind.setdefault(event.kind, []).append(event)
        steps = self.by_kind.get("step", [])
        ranges = [e for e in result.events if e.kind != "memory"]
        self.whole = _covered(steps or ranges)

    def time(self, ns):
        return f"{ns / _UNITS[self.unit]:.3f}"

    def share(self, ns, of=None):
        of = self.whole if of is None else of
        return f"{100 * ns / of:.2f}" if of else "0.00"

    def stat_cells(self, row, of):
        return [
            row.calls,
            self.time(row.total),
            self.time(row.mean()),
            self.time(row.most),
            self.time(row.least),
            self.share(row.total, of),
        ]

    def time_note(self):
        return f"Time unit: {self.unit}"

    def device(self):
        used = 100 * self.result.extra.get("cpu_utilization", 0.0)
        rows = [("CPU(Process)", f"{used:.2f}")]
        note = "Time of this process on all cores / (seconds recorded * cores)."
        return _table("Device Summary", ("Device", "Utilization (%)"), rows, note)

    def overview(self):
        from .trace import CATEGORIES

        rows = []
        for kind, events in self.by_kind.items():
            if kind != "memory":
                rows.append((CATEGORIES[kind], len(events), _covered(events)))
        rows.sort(key=lambda row: -row[2])
        rows = [(name, calls, self.time(ns), self.share(ns)) for name, calls, ns in rows]
        note = f"{self.time_note()}. Kinds enclose each other; overlaps of one kind count once."
        dropped = self.result.extra.get("dropped_events", 0)
        if dropped:
            note += f" {dropped} older events were dropped."
        return _table(
            "Overview Summary", ("Event Type", "Calls", "CPU Time", "Ratio (%)"), rows, note
        )

    def model(self):
        head = ("Name", "Calls", "CPU Total", "Avg", "Max", "Min", "Ratio (%)")
        rows, rest = [], self.whole
        for kind in ("step", *_PHASES):
            events = self.by_kind.get(kind)
            if not events:
                continue
            # Only the outermost: a layer's time holds that of its sublayers.
            outer = [n.event for t in _by_thread(events).values() for n in _forest(t)]
            row = _Row({"step": "ProfileStep"}.get(kind, f"  {_TITLES.get(kind, kind)}"))
            for event in outer:
                row.add(event, 0)
            rows.append((row.name, *self.stat_cells(row, self.whole)))
            if kind != "step":
                rest -= row.total
        if self.by_kind.get("step"):
            rest = max(rest, 0)
            rows.append(("  Others", "-", self.time(rest), "-", "-", "-", self.share(rest)))
        return _table("Model Summary", head, rows, self.time_note())

    def stat_table(self, title, kinds, detail=False, thread_sep=False, memory=False):
        events = [e for kind in kinds for e in self.by_kind.get(kind, [])]
        if not events:
            return ""
        head = ["Name", "Calls", "CPU Total", "Avg", "Max", "Min", "Ratio (%)", "Self"]
        cost = any(e.cost for e in events)
        memory = memory and any(e.amount for e in events)
        head += ["FLOPs"] * cost + ["Memory"] * memory
        threads = _by_thread(events)
        by_thread = {t: _rows(es, detail) for t, es in threads.items()}
        of = sum(row.own for rows in by_thread.values() for row in rows.values())
        if thread_sep:
            groups = [
                (f" Thread {self.result.threads[t].id}: {self.result.threads[t].name} ", rows)
                for t, rows in sorted(by_thread.items())
            ]
        else:
            groups = [(" All threads ", _merge(by_thread.values()))]

        def cells(row, indent=""):
            extra = [f"{row.cost:.4g}"] * cost + [_bytes(row.bytes)] * memory
            return [indent + row.name, *self.stat_cells(row, of), self.time(row.own), *extra]

        out = []
        for label, rows in groups:
            out.append(label)
            for row in _sorted(rows.values(), self.sorted_by):
                out.append(cells(row))
                for part in _sorted(row.parts.values(), self.sorted_by):
                    out.append(cells(part, "  "))
        note = (
            f"{self.time_note()}. Ratio: of all time in the table. Self: without what ran inside."
        )
        return _table(title, head, out, note)

    def operator(self):
        return self.stat_table(
            "Operator Summary", ("op", "gradient"), self.op_detail, self.thread_sep, memory=True
        )

    def kernel(self):
        return self.stat_table("Kernel Summary", ("kernel",), thread_sep=self.thread_sep)

    def distributed(self):
        return self.stat_table("Distribution Summary", ("communication",))

    def user(self):
        return self.stat_table(
            "UserDefined Summary", ("user", "python"), thread_sep=self.thread_sep
        )

    def copies(self):
        events = [e for e in self.by_kind.get("op", []) if e.name in _COPIES]
        events += self.by_kind.get("copy", []) + self.by_kind.get("wait", [])
        if not events:
            return ""
        rows = _sorted(
            _merge(_rows(t, False) for t in _by_thread(events).values()).values(), self.sorted_by
        )
        head = ("Name", "Calls", "CPU Total", "Avg", "Max", "Min", "Ratio (%)")
        cells = [(row.name, *self.stat_cells(row, self.whole)) for row in rows]
        return _table("Memory Manipulation Summary", head, cells, self.time_note())

    def memory(self):
        samples = self.by_kind.get("memory")
        if not samples:
            return ""
        text = ""
        for place in dict.fromkeys(e.name for e in samples):
            sizes = [e.amount for e in samples if e.name == place]
            rows = [
                ("At the beginning", _bytes(sizes[0])),
                ("Peak", _bytes(max(sizes))),
                ("At the end", _bytes(sizes[-1])),
            ]
            note = "Bytes in use, looked at when ops ended."
            text += _table(f"Memory Summary - {place}", ("", "Allocated"), rows, note) + "\n"
        return text


_TITLES = {
    "data": "Dataloader",
    "forward": "Forward",
    "backward": "Backward",
    "optimization": "Optimization",
}


def _by_thread(events):
    threads = {}
    for event in events:
        threads.setdefault(event.thread, []).append(event)
    return threads


def summary_text(result, sorted_by, op_detail, thread_sep, time_unit, views):
    """The tables of :meth:`Profiler.summary`."""
    check_choice("summary", "time_unit", time_unit, _UNITS)
    if views is None:
        views = list(SummaryView)
    elif isinstance(views, SummaryView):
        views = [views]
    if not isinstance(sorted_by, SortedKeys) or not all(isinstance(v, SummaryView) for v in views):
        raise TypeError(
            "[summary] expected a SortedKeys for sorted_by and SummaryViews for views, got "
            f"{sorted_by!r} and {views!r}."
        )
    report = _Report(result, sorted_by, op_detail, thread_sep, time_unit)
    tables = {
        SummaryView.DeviceView: report.device,
        SummaryView.OverView: report.overview,
        SummaryView.ModelView: report.model,
        SummaryView.DistributedView: report.distributed,
        SummaryView.KernelView: report.kernel,
        SummaryView.OperatorView: report.operator,
        SummaryView.MemoryView: report.memory,
        SummaryView.MemoryManipulationView: report.copies,
        SummaryView.UDFView: report.user,
    }
    return "\n".join(text for text in (tables[view]() for view in views) if text)
