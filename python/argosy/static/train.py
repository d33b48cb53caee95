"""Executor.train_from_dataset: threads that run a Program over a data set."""

from __future__ import annotations

import time

from argosy import _core

_SHOWN = 1000  # numbers of a fetched value that are printed
_WAYS = ("sent", "received")
service_progress = None  # set by fleet: what its runtime says of the servers
_TICK = 0.1  # seconds between looks at Ctrl-C and fetch handlers


class FetchHandler:
    """Gets values of variables from time to time while a data set is trained on.

    Args:
        var_dict (dict): Variables by the names under which handler() gets them.
        period_secs (float): Seconds between calls.
    """

    def __init__(self, var_dict=None, period_secs=60):
        if var_dict is None:
            raise ValueError(
                "[FetchHandler] var_dict: expected a dict of variables by name, got None."
                " Do this: pass e.g. {'loss': loss}."
            )
        self.var_dict = var_dict
        self.period_secs = period_secs

    def handler(self, res_dict):
        """To be defined: called with {name: value as a NumPy array} of the last batch. Prints them unless defined."""
        print(", ".join(f"{name}: {value}" for name, value in res_dict.items()), flush=True)

    @staticmethod
    def help():
        """Prints how to write one."""
        print(
            "class Mine(argosy.base.FetchHandler):\n"
            "    def handler(self, res_dict):\n"
            "        print(res_dict['auc'])\n\n"
            "exe.train_from_dataset(.., fetch_handler=Mine({'auc': auc}, period_secs=10))"
        )


def run_dataset(exe, program, dataset, scope, thread, debug, fetch_list, fetch_info, print_period,
                fetch_handler, infer):  # fmt: skip
    """What both methods of Executor do."""
    from .executor import _flat

    name = "infer_from_dataset" if infer else "train_from_dataset"
    if dataset is None:
        raise RuntimeError("dataset is needed and should be initialized")
    program, scope = exe._checked(name, program, scope)
    fetches = _flat(fetch_list)
    labels = [getattr(v, "name", v) for v in fetches] if fetch_info is None else list(fetch_info)
    if len(labels) != len(fetches):
        raise ValueError(
            f"[Executor.{name}] fetch_info: expected {len(fetches)} texts, one for each variable of"
            f" fetch_list, got {len(labels)}."
            " Do this: give one text for each."
        )
    if program._fleet_opt:
        _check_options(program._fleet_opt)
    if infer:
        program = _forward(program)
    if not hasattr(dataset, "_start"):
        _run_dicts(exe, program, dataset, scope, fetches, labels, print_period)
        return
    threads = thread if thread > 0 else dataset.thread_num
    if program._exchanges and threads > 1 and not infer:
        raise NotImplementedError(
            f"[Executor.{name}] the Program exchanges gradients with other processes: expected one thread, as"
            f" nobody knows in which order several would, got {threads}. Do this: pass thread=1, and start"
            " more processes."
        )
    handled = dict(fetch_handler.var_dict) if fetch_handler is not None else {}
    run = _Run(name, labels, list(handled), fetch_handler, debug)
    run.start(exe, program, dataset, scope, threads, fetches + list(handled.values()), print_period)
    run.to_the_end()
    for done in [] if infer else program._after_data:
        done()


def _check_options(options):
    """Raises NotImplementedError for what a Program's _fleet_opt asks for and would be ignored."""
    where = options.get("dump_fields_path")
    for name in ("dump_fields", "dump_param"):
        if where and options.get(name):
            raise NotImplementedError(
                f"[parameter_server] {name} of trainer_desc_configs is {list(options[name])!r}, which"
                " the parameter server does not do. Do this: leave dump_fields_path empty, and fetch"
                " these variables."
            )


def _forward(program):
    """The program without what trains."""
    if all(op._described["role"] == "forward" for op in program.global_block().ops):
        return program
    version = _core.program_version(program._handle)
    kept = getattr(program, "_forward_part", None)
    if kept is None or kept[0] != version:
        kept = program._forward_part = (version, program.clone(for_test=True))
    return kept[1]


def _run_dicts(exe, program, dataset, scope, fetches, labels, print_period):
    if not hasattr(dataset, "__iter__"):
        raise TypeError(
            f"[train_from_dataset] dataset: expected a QueueDataset, an InMemoryDataset or an iterable"
            f" of feed dicts, got {type(dataset).__name__}."
            " Do this: pass one of them."
        )
    for step, feed in enumerate(dataset, 1):
        values = exe.run(program, feed, fetches, scope=scope)
        if values and step % print_period == 0:
            print(", ".join(f"{label}: {v}" for label, v in zip(labels, values)), flush=True)


