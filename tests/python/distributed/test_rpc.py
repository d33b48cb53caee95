"""Functions called in other processes of a job."""

import pickle
import socket
import threading
import time

import pytest
from tests.python.distributed.ranks import run as ranks

from argosy import _core
from argosy.distributed import rpc
from argosy.distributed.launch import ports
from argosy.distributed.rpc import _messages
from argosy.distributed.rpc._server import Server


@pytest.mark.parametrize("count", [1, 2, 3])
def test_calls(count):
    for rank in ranks.run("rpc", count):
        assert "all is well" in rank.text


def test_workers_meet_at_an_endpoint():
    (port,) = ports.pick(1)
    for rank in ranks.run("rpc", 3, f"127.0.0.1:{port}"):
        assert "all is well" in rank.text


@pytest.mark.parametrize("way", ["kill", "stop"])
def test_a_worker_is_lost_in_the_middle_of_a_call(way):
    (port,) = ports.pick(1)
    first, *others = ranks.finish(ranks.start("rpc", 3, f"127.0.0.1:{port}", way))
    assert first.code == 0 and "all is well" in first.text, first.text
    assert [rank.code for rank in others] == [0, -9]


def test_a_job_without_a_token_is_refused(monkeypatch):
    monkeypatch.delenv("ARGOSY_JOB_TOKEN", raising=False)
    with pytest.raises(RuntimeError, match="expected ARGOSY_JOB_TOKEN in the environment"):
        rpc.init_rpc("a", 0, 2, "127.0.0.1:1")


def test_bad_places_are_refused(monkeypatch):
    monkeypatch.setenv("ARGOSY_JOB_TOKEN", "secret")
    with pytest.raises(ValueError, match="rank: expected one below 2, got 2"):
        rpc.init_rpc("a", 2, 2)
    with pytest.raises(ValueError, match="master_endpoint: expected 'ip:port', got 'here'"):
        rpc.init_rpc("a", 1, 2, "here")


def test_workers_that_do_not_come_are_named(monkeypatch):
    monkeypatch.setenv("ARGOSY_JOB_TOKEN", "secret")
    monkeypatch.setenv("PADDLE_PG_TIMEOUT", "500")
    (port,) = ports.pick(1)
    with pytest.raises(
        TimeoutError, match=r"\[rpc.init_rpc\] worker 1, 2 did not come within 0.5 s"
    ):
        rpc.init_rpc("a", 0, 3, f"127.0.0.1:{port}")
    with pytest.raises(RuntimeError, match="no worker yet"):
        rpc.get_current_worker_info()


def test_a_server_closes_while_callers_come_and_go():
    """Each of its sockets is closed once, by its thread, and nobody connects after it."""
    errors = []
    for _ in range(100):
        server = Server("127.0.0.1", 0, b"secret")
        server.begin()
        callers = [_messages.connect(server.address, b"secret", "it", 10) for _ in range(4)]
        leave = threading.Barrier(len(callers) + 1)

        def go(caller, leave=leave):
            leave.wait()
            caller.close()

        threads = [threading.Thread(target=go, args=(c,)) for c in callers]
        for thread in threads:
            thread.start()
        leave.wait()
        try:
            server.close()
        except OSError as error:
            errors.append(error)
        for thread in threads:
            thread.join()
        with pytest.raises(OSError, match="refused|reset"):
            socket.create_connection(server.address, 10).recv(1)
            raise OSError("reset")  # taken before the end, and shut down
    assert not errors


_events = {}


def _wait_for(event):
    _events[f"{event} is waited for"].release()
    return _events[event].wait(300)


def test_a_server_that_closes_answers_what_it_has_taken():
    for event in ("soon", "late"):
        _events[event] = threading.Event()
        _events[f"{event} is waited for"] = threading.Semaphore(0)
    server = Server("127.0.0.1", 0, b"secret")
    server.begin()
    callers = {}
    for event in ("soon", "soon", "late"):
        caller = _messages.connect(server.address, b"secret", "it", 100)
        callers.setdefault(event, []).append(caller)
        caller.send_bytes(pickle.dumps((_wait_for, (event,), {})))
        assert _events[f"{event} is waited for"].acquire(timeout=100)
    idle = _messages.connect(server.address, b"secret", "it", 100)
    threading.Timer(0.5, _events["soon"].set).start()
    begin = time.monotonic()
    server.close(patience=5.0)
    assert time.monotonic() - begin > 4.9  # for the one that is late
    for caller in callers["soon"]:
        assert _messages.ask(_Answers(caller), None, "it", 0) is True
    for caller in (*callers["late"], idle):
        with pytest.raises(_core.RankLostError, match="ended before it answered"):
            _messages.ask(_Answers(caller), None, "it", 0)
    _events["late"].set()


class _Answers:
    """A connection on which the call has been sent."""

    def __init__(self, connection):
        self.poll, self.recv_bytes = connection.poll, connection.recv_bytes

    def send_bytes(self, message):
        pass


def test_the_first_worker_answers_the_shutdown_of_all():
    """Before it closes, however late its threads get to it."""
    for rank in ranks.run("rpc_shutdown", 3):
        assert "all is well" in rank.text


def test_callers_of_a_server_that_closes_are_told():
    server = Server("127.0.0.1", 0, b"secret")
    caller = _messages.connect(server.address, b"secret", "it", 10)
    server.close()
    server.close()
    with pytest.raises(EOFError):
        caller.recv_bytes()
