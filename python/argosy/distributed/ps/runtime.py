"""What fleet calls on a worker, on a server, and in a program that runs alone."""

import atexit
import contextlib
import glob
import hashlib
import json
import os
import signal
import sys
import tempfile
import threading
import time
import uuid
import weakref
import zlib

from argosy import _core
from argosy.distributed.fleet.local_runtime import LocalRuntime
from argosy.distributed.fleet.runtime import Runtime, ServiceSettings

from .division import divide, divide_evaluation
from .switches import check_strategy

__all__ = ["make_runtime", "mode_of", "show"]

# A table of servers: the row 0 is above 0 once dense tables have values; the row 1 is where workers of
# sync training tell each other that they have no more data; from _LEAVING on each worker has a row that
# says how far it is with leaving (see ServedRuntime._leave).
_STATE = "parameter_server.state"
_LEAVING = 16
_HERE, _LEAVES, _GONE, _LAST = range(4)
_LEAVE_SECONDS = 20  # that a worker which lives may take from one state to the next
_LOADS = 1 << 32  # at multiples of it a row begins for each time that the first worker loaded
_LOAD_SECONDS = 3600


def mode_of(strategy):
    """sync, half_async, async or geo, as a_sync and a_sync_configs say.

    a_sync False: sync. k_steps > 0: geo. send_queue_size says that N > 0 steps may be ahead of the
    servers: async. Else half_async: with more threads than one, others compute while a step is sent,
    and no gradient is of parameters that miss the thread's own last step, which costs accuracy.
    """
    configs = strategy.strategy.a_sync_configs
    if not strategy.a_sync:
        return "sync"
    if configs.k_steps > 0:
        return "geo"
    ahead = configs.is_set("send_queue_size") and configs.send_queue_size > 0
    return "async" if ahead else "half_async"


def make_runtime(programs, startups, optimizer, strategy, role_maker):
    """Divides the programs and returns the Runtime of this process; None if it runs alone and has no
    distributed parameters."""
    alone = role_maker._is_non_distributed()
    if not alone:
        check_strategy(strategy)
    together = alone or mode_of(strategy) == "sync"
    workers = 1 if together else role_maker._worker_num()
    division = divide(programs, startups, optimizer, strategy, not alone, workers)
    if alone:
        return None if division is None else AloneRuntime(programs, division, strategy)
    if division is None:
        raise ValueError(
            "[fleet.minimize] the program has nothing to train with parameter servers: no parameter "
            "that an optimizer updates. Do this: check that the loss depends on parameters."
        )
    return ServedRuntime(programs, division, strategy, role_maker)


def show(program):
    """The servers' part of a divided program as text: a line for each table."""
    tables = dict(_core.program_metadata(program)).get("parameter_server.tables")
    if not tables:
        return ""
    dense = {}
    for line in dict(_core.program_metadata(program))["parameter_server.dense"].splitlines():
        number, *names = line.split("\t")
        dense[int(number)] = names
    lines = ["servers {"]
    for t in json.loads(tables):
        rule = t["accessor"]["embedding"]
        what = [f'table {t["id"]} "{t["name"]}" : {t["kind"]}']
        if t["kind"] == "sparse":
            what.append(f"{t['accessor']['kind']} rows of {t['accessor']['dim']}")
            what.append(f"from +-{rule['initial_range']:.3g}")
            if t["admission"]["kind"] != "always":
                what.append(f"admission {t['admission']['kind']}")
            if t["tier"] != "memory":
                what.append(t["tier"])
        else:
            what.append(f"{t['size']} numbers ({', '.join(dense.get(t['id'], []))})")
        what.append(rule["rule"])
        lines.append("  " + ", ".join(what))
    return "\n".join([*lines, "}", ""])


def _ps():
    from argosy import _ps

    return _ps


_folders = []  # temporary ones, removed at the end of the process


