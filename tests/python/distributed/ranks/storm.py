"""Seeded runs of forked ranks that exchange tensors while one of them is hurt:

    python storm.py FIRST_SEED RUNS [tcp|hosts|hybrid]

tcp: by TCP on this host. hosts: each rank on a host of its own. hybrid: two ranks on each host, which
share memory there. Each run ends within its limits, and in the right error, the same on all ranks that live: or the seed
and what was wrong are printed, and the exit code is 1.
"""

import contextlib
import ctypes
import os
import pathlib
import random
import re
import secrets
import select
import signal
import sys
import time

WAY = "".join(sys.argv[3:])
if WAY in ("tcp", "hosts"):
    os.environ["ARGOSY_COMM_ENGINE"] = "tcp"
EACH = 2 if WAY == "hybrid" else 1  # ranks of a host

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[4]))
from tests.hosts import Hosts  # noqa: E402

import argosy as paddle  # noqa: E402
import argosy.distributed as dist  # noqa: E402
from argosy.distributed.launch import ports  # noqa: E402

LIMIT = 4.0  # of a wait for a rank
LONG_LIMIT = (
    30.0  # the same for faults that are found out by silence: after 5 s a rank counts as lost
)
STEPS = 4000
FAULTS = ("kill", "stop", "disagree", "late", "fork", "leave")
# silent: a rank that is stopped for longer than silence is allowed. cut: a host without its link.
SILENT = {"": (), "tcp": ("silent",), "hosts": ("silent", "cut"), "hybrid": ("silent", "cut")}[WAY]


class Scaled(paddle.nn.Layer):
    def __init__(self, count):
        super().__init__()
        self.weight = self.create_parameter([count])

    def forward(self, x):
        return self.weight * x


# Loaded before ranks are forked: on a busy machine that takes seconds, and they meet within LIMIT.
USED = (dist.init_parallel_env, dist.all_reduce, dist.batch_isend_irecv, paddle.DataParallel)
if WAY:
    from argosy import _net  # noqa: F401

KINDS = ("all_reduce", "all_gather", "ring", "broadcast", "async", "gradients", "barrier")


def step(draw, rank, size, odd):
    """One call that `draw`, alike on all ranks, chooses; `odd`: as no other rank makes it."""
    kind = draw.choice(KINDS)
    count = draw.choice((1, 100, 3000, 200000, *((900000,) if EACH > 1 else ())))
    if odd and kind == "ring":  # a message cannot be compared with a collective
        count += 7
    elif odd:
        dist.all_reduce(paddle.ones([count + 7]))
        return
    if kind == "all_reduce":
        x = paddle.full([count], float(rank))
        dist.all_reduce(x)
        assert float(x[-1]) == size * (size - 1) / 2
    elif kind == "all_gather":
        parts = []
        dist.all_gather(parts, paddle.full([count], rank))
        assert [int(p[0]) for p in parts] == list(range(size))
    elif kind == "broadcast":
        x = paddle.full([count], rank)
        dist.broadcast(x, src=size - 1)
        assert int(x[0]) == size - 1
    elif kind == "async":
        xs = [paddle.full([count], float(rank)) for _ in range(3)]
        for task in [dist.all_reduce(x, sync_op=False) for x in xs]:
            task.wait()
    elif kind == "gradients":
        network = paddle.DataParallel(Scaled(count))
        for _ in range(2):  # the second is under way while backward goes on
            network(paddle.full([1], float(rank))).sum().backward()
            assert abs(float(network.parameters()[0].grad[-1]) - (size - 1) / 2) < 1e-6
            network.clear_gradients()
    elif kind == "ring":
        x = paddle.zeros([count])
        ops = [
            dist.P2POp(dist.isend, paddle.full([count], float(rank)), (rank + 1) % size),
            dist.P2POp(dist.irecv, x, (rank - 1) % size),
        ]
        for task in dist.batch_isend_irecv(ops):
            task.wait()
        assert float(x[0]) == (rank - 1) % size
    else:
        dist.barrier()


def move_to(namespace):
    """This process, to a network namespace by name."""
    with open(f"/var/run/netns/{namespace}") as file:
        if ctypes.CDLL(None, use_errno=True).setns(file.fileno(), 0):
            raise OSError(ctypes.get_errno(), f"setns to {namespace}")


