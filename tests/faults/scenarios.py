"""What goes wrong in a run. Each scenario is a function of a run; its draws come from the seed."""

import json
import os
import random
import resource
import shutil
import signal
import socket
import subprocess
import tempfile
import time

from tests.faults import clock, content
from tests.faults.job import LIMIT, ROOT, Failed, Job, Journal
from tests.processes import alive

from argosy.distributed.launch import ports

__all__ = ["SCENARIOS", "run"]

MESSAGES = "all=0.05,delay_ms=30"


class Run:
    """A seed with its draws and a directory of its own."""

    def __init__(self, seed, directory):
        self.seed, self.directory = seed, directory
        self.draw = random.Random(seed)

    def job(self, **options):
        return Job(self.seed, self.directory, **options)

    def maybe(self, chance=0.5):
        return self.draw.random() < chance

    def sleep(self, least, most):
        time.sleep(self.draw.uniform(least, most))

    def faults(self):
        return MESSAGES if self.maybe() else ""


def survivors_have_all(job, dead=()):
    """Every push of a client that lived on was acknowledged."""
    for p in job.clients:
        journal = Journal(p.journal)
        if p in dead:
            continue
        if not journal.ended or journal.failed:
            raise Failed(f"{p.name}: ended {journal.ended}, failures {journal.failed[:3]}")
        if journal.acked["S"] != set(range(1, p.plan["pushes"] + 1)):
            raise Failed(f"{p.name}: not all pushes were acknowledged")


def check_also_after_death(job, what):
    """The tables now, and after all servers were killed and came back: each push as before."""
    job.wait_durable()
    before = job.check(what)
    job.kill_servers()
    job.faults = ""
    job.start_servers()
    after = job.check(what + ", after kill -9 of all servers")
    changed = [push for push in before if before[push] != after.get(push)]
    if changed or before.keys() != after.keys():
        raise Failed(
            f"{what}: kill -9 changed pushes (client, sequence, server): "
            + ", ".join(f"{p}: {before[p]} became {after.get(p)}" for p in changed[:5])
        )


def messages(r):
    """5 % of messages each lost, doubled, delayed and so reordered, in both directions."""
    with r.job(servers=r.draw.choice([1, 2]), faults=MESSAGES) as job:
        job.start_servers()
        for w in range(2):
            job.start_worker(w, pushes=60)
        job.wait_workers()
        survivors_have_all(job)
        check_also_after_death(job, "messages")


def server_killed(r):
    """kill -9 of a server at any point, restart from snapshot and log; clients live on."""
    snapshots = r.draw.choice([0, 1])
    with r.job(servers=r.draw.choice([1, 2]), faults=r.faults(), snapshot_every=snapshots) as job:
        job.start_servers()
        for w in range(2):
            job.start_worker(w, pushes=100)
        for i in range(r.draw.choice([1, 2])):
            job.wait_acknowledged(r.draw.randint(1 + 80 * i, 80 + 80 * i))
            victim = r.draw.randrange(job.servers)
            job.kill_server(victim)
            r.sleep(0, 0.3)
            job.start_server(victim)
        job.wait_workers()
        survivors_have_all(job)
        check_also_after_death(job, "server killed")


def server_killed_without_log(r):
    """The same with snapshots alone: what is there is whole, nothing is there twice."""
    with r.job(servers=1, durability="snapshot", snapshot_every=1) as job:
        job.start_servers()
        for w in range(2):
            job.start_worker(w, pushes=150, pause=0.03)
        job.wait_acknowledged(r.draw.randint(1, 250))
        job.kill_server(0)
        job.start_server(0)
        job.wait_workers()
        job.check("server killed, no log", exact=False)
        # An orderly end keeps all there is.
        rows = job.snapshot_of_rows()
        job.stop_servers()
        job.start_servers()
        if job.snapshot_of_rows() != rows:
            raise Failed("an orderly restart changed the tables")