def _with_folders(tables, folder):
    """The tables, those on disk in `folder`, or in a temporary one if that is empty."""
    if all(t.get("tier") != "ssd" for t in tables):
        return tables
    if not folder:
        _folders.append(tempfile.TemporaryDirectory(prefix="argosy-tables-"))
        folder = _folders[-1].name
    os.makedirs(folder, exist_ok=True)
    return [
        {**t, "directory": os.path.join(folder, t["directory"])} if t.get("tier") == "ssd" else t
        for t in tables
    ]


# Modes of saves: what changed since the last one, all after a shrink, the rows shown most.
_DELTA, _SHRUNK, _HOTTEST = 1, 3, 4


def _cache_share(strategy, division, table_id):
    """The part of a table's rows that a cache takes: the strategy's sparse_table_cache_rate."""
    names = {number: name for name, number in division.sparse.items()}
    for message in strategy.strategy.downpour_table_param:
        if message.table_name == names.get(table_id):
            return message.sparse_table_cache_rate
    return 0.00055


class AloneRuntime(LocalRuntime):
    """A program that runs alone: tables of this process instead of servers."""

    def __init__(self, programs, division, strategy):
        super().__init__(programs)
        self._strategy = strategy
        self._division = division
        self._day = None  # the last one that set_date was told
        self._mode = _ps().mode_local(json.dumps(_with_folders(division.tables, "")))
        _install(self, self._mode)  # programs run without init_worker, too

    def look_up(self, program):
        divide_evaluation(program, self._division)

    def init_worker(self, scopes=None):
        _ps().mode_install(self._mode)

    def save_persistables(self, dirname, main_program=None, mode=0):
        _ps().mode_save(self._mode, os.path.abspath(dirname), mode, None, 1.0)
        super().save_persistables(_trainer(dirname), main_program, mode)

    def save_inference_model(
        self, dirname, feeded_var_names, target_vars, main_program=None, mode=0
    ):
        _ps().mode_save(self._mode, os.path.abspath(dirname), mode, None, 1.0)
        super().save_inference_model(dirname, feeded_var_names, target_vars, main_program, mode)

    def load_model(self, dirname, mode=0):
        _ps().mode_load(self._mode, os.path.abspath(dirname), mode, None)
        if os.path.isdir(_trainer(dirname)):
            super().load_model(_trainer(dirname), mode)

    def load_inference_model(self, dirname, mode=0):
        _ps().mode_load(self._mode, os.path.abspath(dirname), mode, None)

    def save_one_table(self, table_id, path, mode):
        _ps().mode_save(self._mode, os.path.abspath(path), mode, table_id, 1.0)

    def load_one_table(self, table_id, path, mode):
        _ps().mode_load(self._mode, os.path.abspath(path), mode, table_id)

    def save_cache_model(self, dirname, mode=0, table_id=0):
        share = _cache_share(self._strategy, self._division, table_id)
        return _ps().mode_save(self._mode, os.path.abspath(dirname), _HOTTEST, table_id, share)

    def shrink(self, threshold=None):
        for table in self._division.sparse.values():
            _ps().mode_shrink(self._mode, table)

    def set_date(self, table_id, day_id):
        told, self._day = self._day, str(day_id)
        if told != self._day:
            for table in self._division.sparse.values():
                _ps().mode_end_day(self._mode, table)

    def print_table_stat(self, table_id, pass_id=0, threshold=0):
        _print_table(table_id, pass_id, *_ps().mode_table(self._mode, table_id))


_installed = None  # weak reference to the runtime whose Mode operations use
_connected = []  # runtimes of workers that have not left their servers


def _install(runtime, mode):
    global _installed
    _ps().mode_install(mode)
    _installed = weakref.ref(runtime)


@atexit.register
def _close():
    """Ends threads before the interpreter goes: what still waits is sent, as far as servers live."""
    runtime = _installed() if _installed is not None else None
    if runtime is not None:
        _ps().mode_install(None)
    for runtime in list(_connected):
        with contextlib.suppress(Exception):
            runtime._leave(at_exit=True)


