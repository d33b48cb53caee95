"""Real server and worker processes of one run, and the check of what they left."""

import argparse
import array
import json
import os
import signal
import subprocess
import sys
import time

from tests.faults import content

from argosy.distributed.launch import ports

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
LIMIT = 120  # seconds that any wait may take: more is a hang


class Failed(AssertionError):
    """The run broke a promise; the text says which."""


class Journal:
    """What a worker said about its pushes."""

    def __init__(self, path):
        self.sent, self.acked = {"S": set(), "D": set()}, {"S": set(), "D": set()}
        self.failed, self.torn, self.saves, self.refused_saves = [], [], 0, []
        self.ended = False
        for line in open(path) if os.path.exists(path) else ():
            if not line.endswith("\n"):
                continue
            kind, *words = line.split()
            if kind in "SD":
                self.sent[kind].add(int(words[0]))
            elif kind in "AB":
                self.acked["S" if kind == "A" else "D"].add(int(words[0]))
            elif kind in "FP":
                self.failed.append(line.strip())
            elif kind == "T":
                self.torn.append(line.strip())
            elif kind == "V":
                self.saves += 1
            elif kind == "X":
                self.refused_saves.append(line.strip())
            elif kind == "E":
                self.ended = True


class Job:
    """Processes of a run. Use as a context: on leaving, none is left."""

    def __init__(self, seed, directory, servers=1, durability="log", faults="", **options):
        self.seed, self.directory, self.servers = seed, directory, servers
        self.durability, self.faults, self.options = durability, faults, options
        self.ports = ports.pick(servers)
        self.processes, self.server, self.clients = [], [None] * servers, []
        self.count = 0

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for p in self.processes:
            if p.poll() is None:
                p.kill()
            p.wait()

    @property
    def endpoints(self):
        return [f"127.0.0.1:{p}" for p in self.ports]

    def start(self, name, *arguments, environ=None):
        """A Python process; its output goes to NAME.log."""
        env = dict(os.environ, PYTHONPATH=ROOT, **(environ or {}))
        env.pop("ARGOSY_PS_FAULTS", None)
        # As in Driver: the story server_is_back is about what happens without it.
        env["GRPC_CLIENT_CHANNEL_BACKUP_POLL_INTERVAL_MS"] = "100"
        if self.faults:
            self.count += 1
            env["ARGOSY_PS_FAULTS"] = f"seed={self.seed * 100 + self.count},{self.faults}"
        log = open(os.path.join(self.directory, name + ".log"), "ab")
        with log:
            process = subprocess.Popen(
                [sys.executable, *arguments], env=env, stdout=log, stderr=log, cwd=self.directory
            )
        process.name = name
        self.processes.append(process)
        return process

    def server_options(self, index):
        return dict(
            endpoint=self.endpoints[index],
            index=index,
            servers=self.servers,
            workers=content.WORKERS,
            tables=content.TABLES,
            durability=self.durability,
            directory=os.path.join(self.directory, "state"),
            threads=2,
            **self.options,
        )

    def start_server(self, index, wait=True, environ=None):
        """Server `index`; with `wait`, returns once it listens."""
        ready = os.path.join(self.directory, f"ready-{len(self.processes)}")
        self.server[index] = process = self.start(
            f"server-{index}",
            os.path.join(ROOT, "tests/faults/server.py"),
            json.dumps(self.server_options(index)),
            ready,
            environ=environ,
        )
        process.ready = ready
        if wait:
            self.wait_ready(process)
        return process

    def wait_ready(self, process):
        end = time.monotonic() + LIMIT
        while not os.path.exists(process.ready):
            if process.poll() is not None:
                raise Failed(f"{process.name} ended: {self.tail(process)}")
            if time.monotonic() > end:
                raise Failed(f"{process.name} hangs at its start")
            time.sleep(0.01)

    def start_servers(self):
        for i in range(self.servers):
            self.start_server(i, wait=False)
        for p in list(self.server):
            self.wait_ready(p)

    def kill_server(self, index):
        self.server[index].kill()
        self.server[index].wait()

    def kill_servers(self):
        for i in range(self.servers):
            self.kill_server(i)

    def stop_servers(self):
        for p in self.server:
            p.send_signal(signal.SIGTERM)
        for p in self.server:
            self.wait_for(p)

    def start_worker(self, worker, pushes, threads=2, environ=None, **plan):
        """A new client, whatever clients of this worker there were."""
        client = len(self.clients) + 1
        journal = os.path.join(self.directory, f"journal-{client}")
        plan = dict(
            seed=self.seed,
            client=client,
            worker=worker,
            workers=content.WORKERS,
            endpoints=self.endpoints,
            pushes=pushes,
            threads=threads,
            journal=journal,
            **plan,
        )
        process = self.start(
            f"worker-{client}",
            os.path.join(ROOT, "tests/faults/worker.py"),
            json.dumps(plan),
            environ=environ,
        )
        process.client, process.plan, process.journal = client, plan, journal
        self.clients.append(process)
        return process

    def wait_acknowledged(self, count, failures=0, by=None):
        """Until so many pushes in all were acknowledged (and so many failed); `by`: the process without
        which there will be no more."""
        end = time.monotonic() + LIMIT
        while True:
            journals = [Journal(p.journal) for p in self.clients]
            acked = sum(len(j.acked["S"]) for j in journals)
            if acked >= count and sum(len(j.failed) for j in journals) >= failures:
                return
            if all(j.ended for j in journals):
                raise Failed(f"the workers ended early: {acked} acknowledged of {count}")
            if by is not None and by.poll() is not None:
                raise Failed(
                    f"{by.name} ended with {by.returncode}: {acked} pushes acknowledged of {count} "
                    f"waited for. Its end: {self.tail(by)}"
                )
            if time.monotonic() > end:
                said = "" if by is None else f". The end of {by.name}: {self.tail(by)}"
                raise Failed(
                    f"no progress: {acked} pushes acknowledged of {count} waited for{said}"
                )
            time.sleep(0.01)

    def adopt(self, plan):
        """A client that somebody else started, for check()."""
        process = argparse.Namespace(
            client=plan["client"],
            plan=plan,
            journal=plan["journal"],
            name=f"worker-{plan['client']}",
        )
        self.clients.append(process)

    def tail(self, process):
        path = os.path.join(self.directory, process.name + ".log")
        return open(path, errors="replace").read()[-2000:]

    def wait_for(self, process, limit=LIMIT):
        """Its exit code."""
        try:
            return process.wait(limit)
        except subprocess.TimeoutExpired:
            serves = os.path.exists(getattr(process, "ready", ""))
            doing = "serves and does not end" if serves else "hangs"
            raise Failed(f"{process.name} {doing}: {self.tail(process)}") from None

    def wait_workers(self, killed=()):
        """Until all workers ended by themselves."""
        for p in self.clients:
            code = self.wait_for(p)
            if code and p not in killed:
                raise Failed(f"{p.name} ended with {code}: {self.tail(p)}")

    # What must hold.

    def check(self, what, endpoints=None, exact=True, saved=False):
        """Compares the tables of servers with the journals of all clients. Returns how often each
        push was applied.

        exact: acknowledged pushes are there, each as a whole. saved: the tables are of some moment
        of the run, so only what is there is compared, each push as a whole. Neither: rows are whole
        and nothing is there twice.
        """
        client, found = self.connect(endpoints), {}
        dense = array.array("f", bytes(4 * content.CLIENTS * content.NUMBERS))
        client.pull_dense(1, dense)
        for process in self.clients:
            journal = Journal(process.journal)
            found.update(self.check_client(what, client, process, journal, exact, saved))
            for sequence in range(max(journal.sent["S"], default=0) + 1):
                number = content.number(process.client, sequence)
                if number is None:
                    continue
                times = found[process.client, sequence, "dense"] = int(dense[number])
                self.check_times(
                    f"{what}: {process.name}: dense push {sequence}",
                    times,
                    sequence in journal.sent["D"],
                    exact and not saved and sequence in journal.acked["D"],
                )
                dense[number] = 0
        if any(dense):
            raise Failed(f"{what}: dense numbers that nobody pushed: {set(dense)}")
        return found

    @staticmethod
    def check_times(where, times, sent, acked):
        if times > 1:
            raise Failed(f"{where} was applied {times} times")
        if times and not sent:
            raise Failed(f"{where} was applied and never sent")
        if acked and not times:
            raise Failed(f"{where} was acknowledged and is lost")

    def pull(self, client, keys):
        out = array.array("f", [0] * (content.DIM * len(keys)))
        client.pull_sparse(0, array.array("Q", keys), out, False)
        rows = [out[i : i + content.DIM] for i in range(0, len(out), content.DIM)]
        for key, row in zip(keys, rows):
            if len(set(row)) != 1:
                raise Failed(f"row {key} is torn: {list(row)}")
        return [int(row[0]) for row in rows]

    def connect(self, endpoints=None):
        """A client of the harness itself."""
        from argosy import _ps

        return _ps.Client(
            json.dumps(
                dict(
                    endpoints=endpoints or self.endpoints,
                    worker=content.WORKERS - 1,
                    workers=content.WORKERS,
                    connect_deadline=20,
                    call_deadline=20,
                    attempt_deadline=1,
                )
            )
        )

    def stats(self):
        """Of all servers."""
        return json.loads(self.connect().stats())

    def snapshot_of_rows(self):
        """All rows of all clients."""
        client = self.connect()
        rows = []
        for process in self.clients:
            rows += self.pull(client, [process.client << 20 | i for i in range(content.KEYS)])
        return rows

    def check_client(self, what, client, process, journal, exact, saved):
        name, servers = f"{what}: {process.name}", self.servers
        sent, acked = journal.sent["S"], journal.acked["S"]
        if journal.torn:
            raise Failed(f"{name} saw torn rows: {journal.torn[:3]}")
        highest = max(sent, default=0) + 3
        pushes = [(q, s) for q in range(1, highest + 1) for s in range(servers)]
        applied = dict(
            zip(
                pushes,
                self.pull(client, [content.marker(process.client, *p, servers) for p in pushes]),
            )
        )
        expected = [0] * content.KEYS
        for (sequence, server), times in applied.items():
            self.check_times(
                f"{name}: push {sequence} on server {server}",
                times,
                sequence in sent,
                exact and not saved and sequence in acked,
            )
            if times:
                for key in content.data_keys(self.seed, process.client, sequence):
                    if content.server_of(key, servers) == server:
                        expected[key & 0xFFFFF] += 1
        if saved and process.plan["threads"] == 1:
            # One after the other: none is there whose predecessor, once acknowledged, is not.
            there = [q for q in sorted(acked) if all(applied[q, s] for s in range(servers))]
            if there != sorted(acked)[: len(there)]:
                raise Failed(f"{name}: the save has pushes {there} of {sorted(acked)}")
        rows = self.pull(client, [process.client << 20 | i for i in range(content.KEYS)])
        if not exact and not saved:
            self.check_not_twice(name, process.client, sent, rows)
        if (exact or saved) and rows != expected:
            wrong = [(i, a, b) for i, (a, b) in enumerate(zip(rows, expected)) if a != b]
            raise Failed(f"{name}: pushes that are not whole (key, is, should be): {wrong[:5]}")
        poisoned = self.pull(client, [process.client << 20 | 1 << 19])
        if poisoned != [0]:
            raise Failed(f"{name}: a poisoned row was applied: {poisoned}")
        return {(process.client, *push): times for push, times in applied.items()}

    def check_not_twice(self, name, client, sent, rows):
        """No row has more than all pushes together brought it."""
        most = [0] * content.KEYS
        for sequence in sent:
            for key in content.data_keys(self.seed, client, sequence):
                most[key & 0xFFFFF] += 1
        wrong = [(i, a, b) for i, (a, b) in enumerate(zip(rows, most)) if a > b]
        if wrong:
            raise Failed(f"{name}: rows with too much (key, is, at most): {wrong[:5]}")

    def wait_durable(self):
        """Until the log has all that was applied."""
        end = time.monotonic() + LIMIT
        while any(
            s["durability"].get("log_position") != s["durability"].get("durable_position")
            for s in self.stats()
        ):
            if time.monotonic() > end:
                raise Failed("the log does not reach the disk")
            time.sleep(0.01)