def worker_killed(r):
    """kill -9 of workers at any point; others take their place."""
    with r.job(servers=r.draw.choice([1, 2]), faults=r.faults()) as job:
        job.start_servers()
        workers = [job.start_worker(w, pushes=80) for w in range(2)]
        dead = []
        if r.maybe(0.3):
            # Both at once.
            job.wait_acknowledged(r.draw.randint(1, 50))
            for victim in workers[:2]:
                victim.kill()
                dead.append(victim)
                workers.append(job.start_worker(victim.plan["worker"], pushes=40))
        for i in range(2):
            job.wait_acknowledged(r.draw.randint(1 + 50 * i, 50 + 50 * i))
            victim = r.draw.choice([w for w in workers if w not in dead])
            victim.kill()
            dead.append(victim)
            workers.append(job.start_worker(victim.plan["worker"], pushes=40))
        job.wait_workers(killed=dead)
        survivors_have_all(job, dead)
        check_also_after_death(job, "worker killed")


def launcher_killed(r):
    """kill -9 of the launcher: no process is left; started again, it goes on from the log."""
    with r.job(servers=r.draw.choice([1, 2])) as job:
        for _ in range(2):
            launch_and_kill(r, job)
        job.start_servers()
        check_also_after_death(job, "launcher killed")


def launch_and_kill(r, job):
    plans = []
    for w in range(2):
        client = len(job.clients) + w + 1
        plan = dict(
            seed=r.seed,
            client=client,
            worker=w,
            workers=content.WORKERS,
            pushes=100000,
            threads=2,
            journal=f"{job.directory}/journal-{client}",
        )
        plans.append(plan)
    before = sum(len(Journal(p.journal).acked["S"]) for p in job.clients)
    launcher = job.start(
        f"launcher-{len(job.clients)}",
        "-m",
        "argosy.distributed.launch",
        "--servers",
        str(job.servers),
        "--workers",
        "2",
        "--durability",
        "log",
        "--durability_dir",
        os.path.join(job.directory, "state"),
        "--log_dir",
        os.path.join(job.directory, "logs"),
        "--stream",
        "none",
        os.path.join(ROOT, "tests/faults/launched.py"),
        json.dumps(plans),
        job.directory,
    )
    for plan in plans:
        job.adopt(plan)
    job.wait_acknowledged(before + r.draw.randint(1, 300), by=launcher)
    launcher.kill()
    launcher.wait()
    pids = [int(n[4:]) for n in os.listdir(job.directory) if n.startswith("pid-")]
    end = time.monotonic() + 100
    while any(alive(p) for p in pids):
        if time.monotonic() > end:
            left = [p for p in pids if alive(p)]
            for p in left:
                os.kill(p, signal.SIGKILL)
            raise Failed(f"{len(left)} processes outlived their launcher")
        time.sleep(0.02)
    for p in pids:
        os.remove(os.path.join(job.directory, f"pid-{p}"))


def disk_full(r):
    """The disk of a server fills up while it is pushed to, snapshots and saves; then there is room."""
    with r.job(snapshot_every=1) as job, small_disk(job.directory) as ballast:
        job.start_servers()
        for w in range(2):
            job.start_worker(
                w,
                pushes=300,
                save_at=150,
                pause=0.02,
                save_to=os.path.join(job.directory, "state/model"),
            )
        before = r.draw.randint(1, 100)
        job.wait_acknowledged(before)
        ballast.fill(job.server[0].pid)
        job.wait_acknowledged(before, failures=1)
        r.sleep(0, 0.5)
        if job.server[0].poll() is not None:
            raise Failed(f"the server did not survive a full disk: {job.tail(job.server[0])}")
        ballast.free(job.server[0].pid)
        job.wait_workers()
        # Refused pushes are failures that the client sees; what it saw acknowledged is there.
        check_also_after_death(job, "disk full")