def _ahead(handle):
    """What a thread runs on its next batch while servers answer; None if that cannot be known."""
    copy = _core.program_clone(handle)
    (report,) = _core.passes_run(copy, ["parameter_server_ahead"], {"scope": None})
    return copy if report["changed"] else None


class _Run:
    """One pass."""

    def __init__(self, name, labels, handled, handler, debug):
        self.name = name
        self.labels = labels
        self.handled = handled
        self.handler = handler
        self.prints = bool(labels) or debug
        self.debug = debug
        self.before = _service()

    def start(self, exe, program, dataset, scope, threads, fetches, print_period):
        from .executor import _plan

        names = [v.name for v in _core.program_inputs(program._handle)]
        slots = {}
        for i, (slot, _, ragged, _) in enumerate(dataset._format()[0]):
            if slot in names:
                slots[slot] = i
            if ragged and f"{slot}@LENGTHS" in names:
                slots[f"{slot}@LENGTHS"] = ~i
        plan = _plan(program, dict.fromkeys(slots), fetches, False)
        inputs = [slots[name] for name, _, _ in plan.inputs]
        for update in program._before_run:
            update(scope)
        if exe._threads is None:
            exe._threads = _core.executor_new(64)
            _core.executor_parallel(exe._threads, 0)
        self.trainer = _core.trainer_start(
            exe._threads, plan.handle, inputs, plan.fetches, scope._handle, dataset._start(threads),
            threads, print_period if self.prints else 0,
            _ahead(plan.handle) if program._prefetches else None, dataset._timeout,
        )  # fmt: skip

    def to_the_end(self):
        """Reports until the pass has ended; leaves no thread behind."""
        period = self.handler.period_secs if self.handler is not None else float("inf")
        due = time.monotonic() + period
        try:
            ended = False
            while not ended:
                ended, reports = _core.trainer_wait(self.trainer, _TICK)
                for step, values in reports:
                    self.report(step, values)
                if time.monotonic() >= due:
                    due = time.monotonic() + period
                    self.handle()
            _core.trainer_finish(self.trainer)
        except BaseException:
            _core.trainer_stop(self.trainer)
            raise
        finally:
            status = _core.trainer_status(self.trainer)
            self.trainer = None  # waits for its threads
        if self.debug:
            print(f"{self.name}: {status['steps']} batches, {self.progress(status)}", flush=True)

    def report(self, step, values):
        if not self.prints:
            return
        parts = [f"time: [{time.strftime('%Y-%m-%d %H:%M:%S')}]", f"batch: [{step}]"]
        for label, value in zip(self.labels, values):
            parts.append(_shown(label, value))
        print(", ".join(parts) + " | " + self.progress(), flush=True)

    def progress(self, status=None):
        parts = _progress(_core.trainer_status(self.trainer) if status is None else status)
        now = _service()
        if now:
            parts += [f"{way} {_size(now[way] - self.before.get(way, 0))}" for way in _WAYS]
            parts.append(f"{now['waiting']} steps to send")
        return ", ".join(parts)

    def handle(self):
        values = _core.trainer_latest(self.trainer)
        if values:
            found = [_core.to_numpy(v, True) for v in values[len(self.labels) :]]
            self.handler.handler(dict(zip(self.handled, found)))


def _service():
    """Of the parameter server, if this process has one (see fleet.runtime.Runtime.progress)."""
    return {} if service_progress is None else service_progress()


def _shown(label, value):
    array = _core.to_numpy(value, False).reshape(-1)
    more = " ..." if array.size > _SHOWN else ""
    return f"{label}[{array.size}]:[{' '.join(map(str, array[:_SHOWN]))}{more}]"


def _size(count):
    for unit in ("B", "kB", "MB", "GB"):
        if count < 1000:
            break
        count /= 1000
    else:
        unit = "TB"
    return f"{count:.3g} {unit}"


def _progress(status):
    """Examples a second, how full the queue is, what was read of how much, and the time left."""
    seconds = max(status["seconds"], 1e-9)
    parts = [f"{status['trained'] / seconds:.0f} examples/s"]
    if status["room"]:
        parts.append(f"queue {status['queued']}/{status['room']}")
    done = total = 0
    if status["bytes"]:
        done, total = status["bytes"], status["total_bytes"]
        parts.append(f"read {_size(done)}" + (f" of {_size(total)}" if total else ""))
    elif status["total_samples"]:
        done, total = status["samples"], status["total_samples"]
        parts.append(f"{done} of {total} examples")
    if status["bad_lines"]:
        parts.append(f"{status['bad_lines']} bad lines")
    if total and 0 < done <= total:
        parts.append(f"ETA {seconds * (total - done) / done:.0f} s")
    return parts
