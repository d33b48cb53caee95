"""A story: a list of events (calls and faults), made by real processes, one event after another.

An event is a dict with "do", the name of a method do_NAME of Driver, and its arguments; "async" calls
go on while later events come. A story is JSON, so it can be cut down and told again.
"""

import collections
import json
import os
import queue
import random
import signal
import struct
import subprocess
import sys
import threading
import time

from tests.faults import actor as actors
from tests.faults import content, disk, proxy
from tests.faults.checks import ADMIT, CAPPED, CLICKS, COLD, NUMBERS, RATED, ROWS, Checks
from tests.faults.lives import Lives, Settings
from tests.faults.model import Model, Violation

__all__ = ["Driver"]

HERE = os.path.dirname(os.path.abspath(__file__))
KINDS = {ROWS: "row", COLD: "row", CLICKS: "click", ADMIT: "admit", RATED: "row"}
GAVE_UP = 70  # exit code of a server that ends so that recovery does what it could not
SLACK = 20  # seconds above its deadline after which a call hangs


class Actor:
    """A client process of a worker."""

    def __init__(self, driver, worker, endpoints):
        s = driver.story
        options = dict(
            endpoints=endpoints,
            worker=worker,
            workers=driver.workers,
            token=driver.settings.token,
            connect_deadline=60,
            call_deadline=driver.deadline,
            wait_deadline=driver.deadline,
            table_deadline=driver.deadline + 4,
            attempt_deadline=s.get("attempt", 0.3),
        )
        self.worker, self.driver = worker, driver
        self.pending = {}  # id -> (what to tell, when it hangs, op)
        self.count, self.step, self.dead = 0, 0, False
        self.passes_over = False  # the story's next calls about a step: a predecessor ended that
        self.log = open(os.path.join(driver.directory, f"worker-{worker}.log"), "ab")
        self.process = subprocess.Popen(
            [sys.executable, os.path.join(HERE, "actor.py"), json.dumps(options)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.log,
            cwd=driver.directory,
            env=driver.environ,
        )
        threading.Thread(target=self.listen, daemon=True).start()

    def listen(self):
        for line in self.process.stdout:
            if line.endswith(b"\n"):
                self.driver.heard.put((self, json.loads(line)))
        self.driver.heard.put((self, None))

    def call(self, name, arguments, then, op="", limit=None):
        self.count += 1
        self.pending[self.count] = (
            then,
            time.monotonic() + (limit or self.driver.deadline + SLACK),
            op or name,
        )
        try:
            self.process.stdin.write((json.dumps([self.count, name, arguments]) + "\n").encode())
            self.process.stdin.flush()
        except OSError:
            pass  # it died; listen says so
        return self.count


class Driver(Lives, Checks):
    """Tells a story. Use as a context: on leaving, no process is left."""

    def __init__(self, story, directory):
        self.story, self.directory = story, directory
        self.data = os.path.join(directory, "data")  # what servers see, and stand in
        os.makedirs(self.data)
        self.servers, self.workers = story.get("servers", 1), story.get("workers", 2)
        self.settings = Settings(story)
        self.era = 0  # counts the numbers of workers that there were: each has steps of its own
        self.deadline = story.get("deadline", 6)
        self.draw = random.Random(json.dumps(story["events"]))
        self.environ = {k: v for k, v in os.environ.items() if not k.startswith("ARGOSY_PS_")}
        self.environ["PYTHONPATH"] = actors.ROOT
        if not story.get("own_pace"):
            # gRPC looks after connections that nobody waits for this often; else every 5 s.
            self.environ["GRPC_CLIENT_CHANNEL_BACKUP_POLL_INTERVAL_MS"] = "100"
        self.heard = queue.Queue()
        self.actors, self.links, self.everyone = {}, {}, []
        self.server, self.ports, self.count = [None] * self.servers, [0] * self.servers, 0
        self.paused, self.over = set(), False
        self.disks = [None] * self.servers
        self.armed = set()  # servers that are to die by themselves
        self.bad_since, self.bad = 0.0, False  # a disk
        self.well_since = 0.0  # the end of the last fault
        self.saves, self.parts, self.ends, self.gathered = {}, [], [], {}
        self.sent = collections.Counter()  # to the rows of CAPPED
        restarts = any(e["do"] == "restart" for e in story["events"])
        self.model = Model(self.cells(), restarts or self.settings.durability != "log")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for p in (*self.server, *(a.process for a in self.everyone)):
            if p is not None:
                if p.poll() is None:
                    p.kill()
                p.wait()
        for a in self.everyone:
            a.process.stdin.close()
            a.log.close()
        for link in self.links.values():
            link.close()

    # What there is.

    def place(self, number):
        """The server of a number of the dense table."""
        size = len(self.story["events"])
        return next(s for s in range(self.servers) if number < size * (s + 1) // self.servers)

    def marker(self, i, server):
        return content.marker(0, i, server, self.servers)

    def cells(self):
        """Of all events, so that calls upon whole tables know what there is."""
        cells = {}
        for i, e in enumerate(self.story["events"]):
            if e["do"] == "push_dense":
                cells[f"number {i}"] = ("dense", self.place(i))
            if e["do"] not in ("push", "assign") or e["table"] == CAPPED:
                continue
            t = e["table"]
            for k in self.keys(e):
                cells[f"row {t}/{k}"] = (KINDS[t], content.server_of(k, self.servers))
            if t in (ROWS, COLD):
                for s in range(self.servers):
                    cells[f"row {t}/{self.marker(i, s)}"] = ("row", s)
        return cells

    @staticmethod
    def keys(event):
        """One list, or [first, count]."""
        return event["keys"] if "keys" in event else list(range(*event["range"]))

    # Processes.

    def run(self):
        """Raises Violation where a promise is broken."""
        events = self.story["events"]
        users = os.path.join(self.data, "models", "user")
        os.makedirs(users)
        with open(os.path.join(users, "part-00000"), "w") as file:
            file.write("a user's data\n")
        if self.story.get("disk"):
            library = disk.build()
            for s in range(self.servers) if library else ():
                home = os.path.join(self.directory, f"disk-{s}")
                os.makedirs(home)
                power = any(e["do"] == "power" for e in events)
                self.disks[s] = disk.Disk(library, home, self.data, journal=power)
        for s in range(self.servers):
            self.start(s)
        for w in range(self.workers):
            self.spawn(w)
        for self.at, e in enumerate(events):
            arguments = {k: v for k, v in e.items() if k != "do"}
            getattr(self, "do_" + e["do"])(**arguments)
            self.listen(0)
            if self.over:
                return
        self.finish()

    def start(self, s, once=False):
        """Server s; with `once`, it may die before it serves (False then)."""
        self.count += 1
        ready = os.path.join(self.directory, f"ready-{self.count}")
        options = dict(
            endpoint=f"127.0.0.1:{self.ports[s]}",
            index=s,
            servers=self.servers,
            **self.settings.of_server(s, len(self.story["events"])),
        )
        environ = dict(self.environ, **(self.disks[s].environ if self.disks[s] else {}))
        self.log = os.path.join(self.directory, f"server-{s}.log")
        with open(self.log, "ab") as log:
            self.server[s] = p = subprocess.Popen(
                [sys.executable, os.path.join(HERE, "server.py"), json.dumps(options), ready],
                env=environ,
                stdout=log,
                stderr=log,
                cwd=self.data,
            )
        end = time.monotonic() + 100
        while not os.path.exists(ready):
            if p.poll() is not None:
                if once and p.returncode == -signal.SIGKILL:
                    return False
                raise Violation(f"server {s} ended with {p.returncode}: {self.tail(s)}")
            if time.monotonic() > end:
                raise Violation(f"server {s} hangs at its start: {self.tail(s)}")
            time.sleep(0.005)
        self.ports[s] = int(open(ready).read())
        self.well_since = time.monotonic()
        self.model.born(s)
        return True

    def tail(self, s):
        path = os.path.join(self.directory, f"server-{s}.log")
        return open(path, errors="replace").read()[-1500:]

    def spawn(self, w):
        """A client of worker w, through links of its own where the story has any."""
        ends = []
        for s in range(self.servers):
            if self.story.get("proxy"):
                link = self.links.get((w, s)) or proxy.Link(self.ports[s])
                self.links[w, s] = link
            ends.append(
                f"127.0.0.1:{self.links[w, s].port if (w, s) in self.links else self.ports[s]}"
            )
        a = Actor(self, w, ends)
        self.everyone.append(a)
        self.actors[w] = a
        a.pending[0] = (
            lambda kind, value: self.connected(a, kind, value),
            time.monotonic() + 100,
            "connect",
        )
        self.wait(lambda: 0 not in a.pending)

    def connected(self, a, kind, value):
        if kind != "ok":
            raise Violation(f"worker {a.worker} cannot connect: {kind}: {value}")
        a.step = value
        a.passes_over = self.settles(a)

    # What is heard.

    def listen(self, seconds):
        """Takes what clients said; looks after what hangs and who died."""
        end = time.monotonic() + seconds
        while True:
            try:
                a, line = self.heard.get(timeout=max(0, min(0.02, end - time.monotonic())))
            except queue.Empty:
                if time.monotonic() >= end:
                    break
            else:
                if line is None:
                    self.gone(a)
                elif line[0] in a.pending:
                    then, _, op = a.pending.pop(line[0])
                    then(line[1], line[2])
                continue
            self.look()
        self.look()

    def look(self):
        for s, p in enumerate(self.server):
            if p is None or p.poll() is None:
                continue
            # A change that is in the log and cannot be made, or a load that cannot be kept.
            gave_up = p.returncode == GAVE_UP and (self.bad or self.bad_since > 0)
            if gave_up or (s in self.armed and p.returncode == -signal.SIGKILL):
                self.armed.discard(s)
                self.disks[s].kill_after(0)
                self.do_disk(s)  # a server need not start on a bad one
                self.server[s] = None
                self.model.death(s, self.settings.promise(), self.settings.on_disk)
                self.start(s)
            else:
                raise Violation(f"server {s} ended with {p.returncode}: {self.tail(s)}")
        now = time.monotonic()
        if self.paused or any(link.mode for link in self.links.values()):
            return
        for a in self.actors.values():
            for _, end, op in a.pending.values():
                if now > end and f"worker {a.worker}" not in self.paused:
                    raise Violation(f"{op} of worker {a.worker} hangs")

    def gone(self, a):
        if not a.dead:
            raise Violation(f"worker {a.worker} died")
        pending, a.pending = a.pending, {}
        for then, _, _ in pending.values():
            then("Killed", "")

    def wait(self, until, limit=150):
        end = time.monotonic() + limit
        while not until():
            if time.monotonic() > end:
                waiting = [op for a in self.actors.values() for _, _, op in a.pending.values()]
                raise Violation(f"hangs: {', '.join(waiting)}")
            self.listen(0.02)

    def is_well(self):
        """Whether no fault is at work now."""
        links = any(link.mode for link in self.links.values())
        return not (self.bad or self.paused or self.armed or links or None in self.server)

    def outcome(self, kind, text, began):
        """(ok, refused or unknown; the server that refused)."""
        if kind == "ok":
            return "ok", None
        server = None
        if "server " in text:
            word = text.split("server ", 1)[1].split(" ", 1)[0]
            server = int(word) if word.isdigit() else None
        unsure = "may have been applied" in text or "not on disk" in text
        if kind == "TimeoutError" and self.is_well() and began > self.well_since:
            raise Violation(f"no answer, and nothing is wrong: {text}")
        if kind in ("TimeoutError", "Killed") or unsure:
            return "unknown", None
        # A server that was killed in the middle of a save knows nothing of it when it is back.
        broken_off = "[save]" in text and not (self.is_well() and began > self.well_since)
        if not (self.bad or began <= self.bad_since or broken_off or self.is_above(text)):
            raise Violation(f"refused without a reason: {kind}: {text}")
        return "refused", server

    def change(self, by, op, name, arguments, effects, wait=True, then=None, limit=None):
        """A call that changes tables, for the model too."""
        a = self.actors.get(by)
        if a is None or a.dead:
            return
        began = time.monotonic()
        self.model.begin(op, effects)

        def told(kind, value):
            what, server = self.outcome(kind, value, began) if kind != "ok" else ("ok", None)
            if what == "ok":
                self.model.ok(op)
            elif what == "refused" and self.servers == 1:
                self.model.refused(op)
            elif what == "refused" and server is not None:
                self.model.refused(op, server)
            else:
                self.model.unknown(op)
            if then:
                then(what)

        number = a.call(name, arguments, told, op, limit)
        if wait and f"worker {by}" not in self.paused:
            self.wait(lambda: number not in a.pending)

    # Calls.

    def rows_of(self, event, i, value):
        table, keys = event["table"], self.keys(event)
        if table == CLICKS:
            return keys, [[1, value, value, 1, 1]] * len(keys)
        rows = [[value, value]] * len(keys)
        if table in (ROWS, COLD):
            marks = [self.marker(i, s) for s in range(self.servers)]
            return keys + marks, rows + [[1, 1]] * len(marks)
        return keys, rows

    def effect(self, table, value):
        """Of a push."""
        if table == RATED:
            return "add", -self.settings.rate * value
        return ("add", value, self.settings.count or 1) if table == ADMIT else ("add", value)

    def do_push(self, by, table, value, wait=True, **keys):
        i, event = self.at, dict(keys, table=table)
        names, rows = self.rows_of(event, i, value)
        if table == CAPPED:
            self.sent.update(names)
            effects = {}
        else:
            effects = {
                f"row {table}/{k}": self.effect(table, r[1 if table == CLICKS else 0])
                for k, r in zip(names, rows)
            }
        self.change(by, f"push#{i}", "push_sparse", [table, names, rows], effects, wait)

    def do_assign(self, by, table, value, wait=True, **keys):
        i = self.at
        names, rows = self.rows_of(dict(keys, table=table), i, value)
        effects = {f"row {table}/{k}": ("assign", r[0]) for k, r in zip(names, rows)}
        self.change(by, f"assign#{i}", "assign_sparse", [table, names, rows], effects, wait)

    def do_push_dense(self, by, wait=True):
        i, size = self.at, len(self.story["events"])
        effects = {f"number {i}": ("add", 1)}
        self.change(by, f"push_dense#{i}", "push_dense", [NUMBERS, size, [[i, 1]]], effects, wait)

    def do_end_day(self, by, wait=True):
        self.change(by, f"end_day#{self.at}", "end_day", [], {"*click": ("day",)}, wait)

    def do_shrink(self, by, wait=True):
        effects = {"*click": ("shrink", self.settings.decay)}
        self.change(by, f"shrink#{self.at}", "shrink", [CLICKS], effects, wait)

    def do_save(self, by, to, wait=True, refusable=False):
        """Names lie below the servers' directory. refusable: a place that servers may refuse."""
        i, op = self.at, f"save#{self.at}"
        self.saves[to] = None  # whatever was there may be gone

        def told(what):
            if what == "ok":
                self.saves[to] = op
                self.check_place(to)

        refusable = refusable or not self.settings.covers(to)
        bad, self.bad = self.bad, self.bad or refusable
        try:
            self.change(
                by,
                op,
                "save",
                [self.named(to), 0],
                {"*row,dense": ("save", f"save#{i}")},
                wait,
                told,
                self.deadline + 4 + SLACK,
            )
        finally:
            self.bad = bad

    def named(self, path):
        """As clients name it: names that are not absolute lie beneath the first root."""
        return os.path.join(self.data, path) if self.settings.roots else path

    def check_place(self, path):
        """Of a call that did not fail."""
        if not self.settings.covers(path):
            raise Violation(f"'{path}' is beneath none of {self.settings.roots}")

    def do_load(self, by, saved, table=None, wait=True):
        """A save that ended well; nothing where there is none."""
        name = self.saves.get(saved)
        if not name:
            return
        effects = {
            c: ("load", name)
            for c in self.model.cells
            if (table is None and self.model.cells[c].kind in ("row", "dense"))
            or c.startswith(f"row {table}/")
            or (table == NUMBERS and c.startswith("number"))
        }
        arguments = [self.named(saved), 0] if table is None else [self.named(saved), 0, table]
        bad, self.bad = self.bad, self.bad or not self.settings.covers(saved)
        try:
            self.change(
                by,
                f"load#{self.at}",
                "load",
                arguments,
                effects,
                wait,
                lambda what: what != "ok" or self.check_place(saved),
                self.deadline + 4 + SLACK,
            )
        finally:
            self.bad = bad

    def settles(self, a):
        """Whether its first call about a step waits for others to end the step before, which the process
        ended whose place it has. The story means that step: its calls about it are left out.
        """
        ended = [e["client"] for e in self.ends if e["step"] == (self.era, a.step - 1)]
        there = {c.worker for c in ended}
        return a not in ended and a.worker in there and len(there) < self.workers

    def do_step_push(self, by):
        """A push to the worker's step: a number of its own, and rows in common."""
        a = self.actors.get(by)
        if a is None or a.dead or a.passes_over:
            return
        part = {
            "step": (self.era, a.step),
            "workers": self.workers,
            "client": a,
            "number": self.at,
            "what": "unknown",
        }
        self.parts.append(part)
        began = time.monotonic()

        def told(kind, text):
            part["what"] = self.outcome(kind, text, began)[0]

        size = len(self.story["events"])
        arguments = [NUMBERS, a.step, size, [[self.at, self.workers]]]
        number = a.call("push_dense_step", arguments, told, f"step_push#{self.at}")
        self.wait(lambda: number not in a.pending)

    def do_step_rows(self, by, first, count):
        """Many new rows of the table on disk in the worker's step."""
        a = self.actors.get(by)
        if a is None or a.dead or a.passes_over:
            return
        keys = [1 << 62 | k for k in range(first, first + count)]
        began = time.monotonic()
        rows = [[self.workers] * 2] * count
        number = a.call(
            "push_sparse_step",
            [COLD, a.step, keys, rows],
            lambda kind, text: self.outcome(kind, text, began),
        )
        self.wait(lambda: number not in a.pending)

    def do_step_end(self, by, wait=False):
        a = self.actors.get(by)
        if a is None or a.dead:
            return
        if a.passes_over:
            a.passes_over = False
            return
        end = {"step": (self.era, a.step), "client": a, "ok": False}
        self.ends.append(end)
        began = time.monotonic()

        def told(kind, text):
            if kind == "ok":
                end["ok"] = True
                a.step = max(a.step, end["step"][1] + 1)
            elif kind == "TimeoutError":
                here = {e["client"].worker for e in self.ends if e["step"] == end["step"]}
                whole = len(here) == self.workers and not (self.links or self.bad)
                if whole and began > self.bad_since:
                    raise Violation(f"all workers ended step {end['step']}, and still: {text}")
            elif kind != "Killed":
                self.outcome(kind, text, began)

        number = a.call("end_step", [a.step], told, f"end_step {a.step}")
        if wait:
            self.wait(lambda: number not in a.pending)

    def do_gather(self, how="all_gather"):
        """All workers at once; who gets an answer gets what all brought."""
        i, count = self.at, self.workers
        calls = {
            "all_gather": (lambda w: [f"{i}/{w}"], [f"{i}/{w}" for w in range(count)]),
            "all_reduce": (lambda w: [[i, 2.0**w]], [i * count, 2.0**count - 1]),
            "barrier": (lambda w: [f"{i}"], None),
        }
        arguments, expected = calls[how]

        def told(kind, value):
            if kind == "ok" and value != expected:
                raise Violation(f"{how}: {value}, expected {expected}")

        for w, a in self.actors.items():
            if not a.dead:
                a.call(how, arguments(w), told)
        self.do_join()

    def do_join(self, within=None):
        """Until no call is on its way; that may take so many seconds."""
        began = time.monotonic()
        self.wait(
            lambda: (
                not any(
                    a.pending
                    for w, a in self.actors.items()
                    if not a.dead and f"worker {w}" not in self.paused
                )
            )
        )
        took = time.monotonic() - began
        if within and took > within:
            raise Violation(f"calls took {took:.1f} s where {within} s were enough")

    def do_nothing(self):
        """In the place of an event that was cut out."""

    def do_sleep(self, seconds):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self.listen(end - time.monotonic())

    # Faults.

    def do_kill(self, server, tear=0, again=0, torn=False):
        """kill -9. tear: so many bytes of a record that was not whole end the log."""
        p = self.server[server]
        if p is None:
            return
        self.listen(0)
        p.kill()
        p.wait()
        self.paused.discard(f"server {server}")
        self.server[server] = None
        self.model.death(server, self.settings.promise(), self.settings.on_disk)
        if tear:
            self.tear(server, tear)
        d = self.disks[server]
        if d:
            d.kill_after(again, torn)

    def last_segment(self, server):
        home = os.path.join(self.own(server), "log")
        names = os.listdir(home) if os.path.isdir(home) else ()
        segments = sorted(n for n in names if n.startswith("log-"))
        return os.path.join(home, segments[-1]) if segments else None

    def tear(self, server, size):
        path = self.last_segment(server)
        if path:
            with open(path, "ab") as file:
                whole = struct.pack("<IIQQII", 0x31524C41, 1000, 1, 0, 7, 7) + bytes(1000)
                file.write(whole[:size])

    def do_damage(self, back, at):
        """A byte of the `back`-th newest record changes while server 0 is away. It must say so, but
        for the newest one: that may be taken for one that was not written to its end, and dropped.
        """
        path = self.last_segment(0)
        whole = open(path, "rb").read()
        starts, place = [], 32
        while place + 32 <= len(whole):
            starts.append(place)
            place += 32 + (struct.unpack_from("<I", whole, place + 4)[0] + 7) // 8 * 8
        if back >= len(starts):
            return
        end = starts[-back] if back else len(whole)
        place = starts[-1 - back] + int(at * (end - starts[-1 - back]))
        broken = bytearray(whole)
        broken[place] ^= 1
        with open(path, "wb") as file:
            file.write(broken)
        try:
            self.start(0)
        except Violation:
            said = self.tail(0)
            if self.server[0].returncode != 1 or path.split("/data/")[1] not in said:
                raise
            with open(path, "wb") as file:
                file.write(whole)
            self.server[0] = None
            return
        pushes = [op for op in self.model.ops if op.startswith("push#")]
        if back:
            raise Violation(f"a byte at {place} of '{path}' is wrong, and the server starts")
        for name in self.model.ops[pushes[-1]]:
            self.model.cells[name].may_be_gone()

    def do_start(self, server):
        """After kill; it may die on its way if it is told to."""
        if self.server[server] is not None:
            return
        d = self.disks[server]
        self.do_disk(server)  # it need not start on a bad one
        if d and d.get("kill_at") and not self.start(server, once=True):
            self.model.death(server, self.settings.promise(), self.settings.on_disk)
            d.kill_after(0)
            self.server[server] = None
        if d:
            d.kill_after(0)
        if self.server[server] is None:
            self.start(server)

    def do_kill_at(self, server, calls, torn=False):
        """kill -9 before the n-th call from now on that changes files."""
        if self.disks[server] and self.server[server]:
            self.armed.add(server)
            self.disks[server].kill_after(calls, torn)

    def do_power(self, keep="none"):
        """Of what was not synced nothing, or some, is left (one server)."""
        if not self.disks[0] or self.server[0] is None:
            return
        self.armed.discard(0)
        self.do_kill(0)
        self.disks[0].lose_power(self.draw, keep)
        users = os.path.join(self.data, "models", "user")
        os.makedirs(users, exist_ok=True)  # its owner's business
        with open(os.path.join(users, "part-00000"), "a"):
            pass
        self.disks[0].take_for_safe()
        self.start(0)

    def do_safe(self):
        """Somebody syncs all that is there now."""
        if self.disks[0]:
            self.disks[0].take_for_safe()

    def do_disk(self, server, error="", match="", calls=tuple(disk.CALLS), delay=0, skip=0):
        if self.disks[server]:
            self.disks[server].fail(error, match, calls, delay, skip)
            self.bad = bool(error)
            self.bad_since = self.well_since = time.monotonic()

    def do_link(self, worker, server, mode):
        if (worker, server) in self.links:
            self.links[worker, server].set(mode)

    def do_heal(self):
        self.well_since = time.monotonic()
        for link in self.links.values():
            link.set("")

    def do_stop(self, server):
        """SIGSTOP."""
        if self.server[server]:
            self.server[server].send_signal(signal.SIGSTOP)
            self.paused.add(f"server {server}")

    def do_stop_worker(self, worker):
        a = self.actors.get(worker)
        if a is not None and not a.dead:
            a.process.send_signal(signal.SIGSTOP)
            self.paused.add(f"worker {worker}")

    def do_cont(self):
        for name in self.paused:
            kind, i = name.split()
            p = self.server[int(i)] if kind == "server" else self.actors[int(i)].process
            if p is not None and p.poll() is None:
                p.send_signal(signal.SIGCONT)
        self.well_since = time.monotonic()
        now = self.well_since + self.deadline + SLACK
        for a in self.actors.values():
            a.pending = {n: (t, max(end, now), op) for n, (t, end, op) in a.pending.items()}
        self.paused.clear()

    def do_kill_worker(self, worker):
        a = self.actors.get(worker)
        if a is None or a.dead:
            return
        self.listen(0)
        a.dead = True
        a.process.kill()
        a.process.wait()
        self.paused.discard(f"worker {worker}")
        self.wait(lambda: not a.pending)

    def do_spawn(self, worker):
        """A worker that starts anew."""
        a = self.actors.get(worker)
        if a is not None and a.dead:
            self.spawn(worker)