class Limit:
    """A limit of file sizes stands in for a disk that fills up, where mounting is not allowed."""

    def fill(self, pid):
        resource.prlimit(pid, resource.RLIMIT_FSIZE, (30000, resource.RLIM_INFINITY))

    def free(self, pid):
        resource.prlimit(
            pid, resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY)
        )


class small_disk:
    """Mounts 24 MB of memory as DIRECTORY/state if this process may, else uses a Limit."""

    def __init__(self, directory):
        self.path = os.path.join(directory, "state")
        self.ballast = os.path.join(self.path, "ballast")

    def __enter__(self):
        os.makedirs(self.path, exist_ok=True)
        self.mounted = os.geteuid() == 0 and not subprocess.call(
            ["mount", "-t", "tmpfs", "-o", "size=24m", "tmpfs", self.path],
            stderr=subprocess.DEVNULL,
        )
        return self if self.mounted else Limit()

    def __exit__(self, *_):
        if self.mounted:
            subprocess.call(["umount", "-l", self.path])

    def fill(self, _):
        with open(self.ballast, "wb", buffering=0) as file:
            try:
                while True:
                    file.write(bytes(4096))
            except OSError:
                pass

    def free(self, _):
        os.remove(self.ballast)


def snapshot_damaged(r):
    """A truncated or altered file: the server says which and does not start; restored, it does."""
    with r.job(servers=1, snapshot_every=1) as job:
        job.start_servers()
        for w in range(2):
            job.start_worker(w, pushes=100)
        job.wait_workers()
        state = os.path.join(job.directory, "state/server-0-of-1")
        end = time.monotonic() + LIMIT
        while not os.path.exists(os.path.join(state, "snapshot.json")):
            if time.monotonic() > end:
                raise Failed("no snapshot was taken")
            time.sleep(0.02)
        job.kill_server(0)
        saves = json.load(open(os.path.join(state, "snapshot.json")))["content"]["saves"]
        files = [os.path.join(state, "snapshot.json")]
        for save in saves:
            part = os.path.join(state, save, "part-0-of-1")
            # Of saves that others add to, only rows are read.
            files += [
                os.path.join(part, name)
                for name in sorted(os.listdir(part))
                if save == saves[-1] or name.endswith((".rows", ".json"))
            ]
        for path in r.draw.sample(files, min(3, len(files))):
            whole = open(path, "rb").read()
            if not whole:
                continue
            broken = bytearray(whole[: r.draw.randrange(len(whole) - 1)])
            if r.maybe() and not path.endswith(".json"):
                broken = bytearray(whole)
                broken[r.draw.randrange(len(whole))] ^= 1 << r.draw.randrange(8)
            open(path, "wb").write(broken)
            server = job.start_server(0, wait=False)
            code = job.wait_for(server)
            said = job.tail(server)
            if code != 1 or path not in said or "Do this" not in said:
                raise Failed(f"{path} was damaged; the server ended with {code}: {said}")
            open(path, "wb").write(whole)
        job.start_server(0)
        job.check("snapshot damaged and restored")


def poisoned(r):
    """Rows with NaN and infinity among good ones: refused and counted, the good ones applied."""
    with r.job(servers=r.draw.choice([1, 2]), faults=r.faults()) as job:
        job.start_servers()
        total = 0
        for w in range(2):
            poison = r.draw.sample(range(1, 61), r.draw.randint(1, 10))
            total += len(poison)
            job.start_worker(w, pushes=60, poison=poison)
        job.wait_workers()
        survivors_have_all(job)
        rejected = sum(t.get("rejected", 0) for server in job.stats() for t in server["tables"])
        if rejected != total:
            raise Failed(f"{rejected} poisoned rows were counted, {total} were sent")
        check_also_after_death(job, "poisoned")