def _stop_at_sigterm(servers):
    """Makes the first SIGTERM end `servers` (a list; it may be empty by then) in order, instead of the
    process: a launcher may send it to a server that the last worker has ended already, and whose
    program goes on after run_server(). Nothing where the program has a handler of its own."""
    if threading.current_thread() is not threading.main_thread():
        return
    if signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL:
        return

    def end(number, frame):
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        for server in servers:
            server.stop()

    signal.signal(signal.SIGTERM, end)


def _job(durability):
    """What a server calls its job: no other launch, or run of a server by hand, is called so. A server by
    hand whose tables come back may be of the job that it was of, or of the next one: it says nothing."""
    mark = os.environ.get("ARGOSY_JOB_MARK", "")
    if not mark and durability == "none":
        mark = uuid.uuid4().hex
    return hashlib.sha256(mark.encode()).hexdigest()[:16] if mark else ""


class ServedRuntime(Runtime):
    """One process of a job with servers."""

    def __init__(self, programs, division, strategy, role_maker):
        self._programs = programs
        self._division = division
        self._strategy = strategy
        self._roles = role_maker
        self._settings = ServiceSettings()
        self._mode_name = mode_of(strategy)
        self._configs = strategy.a_sync_configs
        self._connection = None
        self._mode = None
        self._scopes = None
        self._load_from = ""
        self._tables = json.loads(_ps().server_tables(json.dumps(division.tables), self._mode_name))
        self._process = 0
        self._state = len(self._tables)
        accessor = {"kind": "plain", "dim": 1, "embedding": {"rule": "sum", "initial_range": 0.0}}
        self._tables.append(
            {"id": self._state, "name": _STATE, "kind": "sparse", "accessor": accessor}
        )
        self._taken = 0  # steps there were when dense parameters were last taken
        self._day = None  # the last one that set_date was told
        self._loads = 0  # that this worker made or waited for
        for program in programs:
            # Rows of async would be older by a step; those of geo are the worker's own anyway.
            asked = self._mode_name == "async" and self._settings.prefetch
            program._prefetches = asked or self._mode_name == "geo"
            program._after_data.append(self._after_data)
            program._before_evaluation.append(self._refresh)
        for program in division.evaluating:
            program._before_run.append(self._refresh)

    def look_up(self, program):
        """Lets a program that is not trained look rows up on the servers."""
        if divide_evaluation(program, self._division):
            for name in self._division.sparse:
                program._states.pop(name, None)
        program._before_run.append(self._refresh)

    # ---- servers ------------------------------------------------------------------------------

    def init_server(self, dirname=None, var_names=None):
        names = set(self._division.sparse)
        if var_names is not None and not names <= {getattr(v, "name", v) for v in var_names}:
            raise NotImplementedError(
                f"[fleet.init_server] var_names must have all of {sorted(names)}: tables are loaded "
                "together. Do this: leave var_names out."
            )
        self._load_from = os.path.abspath(dirname) if dirname else ""

    def take_tables(self, dirname):
        """Lets tables be as those of the model in dirname, whose rows have the state of the optimizer
        that trained them: for programs that only predict. On servers and workers alike."""
        dirname = os.path.abspath(dirname)
        save = json.loads(_ps().snapshot_describe(dirname))["saves"][-1]
        manifest = glob.glob(
            os.path.join(glob.escape(dirname), save, "part-0-of-*", "manifest.json")
        )
        with open(manifest[0]) as file:
            saved = {t["name"]: t for t in json.load(file)["content"]["tables"]}
        for i, table in enumerate(self._tables):
            other = saved.get(table["name"], table)
            for a, b in ((table, other), (table.get("accessor", {}), other.get("accessor", {}))):
                for key in ("kind", "dim", "size"):
                    if a.get(key, 0) != b.get(key, 0):
                        raise ValueError(
                            f"[parameter_server] table '{table['name']}': {key} is {a.get(key)!r} in "
                            f"this program and {b.get(key)!r} in {dirname}. Do this: minimize with "
                            "the strategy that the model was trained with."
                        )
            self._tables[i] = dict(other, id=table["id"])

    def run_server(self):
        settings = self._settings
        index = self._roles._server_index()
        self._check_not_emptied(index)
        server = _ps().Server(
            endpoint=self._roles._get_pserver_endpoints()[index],
            index=index,
            job=_job(settings.durability),
            servers=self._roles._server_num(),
            workers=self._roles._worker_num(),
            tables=_with_folders(self._tables, settings.server_directory(index)),
            token=settings.token,
            admin_token=settings.admin_token,
            certificate=settings.certificate,
            certificate_key=settings.certificate_key,
            client_certificate_authority=settings.client_certificate_authority,
            insecure=settings.insecure,
            save_roots=settings.save_roots,
            durability=settings.durability,
            directory=settings.server_directory(index),
            snapshot_every=settings.snapshot_every,
            load_from=self._load_from,
        )
        servers = [server]
        _stop_at_sigterm(servers)
        try:
            self._serve(server)
        finally:
            servers.clear()

    def _check_not_emptied(self, index):
        """A server that comes back before its first snapshot has no dense parameters any more, and nobody
        gives their first values again."""
        settings = self._settings
        again = os.environ.get("PADDLE_RESTART_COUNT", "0") not in ("", "0")
        if not again or settings.durability != "snapshot" or self._load_from:
            return
        own = f"server-{index}-of-{self._roles._server_num()}"
        if not os.path.exists(os.path.join(settings.server_directory(index), own, "snapshot.json")):
            raise RuntimeError(
                f"[fleet.run_server] server {index} died before its first snapshot, so what it held is "
                "lost: going on would train another model. Do this: start the job again; with "
                "--snapshot_seconds there are snapshots sooner, with --durability log nothing is lost."
            )

    def _serve(self, server):
        """Until it is stopped, or nobody comes any more."""
        limit = self._settings.idle_seconds
        heard, since = None, time.monotonic()
        while not server.wait(min(limit / 20, 600) if limit else None):
            stats = json.loads(server.stats())
            now = (stats["pulls"], stats["pushes"])
            if now != heard:
                heard, since = now, time.monotonic()
            elif time.monotonic() - since > limit:
                server.stop()
                raise TimeoutError(
                    f"[fleet.run_server] server {self._roles._server_index()}: none of "
                    f"{self._roles._worker_num()} workers has pulled or pushed anything for "
                    f"{limit:g} s. Do this: look why they do not; ARGOSY_PS_IDLE_SECONDS sets the time "
                    "(0: no end)."
                )

    # ---- workers ------------------------------------------------------------------------------

    def init_worker(self, scopes=None):
        self.stopped = False
        if self._mode is not None:
            return
        for other in list(_connected):  # of a job before, in this process
            if other.stopped:
                other._leave()
        from argosy.static import global_scope

        self._scopes = list(scopes) if scopes else [global_scope()] * len(self._programs)
        if len(self._scopes) != len(self._programs):
            raise ValueError(
                f"[fleet.init_worker] scopes: expected one for each of {len(self._programs)} "
                f"programs, got {len(self._scopes)}."
            )
        settings = self._settings
        workers = self._roles._worker_num()
        connection = _ps().Client(
            endpoints=self._roles._get_pserver_endpoints(),
            worker=self._roles._worker_index(),
            workers=workers,
            tables=self._tables,
            token=settings.token,
            admin_token=settings.admin_token,
            certificate_authority=settings.certificate_authority,
            certificate=settings.client_certificate,
            certificate_key=settings.client_certificate_key,
            insecure=settings.insecure,
            connect_deadline=settings.connect_seconds,
            call_deadline=settings.call_seconds,
        )
        self._connection = connection
        self._process = os.getpid()
        _connected.append(self)
        self._say(_HERE)  # a worker that was started again does not leave yet
        self._begin_dense()
        configs = self._configs
        self._mode = _ps().mode_connect(
            connection,
            json.dumps(self._division.tables),
            self._mode_name,
            workers,
            max(1, configs["max_merge_var_num"]),
            max(1, configs["send_queue_size"]),
            max(1, configs["thread_pool_size"]),
            max(1, configs["min_send_grad_num_before_recv"]),
            max(1, configs["k_steps"]),
            self._state,
            settings.call_seconds,
        )
        self.client = _Together(connection, self._after_data)
        _install(self, self._mode)

    def progress(self):
        if self._mode is None:
            return {}
        sent, received, _ = self._connection.traffic()
        waiting = json.loads(_ps().mode_stats(self._mode))["waiting"]
        return {"sent": sent, "received": received, "waiting": waiting}

    def _begin_dense(self):
        """Worker 0 gives dense tables their first values, unless servers have them (from a model, or
        because this worker was started again); all take what servers have."""
        import numpy as np

        keys, given = np.zeros(1, "uint64"), np.zeros(1, "float32")
        if self._division.dense:
            self._connection.pull_sparse(self._state, keys, given, True)
            if self._roles._is_first_worker() and not given[0]:
                for table, names in self._division.dense.items():
                    values = [self._value(name).reshape(-1) for name in names]
                    self._connection.assign_dense(table, np.concatenate(values))
                self._connection.push_sparse(self._state, keys, np.ones(1, "float32"))
            deadline = time.monotonic() + self._settings.connect_seconds
            while True:
                self._connection.pull_sparse(self._state, keys, given, True)
                if given[0]:
                    break
                if time.monotonic() > deadline:
                    raise TimeoutError(
                        "[fleet.init_worker] worker 0 gave no first values of dense parameters within"
                        f" {self._settings.connect_seconds:g} s. Do this: look why it did not come to"
                        " init_worker(); ARGOSY_PS_CONNECT_SECONDS sets the time."
                    )
                time.sleep(0.01)
            self._take_dense()

    def _place(self, name):
        for program, scope in zip(self._programs, self._scopes):
            handle = program._states.get(name)
            if handle is not None:
                return handle, scope
        raise RuntimeError(f"[fleet] no program has the parameter '{name}'.")

    def _value(self, name):
        handle, scope = self._place(name)
        value = handle if not handle._symbolic else scope._value(name)
        if value is None:
            raise RuntimeError(
                f"[fleet.init_worker] parameter '{name}' has no first value. Do this: run the startup"
                " program before: exe.run(static.default_startup_program())."
            )
        return _core.to_numpy(value, False)

    def _take_dense(self):
        """Puts dense parameters, as servers have them, into the scopes."""
        import numpy as np

        from argosy.static.program import set_state

        for table, names in self._division.dense.items():
            shapes = [[int(n) for n in self._place(name)[0].shape] for name in names]
            sizes = [int(np.prod(shape, dtype="int64")) for shape in shapes]
            block = np.empty(sum(sizes), "float32")
            self._connection.pull_dense(table, block)
            at = 0
            for name, shape, size in zip(names, shapes, sizes):
                handle, scope = self._place(name)
                set_state(handle, block[at : at + size].reshape(shape), scope)
                at += size

    def _refresh(self, scope):
        """Before a program that evaluates: its parameters are those of the servers."""
        if self._mode is None:
            return
        steps = json.loads(_ps().mode_stats(self._mode))["steps"]
        if steps != self._taken:
            _ps().mode_flush(self._mode)
            self._take_dense()
            self._taken = steps

    def _connected(self, what):
        if self._connection is None:
            raise RuntimeError(
                f"[fleet.{what}] this worker is not connected. Do this: call fleet.init_worker()"
                " before, and fleet.stop_worker() at the end."
            )
        return self._connection

    def _sent(self, what):
        """The connection, once all that was pushed is on the servers."""
        connection = self._connected(what)
        _ps().mode_flush(self._mode)
        return connection

    def _after_data(self):
        """A pass over a data set has ended: sync training waits for workers that have more."""
        if self._mode is not None:
            _ps().mode_join(self._mode)
            self._taken = -1  # others may have changed parameters meanwhile

    def stop_worker(self):
        connection = self._connected("stop_worker")
        if self.stopped:
            return
        _ps().mode_join(self._mode)
        connection.barrier("stop_worker", True)  # all that workers pushed is applied
        self._take_dense()
        self._taken = json.loads(_ps().mode_stats(self._mode))["steps"]
        self.stopped = True

    def _end(self):
        mode, self._mode, self._connection, self.client = self._mode, None, None, None
        if mode is not None:
            _ps().mode_install(None)
            _ps().mode_stop(mode)

    def _leave(self, at_exit=False):
        """Ends this worker's part. The last worker that leaves ends the servers, whose life is the
        job's: until then any worker may save."""
        _connected.remove(self)
        connection, mine = self._connection, self._process == os.getpid()
        self._end()
        # A worker that failed may be started again. So may one that ended too early, by a launcher; which
        # ends the servers itself if it has started all processes.
        failed = at_exit and getattr(sys, "last_type", None) is not None and not hasattr(sys, "ps1")
        launched = os.environ.get("ARGOSY_JOB_MARK") and os.environ.get("PADDLE_NNODES") == "1"
        if connection is None or not mine or failed or (launched and not self.stopped):
            return
        self._connection = connection
        try:
            if self._is_last():
                connection.stop_servers()
        finally:
            self._connection = None

    def _is_last(self):
        """Says that this worker leaves; whether it is to end the servers. Nobody asks them any more
        then: who is not the last says _GONE, as the last thing it does."""
        me = self._roles._worker_index()
        self._say(_LEAVES)
        states = self._states()
        if _HERE in states:
            self._say(_GONE)
            return False
        # All are about to leave. Of those who see it the first is the last one.
        self._say(_LAST)
        end = time.monotonic() + _LEAVE_SECONDS
        while time.monotonic() < end:
            states = self._states()
            if _LEAVES not in states:
                if _LAST in states[:me]:
                    self._say(_GONE)
                    return False
                if states.count(_GONE) == len(states) - 1:
                    return True
            time.sleep(0.002)
        return True  # one that died while it left

    def _states(self):
        """How far each worker is with leaving."""
        import numpy as np

        workers = self._roles._worker_num()
        keys = np.arange(_LEAVING, _LEAVING + workers, dtype="uint64")
        values = np.zeros(workers, "float32")
        self._connection.pull_sparse(self._state, keys, values, True)
        return [int(round(v)) for v in values]

    def _say(self, state):
        """Puts this worker's row to `state`."""
        import numpy as np

        me = self._roles._worker_index()
        more = np.array([state - self._states()[me]], "float32")
        if more[0]:
            self._connection.push_sparse(self._state, np.array([_LEAVING + me], "uint64"), more)

    # ---- models -------------------------------------------------------------------------------

    # Programs call these on all workers, or on the first alone. What counts twice where it is done
    # twice (an increment empties the next one, a shrink decays) the first worker does for all. Other
    # saves follow each other, and the last has what all had sent.

    def _local(self):
        return LocalRuntime(self._programs)

    def _save_tables(self, what, dirname, mode, *table):
        """Whether they are saved: an increment that another worker saves holds all that is sent."""
        connection = self._sent(what)
        if mode == _DELTA and not self._roles._is_first_worker():
            return False
        if mode == _SHRUNK and not self._roles._is_first_worker():
            mode = 0
        connection.save(os.path.abspath(dirname), mode, *table)
        return True

    def _load_tables(self, what, dirname, mode, *table):
        """By the first worker, for which the others that call this wait: each time it loaded has a row,
        whose key no model of another job has. (A model of this one brings rows of loads that were.)"""
        import numpy as np

        connection = self._sent(what)
        # All workers ask server 0: launchers of several hosts have nothing else in common that is theirs.
        job = json.loads(connection.stats())[0]["job"]
        first = (zlib.crc32(f"{self._settings.token} {job}".encode()) | 1) * _LOADS
        done = np.zeros(1, "float32")

        def is_done(load):
            key = np.array([first + load], "uint64")
            connection.pull_sparse(self._state, key, done, False)
            return done[0] > 0

        if self._roles._is_first_worker():
            connection.load(os.path.abspath(dirname), mode, *table)
            while is_done(self._loads):  # by one whose place this worker took
                self._loads += 1
            key = np.array([first + self._loads], "uint64")
            connection.push_sparse(self._state, key, np.ones(1, "float32"))
            self._loads += 1
            return
        load, deadline = self._loads, time.monotonic() + _LOAD_SECONDS
        self._loads += 1
        while True:
            if is_done(load):
                return
            if time.monotonic() > deadline:
                raise TimeoutError(
                    f"[fleet.{what}] worker 0 loaded nothing within {_LOAD_SECONDS} s. Do this: let all"
                    " workers call it, or the first alone; look into its log."
                )
            time.sleep(0.02)

    def save_persistables(self, dirname, main_program=None, mode=0):
        if not self._save_tables("save_persistables", dirname, mode):
            return
        self._take_dense()
        self._local().save_persistables(_trainer(dirname), main_program, mode)

    def save_inference_model(
        self, dirname, feeded_var_names, target_vars, main_program=None, mode=0
    ):
        if not self._save_tables("save_inference_model", dirname, mode):
            return
        self._take_dense()
        self._local().save_inference_model(
            dirname, feeded_var_names, target_vars, main_program, mode
        )

    def load_model(self, dirname, mode=0):
        self._load_tables("load_model", dirname, mode)
        if os.path.isdir(_trainer(dirname)):
            self._local().load_model(_trainer(dirname), mode)
        self._take_dense()

    def load_inference_model(self, dirname, mode=0):
        self._load_tables("load_inference_model", dirname, mode)
        self._take_dense()

    def save_one_table(self, table_id, path, mode):
        self._save_tables("save_one_table", path, mode, table_id)

    def load_one_table(self, table_id, path, mode):
        self._load_tables("load_one_table", path, mode, table_id)
        self._take_dense()

    def save_dense_params(self, executor, dirname, scope, program, var_names=None):
        self._sent("save_dense_params")
        self._take_dense()
        self._local().save_dense_params(executor, dirname, scope, program, var_names)

    def save_cache_model(self, dirname, mode=0, table_id=0):
        share = _cache_share(self._strategy, self._division, table_id)
        connection = self._sent("save_cache_model")
        return connection.save(os.path.abspath(dirname), _HOTTEST, table_id, share)

    def save_cache_table(self, table_id):
        self._sent("save_cache_table")

    def shrink(self, threshold=None):
        connection = self._sent("shrink")
        if not self._roles._is_first_worker():
            return
        for table in self._division.sparse.values():
            connection.shrink(table)

    def set_date(self, table_id, day_id):
        connection = self._sent("set_date")
        told, self._day = self._day, str(day_id)
        # A day ends for all tables at once, and programs tell each table.
        if told != self._day and self._roles._is_first_worker():
            connection.end_day()

    def print_table_stat(self, table_id, pass_id=0, threshold=0):
        servers = json.loads(self._sent("print_table_stat").stats())
        found = [t for s in servers for t in s.get("tables", []) if t.get("id") == table_id]
        rows = sum(t.get("rows", 0) for t in found)
        size = sum(t.get("memory_bytes", 0) for t in found)
        _print_table(table_id, pass_id, rows, size)


def _print_table(table_id, pass_id, rows, size):
    print(f"table {table_id}, pass {pass_id}: {rows} rows, {size} bytes in memory", flush=True)


def _trainer(dirname):
    """Where a trainer's own state is saved, beside the tables."""
    return os.path.join(dirname, "trainer")


class _Together:
    """The client for calls in which workers meet: what they pushed is applied first."""

    def __init__(self, connection, before):
        self._connection = connection
        self._before = before

    def barrier(self, name="barrier"):
        self._before()
        self._connection.barrier(name)

    def all_reduce(self, values, operation="sum"):
        self._before()
        self._connection.all_reduce(values, operation)

    def all_gather(self, mine):
        self._before()
        return self._connection.all_gather(mine)

    def exchange(self, parts):
        self._before()
        return self._connection.exchange(parts)

    def __getattr__(self, name):
        return getattr(self._connection, name)