def be_rank(rank, size, seed, fault, victim, moment, ready, result, hosts):
    os.environ.update(PADDLE_TRAINER_ID=str(rank), PADDLE_TRAINERS_NUM=str(size))
    if hosts:
        os.environ["PADDLE_NNODES"] = str((size + EACH - 1) // EACH)
        move_to(hosts.name(rank // EACH))
    try:
        dist.init_parallel_env()
        os.write(ready, b".")
        draw = random.Random(seed)
        for k in range(STEPS):
            mine = rank == victim and k == moment
            if mine and fault == "late":
                time.sleep(0.4)
            if mine and fault == "leave":
                os._exit(0)
            if mine and fault == "fork" and os.fork() == 0:
                os._exit(0)  # the child does not hurt the group
            if fault in ("late", "fork") and k == moment + 20:
                break
            step(draw, rank, size, mine and fault == "disagree")
        text = "done"
    except dist.CommunicationError as error:
        text = f"{type(error).__name__}: {error}"
    except BaseException as error:
        text = f"unexpected {type(error).__name__}: {error}"
    os.write(result, text.encode())
    os._exit(0)


def read_all(fd, until):
    """What comes before the end of the file; None if that does not come in time."""
    data = b""
    while True:
        if not select.select([fd], [], [], max(0.0, until - time.monotonic()))[0]:
            return None
        part = os.read(fd, 65536)
        if not part:
            return data.decode()
        data += part


def meeting_place(hosts):
    """A name that nobody has; over TCP, a port."""
    if hosts:
        return f"{hosts.address(0)}:{10000 + secrets.randbelow(20000)}"
    if not WAY:
        return f"storm {secrets.token_hex(4)}"
    return f"127.0.0.1:{ports.pick(1)[0]}"


def run(seed, hosts):
    """What is wrong with the run; None if nothing is."""
    draw = random.Random(seed)
    faults = (*FAULTS, *SILENT)
    sizes = (3, 4, 6) if WAY == "hybrid" else (2, 3, 4)
    size, fault = draw.choice(sizes), faults[seed % len(faults)]
    limit = LONG_LIMIT if fault in SILENT else LIMIT
    victim, moment = draw.randrange(size), draw.randrange(60)
    os.environ.update(PADDLE_MASTER=meeting_place(hosts), PADDLE_PG_TIMEOUT=str(int(limit * 1000)))
    ready = os.pipe()
    pids, ends = [], []
    for rank in range(size):
        result = os.pipe()
        pid = os.fork()
        if pid == 0:
            be_rank(rank, size, seed, fault, victim, moment, ready[1], result[1], hosts)
        os.close(result[1])
        pids.append(pid)
        ends.append(result[0])
    try:
        come = 0
        while come < size:
            if not select.select([ready[0]], [], [], 100)[0]:
                soon = time.monotonic() + 1
                said = {rank: read_all(end, soon) for rank, end in enumerate(ends)}
                return f"{size} ranks, {come} of them were connected; what they said: {said}"
            come += len(os.read(ready[0], size))
        if fault in ("kill", "stop", "silent"):
            time.sleep(draw.random() * 0.1)
            os.kill(pids[victim], signal.SIGKILL if fault == "kill" else signal.SIGSTOP)
        if fault == "cut":
            time.sleep(draw.random() * 0.1)
            hosts.cut(victim // EACH)
        until = time.monotonic() + limit + 60
        hurt = ("kill", "stop", "silent", "leave")
        lived = [r for r in range(size) if r != victim or fault not in hurt]
        texts = {r: read_all(ends[r], until) for r in lived}
        if fault in ("stop", "silent"):
            os.kill(pids[victim], signal.SIGCONT)
            texts[victim] = read_all(ends[victim], until)
        if fault == "cut":  # what those of its host see is that they hear nobody
            for rank in [r for r in texts if r // EACH == victim // EACH]:
                alone = texts.pop(rank)
                if "RankLostError" not in str(alone):
                    return f"{size} ranks, {victim} was cut off: {rank} ended by {alone}"
            if not texts:
                return None
    finally:
        if fault == "cut":
            hosts.cut(victim // EACH, over=True)
        for pid in pids:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
        for fd in (*ready, *ends):
            os.close(fd)
    return wrong_with(f"{size} ranks, {fault} of {victim} at {moment}", fault, victim, texts)


def wrong_with(told, fault, victim, texts):
    """What is wrong with what the ranks said; None if nothing is."""
    wanted = {
        "kill": ("RankLostError: ",),
        "cut": ("RankLostError: ",),
        "leave": ("RankLostError: ",),
        "silent": ("RankLostError: ",),
        "stop": ("CommunicationTimeout: ",),
        "disagree": ("RanksDisagreeError: ",),
    }.get(fault, ("done",))
    if fault == "stop" and WAY:
        # LIMIT begins when a rank waits, silence with the victim's last beat, which on a busy machine was
        # long before it was stopped: either may be over first.
        wanted += ("RankLostError: ",)
    found = set(texts.values())
    text = next(iter(found))
    if len(found) != 1 or not text or not text.startswith(wanted):
        return f"{told}: expected {' or '.join(wanted)} of all, got {texts}"
    if fault == "silent" and not re.search(rf"ranks? (\d+, )*{victim}\b", text):
        return f"{told}: nobody names it: {text}"
    return None


def main():
    first, runs = int(sys.argv[1]), int(sys.argv[2])
    bad = 0
    with Hosts(4) if WAY in ("hosts", "hybrid") else contextlib.nullcontext() as hosts:
        for seed in range(first, first + runs):
            wrong = run(seed, hosts)
            if wrong:
                bad += 1
                print(f"seed {seed}: {wrong}", flush=True)
    print(f"{runs} runs, {bad} wrong", flush=True)
    sys.exit(bad > 0)


if __name__ == "__main__":
    main()