def late_server(r):
    """The server's port is taken at first, and workers are there before it."""
    with r.job(servers=1) as job:
        with socket.socket() as other:
            # First: a caller's own end of a connection may get the port that it calls.
            other.bind(("127.0.0.1", job.ports[0]))
            other.listen()
            for w in range(2):
                job.start_worker(w, pushes=40)
            server = job.start_server(0, wait=False)
            code = job.wait_for(server)
            said = job.tail(server)
            if code != 1 or str(job.ports[0]) not in said or "Do this" not in said:
                raise Failed(f"the port was taken; the server ended with {code}: {said}")
        r.sleep(0, 0.5)
        job.start_servers()
        job.wait_workers()
        survivors_have_all(job)
        check_also_after_death(job, "late server")


def clock_jumps(r):
    """The wall clock of servers and workers jumps by up to a day, both ways."""
    library = clock.build(r.directory)
    if not library:
        return
    offset = os.path.join(r.directory, "offset")
    clock.jump(offset, 0)
    environ = {"LD_PRELOAD": library, "ARGOSY_TEST_CLOCK": offset}
    with r.job(servers=1, faults=r.faults(), snapshot_every=1) as job:
        job.start_server(0, environ=environ)
        for w in range(2):
            job.start_worker(w, pushes=80, environ=environ)
        for i in range(4):
            job.wait_acknowledged(r.draw.randint(30 * i, 30 * i + 30))
            clock.jump(offset, r.draw.choice([-86400, -3600, -5, 5, 3600, 86400]))
        job.wait_workers()
        survivors_have_all(job)
        check_also_after_death(job, "clock jumps")


def everything(r):
    """Two servers, three workers, lossy messages, deaths of both, snapshots, a save in between."""
    with r.job(servers=2, faults=MESSAGES, snapshot_every=1) as job:
        job.start_servers()
        target = os.path.join(job.directory, "model")
        workers = [
            job.start_worker(0, pushes=80, threads=1, save_at=r.draw.randint(5, 60), save_to=target)
        ]
        workers += [job.start_worker(w, pushes=80) for w in (1, 2)]
        dead = []
        for i in range(2):
            job.wait_acknowledged(r.draw.randint(1 + 80 * i, 80 + 80 * i))
            if r.maybe():
                victim = r.draw.randrange(2)
                job.kill_server(victim)
                job.start_server(victim)
            elif not dead:
                dead.append(workers[1 + r.draw.randrange(2)])
                dead[0].kill()
        job.wait_workers(killed=dead)
        survivors_have_all(job, dead)
        job.check("everything")
        if Journal(workers[0].journal).saves:
            check_model(job, target, r.draw.choice([1, 2, 3]))
        check_also_after_death(job, "everything")


def check_model(job, target, servers):
    """Loads a save into other servers and compares it with the journals."""
    options = [
        dict(
            job.server_options(0),
            endpoint=f"127.0.0.1:{port}",
            index=i,
            servers=servers,
            durability="none",
            directory="",
            load_from=target,
            snapshot_every=0,
        )
        for i, port in enumerate(ports.pick(servers))
    ]
    job.faults, faults = "", job.faults
    started = []
    for i, o in enumerate(options):
        ready = os.path.join(job.directory, f"ready-model-{i}")
        p = job.start(
            f"model-{i}", os.path.join(ROOT, "tests/faults/server.py"), json.dumps(o), ready
        )
        p.ready = ready
        started.append(p)
    for p in started:
        job.wait_ready(p)
    job.check("saved model", [o["endpoint"] for o in options], saved=True)
    for p in started:
        p.kill()
        p.wait()
    job.faults = faults


SCENARIOS = [
    messages,
    server_killed,
    worker_killed,
    launcher_killed,
    disk_full,
    snapshot_damaged,
    poisoned,
    late_server,
    clock_jumps,
    everything,
    server_killed_without_log,
]


def run(name, seed):
    """One run; raises what went wrong."""
    scenario = next(s for s in SCENARIOS if s.__name__ == name)
    directory = tempfile.mkdtemp(prefix=f"argosy-faults-{seed}-")
    try:
        scenario(Run(seed, directory))
    finally:
        shutil.rmtree(directory, ignore_errors=True)
