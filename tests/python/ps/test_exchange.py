"""Parts from every worker to every other, through the servers' mailboxes."""

import socket
import subprocess
import sys
import time

import numpy as np
import pytest
from tests.python.ps.jobs import connect, own_endpoint, serve
from tests.python.ps.test_service_workers import FAULTS, together


def parts_of(worker, workers, size, round=0):
    """Of different sizes, all but the first not empty, no two alike."""
    draw = np.random.default_rng([worker, round])
    return [draw.bytes(size * to + (to > 0) * worker) for to in range(workers)]


def check(clients, size, rounds=1):
    workers = len(clients)

    def work(w):
        return [clients[w].exchange(parts_of(w, workers, size, r)) for r in range(rounds)]

    got = together(*[lambda w=w: work(w) for w in range(workers)])
    for w in range(workers):
        for r in range(rounds):
            assert got[w][r] == [parts_of(f, workers, size, r)[w] for f in range(workers)]


@pytest.mark.parametrize("servers", [1, 2])
@pytest.mark.parametrize("workers", [1, 2, 3])
@pytest.mark.parametrize("size", [0, 10, 3_000_000])
def test_all_parts_come(servers, workers, size):
    serving = [serve(i, servers, workers) for i in range(servers)]
    clients = [connect(serving, worker=w, workers=workers) for w in range(workers)]
    check(clients, size, rounds=3)


def test_boxes_are_smaller_than_parts():
    """Posting waits for room; what servers keep stays small."""
    serving = [serve(i, 2, 3, max_mailbox_bytes=1) for i in range(2)]
    clients = [connect(serving, worker=w, workers=3) for w in range(3)]
    check(clients, 5_000_000)


@pytest.mark.parametrize("side", ["client", "server"])
@pytest.mark.parametrize("kind", ["lose=0.1", "double=0.3", "delay=0.3,delay_ms=250", "all=0.1"])
def test_lost_messages(side, kind):
    options = {"faults": f"seed=3,{kind}"}
    own = options if side == "server" else {}
    serving = [serve(i, 2, 3, max_mailbox_bytes=1, **own) for i in range(2)]
    own = options if side == "client" else {}
    clients = [connect(serving, worker=w, workers=3, **FAULTS, **own) for w in range(3)]
    check(clients, 2_500_000, rounds=2)


def test_a_worker_that_never_comes():
    server = serve(workers=2)
    client = connect([server], workers=2, wait_deadline=5)
    with pytest.raises(TimeoutError, match=r"worker\(s\) 1 did not come to 'exchange'"):
        client.exchange([b"", b"x"])


@pytest.mark.parametrize("size, text", [
    (1, r"worker\(s\) 1 have not sent all they have; gave up after \d+ s"),
    (9 << 20, r"worker\(s\) 1 have not sent .*, worker\(s\) 1 do not take what is sent"),
])  # fmt: skip
def test_a_worker_that_stops_halfway(size, text):
    server = serve(workers=2, max_mailbox_bytes=1)
    clients = [connect([server], workers=2, worker=w, wait_deadline=5) for w in range(2)]

    def first():
        with pytest.raises(TimeoutError, match=text):
            clients[0].exchange([b"", bytes(size)])

    together(first, lambda: clients[1].barrier("exchange"))


def test_a_server_that_starts_anew_halfway():
    options = {"workers": 2, "max_mailbox_bytes": 1, "endpoint": own_endpoint()}
    server = serve(**options)
    clients = [connect([server], workers=2, worker=w, attempt_deadline=0.5) for w in range(2)]
    later = []

    def first():
        with pytest.raises(ValueError, match="the server was started anew meanwhile"):
            clients[0].exchange([b"", bytes(9 << 20)])

    def restart():
        clients[1].barrier("exchange")
        time.sleep(0.5)  # the box is full by now
        server.stop()
        later.append(serve(**options))

    together(first, restart)


def test_wrong_parts():
    server = serve(workers=2)
    client = connect([server], workers=2)
    with pytest.raises(ValueError, match="a part for each of 2 workers, got 1"):
        client.exchange([b""])
    with pytest.raises(TypeError):
        client.exchange(["a", "b"])


def test_strangers_do_not_matter():
    """Connections that say nothing, or the wrong thing, neither stop nor reach an exchange."""
    server = serve(workers=2)
    clients = [connect([server], worker=w, workers=2) for w in range(2)]
    strangers = [socket.create_connection(("127.0.0.1", server.port)) for _ in range(5)]
    strangers[0].sendall(b"\0" * 16)
    strangers[1].sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
    with pytest.raises(OSError, match="token"):
        connect([server], worker=1, workers=2, token="guess")
    began = time.monotonic()
    check(clients, 1_000_000)
    assert time.monotonic() - began < 200
    for s in strangers:
        s.close()


def test_ctrl_c():
    server = serve(workers=2)
    code = """
import os, signal, sys, threading
from argosy import _ps
client = _ps.Client(endpoints=["127.0.0.1:{port}"], workers=2)
timer = threading.Timer(1, lambda: os.kill(os.getpid(), signal.SIGINT))
try:
    timer.start()
    client.exchange([b"", b"x"])
except KeyboardInterrupt:
    sys.exit(0)
sys.exit(1)
"""
    process = subprocess.Popen([sys.executable, "-c", code.format(port=server.port)])
    connect([server], worker=1, workers=2).barrier("exchange")
    assert process.wait(100) == 0
