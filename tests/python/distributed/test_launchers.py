"""What launchers tell each other, and which ports they take: without processes of a job."""

import concurrent.futures
import os
import random
import signal
import socket
import subprocess
import sys
import threading
import time
import types

import pytest
from tests.processes import until_it_waits

from argosy import _net
from argosy.distributed.launch import local, nodes, ports
from argosy.distributed.launch.nodes import Nodes, Verdict

# ---- ports ----

# Picks ports as whoever draws the same numbers, shows them, and lives until its input ends.
_PICKER = """
import random, sys
from argosy.distributed.launch import ports
ports.random.SystemRandom = lambda: random.Random(5)
print(*ports.pick(int(sys.argv[1])), flush=True)
sys.stdin.read()
"""


class Picker:
    def __init__(self, count):
        self._process = subprocess.Popen(
            [sys.executable, "-c", _PICKER, str(count)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.ports = [int(port) for port in self._process.stdout.readline().split()]

    def end(self):
        self._process.communicate(timeout=100)


@pytest.fixture
def drawn(monkeypatch):
    """pick() that draws what _PICKER does."""
    monkeypatch.setattr(ports.random, "SystemRandom", lambda: random.Random(5))
    monkeypatch.setattr(ports, "_marks", type(ports._marks)(maxlen=ports._marks.maxlen))
    return ports.pick


def test_two_processes_that_pick_get_different_ports(drawn):
    one = Picker(5)
    two = Picker(5)
    assert len({*one.ports, *two.ports}) == 10
    mine = drawn(5)
    assert not {*mine} & {*one.ports, *two.ports}
    ports._marks.clear()
    one.end()
    # What an ended process had marked is free.
    assert drawn(5) == one.ports
    two.end()


def test_a_port_that_is_listened_at_is_not_picked(drawn):
    (port,) = drawn(1)
    ports._marks.clear()
    with socket.create_server(("", port)):
        with pytest.raises(ValueError, match=f"port {port} of 127.0.0.1 is taken"):
            ports.check("127.0.0.1", port)
        assert drawn(1) != [port]
    ports._marks.clear()
    ports.check("127.0.0.1", port)
    assert drawn(1) == [port]


def test_a_process_marks_the_last_of_many(drawn):
    first = drawn(10)
    most = ports._marks.maxlen
    drawn(most - 5)
    other = Picker(10)
    # The oldest five are given up; where there is no room nobody is disturbed.
    assert {*other.ports} & {*first} == {*first[:5]}
    other.end()


def test_where_no_port_is_free(drawn, monkeypatch):
    monkeypatch.setattr(ports, "_is_free", lambda port: False)
    with pytest.raises(OSError, match="no 2 free ports between"):
        drawn(2)


# ---- how launchers of several hosts meet ----


@pytest.fixture
def impatient(monkeypatch):
    monkeypatch.setattr(nodes, "_SECONDS_TO_MEET", 1.5)
    monkeypatch.setattr(nodes, "_SECONDS_OF_SILENCE", (0.4, 100))


def some_master():
    return f"127.0.0.1:{ports.pick(1)[0]}"


def test_launchers_that_do_not_come_are_named(impatient, capsys):
    with pytest.raises(ValueError, match=r"--nnodes 3: launchers 1, 2 of 3 did not come within"):
        Nodes(3, some_master(), 0, 1, "secret")
    assert "waiting for launchers 1, 2 of 3, 0.4 of 1.5 s." in capsys.readouterr().err


def test_a_first_launcher_that_does_not_come_is_named(impatient, capsys, tmp_path):
    master = some_master()
    with pytest.raises(ValueError, match=f"store at {master}, but none has answered within 1.5 s"):
        Nodes(2, master, 1, 1, "secret")
    with pytest.raises(ValueError, match=f"not found at file://{tmp_path}/place within 1.5 s"):
        Nodes(2, f"file://{tmp_path}/place", 1, 1, "secret")
    told = capsys.readouterr().err
    assert f"waiting for the first launcher, which is to answer at {master}, 0.4 of" in told
    assert f"waiting for the first launcher, which is to write to file://{tmp_path}/place" in told


def test_two_launchers_of_a_host_with_one_number():
    master = some_master()
    with concurrent.futures.ThreadPoolExecutor(3) as pool:
        come = [pool.submit(Nodes, 2, master, rank, 1, "secret") for rank in (0, 1, 1)]
        wrong = [e for one in come if (e := one.exception(100))]
    assert len(wrong) == 1 and "expected 2 launchers with numbers below that, got another" in str(
        *wrong
    )
    assert "each job a --master of its own" in str(*wrong)


def start_launcher(folder, *arguments):
    program = folder / "program.py"
    program.write_text("")
    return subprocess.Popen(
        [sys.executable, "-m", "argosy.distributed.launch", *arguments, str(program)],
        cwd=folder, env={**os.environ, "ARGOSY_JOB_TOKEN": "secret"}, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


def wait_until_it_came(master, number):
    store = _net.store_client(master, "secret", 100)
    assert _net.store_get(store, f"nodes/{number}", 100) is not None
    _net.store_bye(store)


def test_a_launcher_that_ends_before_all_have_come(tmp_path):
    master = some_master()
    common = ("--nnodes", "3", "--master", master, "--rank")
    jobs = [start_launcher(tmp_path, *common, str(rank)) for rank in (0, 1)]
    try:
        wait_until_it_came(master, 1)
        jobs[1].kill()
        told = jobs[0].communicate(timeout=100)[1]
    finally:
        for job in jobs:
            job.kill()
            job.wait()
    assert jobs[0].returncode == 2
    assert "--nnodes 3: launcher 1 on 127.0.0.1 has ended or is silent, and launcher" in told, told
    assert "2 of 3 had not come. Do this: run the command again on each host." in told, told


@pytest.mark.parametrize("rank", ["0", "1"])
def test_ctrl_c_ends_a_launcher_that_waits(tmp_path, rank):
    """The first one, which waits for the other, or that one, which looks for the first."""
    master = some_master()
    job = start_launcher(tmp_path, "--nnodes", "2", "--master", master, "--rank", rank)
    try:
        if rank == "0":
            wait_until_it_came(master, 0)
        else:
            until_it_waits(job.pid)
        job.send_signal(signal.SIGINT)
        told = job.communicate(timeout=100)[1]
    finally:
        job.kill()
        job.wait()
    assert job.returncode == 130 and "SIGINT: nothing was started." in told, told


def test_names_of_jobs_are_compared(tmp_path):
    master = some_master()
    common = ("--nnodes", "2", "--master", master)
    jobs = [
        start_launcher(tmp_path, *common, "--rank", str(rank), "--job_id", name)
        for rank, name in enumerate(("one", "another"))
    ]
    try:
        told = jobs[1].communicate(timeout=100)[1]
        jobs[0].communicate(timeout=100)
    finally:
        for job in jobs:
            job.kill()
            job.wait()
    assert jobs[1].returncode == 2 and jobs[0].returncode == 1
    assert "--job_id: expected that of the first launcher, one, got another. Do this" in told, told


# ---- why a job ends ----


@pytest.fixture
def two():
    """The launchers of two hosts, which have met."""
    master = f"127.0.0.1:{ports.pick(1)[0]}"
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        met = [pool.submit(Nodes, 2, master, rank, 1, "secret") for rank in (0, 1)]
        both = [one.result(100) for one in met]
    yield both
    threads = [threading.Thread(target=one.close) for one in both]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(100)


KILLED = Verdict("worker.1 was killed by SIGKILL", 137, False)
BROUGHT = Verdict("worker.0 failed with code 3", 3, False)


def said(verdict):
    return verdict.text, verdict.code, verdict.again


def test_who_waits_hears_the_cause_from_another_host(two):
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(two[0].report, BROUGHT, 100)
        time.sleep(0.3)  # longer than it takes to report without patience
        assert not waiting.done()
        assert said(two[1].report(KILLED)) == said(KILLED)
        assert said(waiting.result(100)) == said(KILLED)
    for one in two:
        assert said(one.verdict()) == said(KILLED)


def test_where_nobody_says_a_cause(two):
    begin = time.monotonic()
    assert said(two[0].report(BROUGHT, 0.5)) == said(BROUGHT)
    assert time.monotonic() - begin >= 0.5
    # What was said first remains.
    assert said(two[1].report(KILLED)) == said(BROUGHT)
    assert said(two[1].verdict()) == said(BROUGHT)


@pytest.mark.parametrize("code, patience", [(3, local._CAUSE_SECONDS), (-9, 0)])
def test_who_was_killed_is_reported_at_once(code, patience, tmp_path, capsys):
    """A process that failed may have done so because of one that was killed elsewhere."""
    told = []

    def report(verdict, patience):
        told.append((verdict.code, patience))
        return KILLED

    (tmp_path / "log").write_text("its last words\n")
    process = types.SimpleNamespace(
        task=types.SimpleNamespace(name="worker.0", kind="worker"),
        path=str(tmp_path / "log"),
        restarts=0,
        sweep_group=lambda: None,
    )
    plan = types.SimpleNamespace(
        together=True,
        restart_any=False,
        max_restart=0,
        nodes=types.SimpleNamespace(report=report),
    )
    job = types.SimpleNamespace(plan=plan, followers=[], _end_together=lambda verdict: verdict.code)
    assert local._Job._failed(job, process, code) == 137
    assert told == [(code if code > 0 else 128 - code, patience)]
    assert "its last words" in capsys.readouterr().err
