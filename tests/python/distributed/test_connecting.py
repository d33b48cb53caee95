"""How a connection between two processes begins, where the network or the other end disturbs it."""

import contextlib
import os
import socket
import subprocess
import sys
import threading

import pytest
from tests.hosts import Hosts, missing

from argosy.base.core import TCPStore

# What a caller says first, and its proof; what the called end answers, and that it takes the connection.
CALL, PROOF, ANSWER, TAKEN = 40, 32, 48, 1


def read(connection, count):
    data = b""
    while len(data) < count:
        part = connection.recv(count - len(data))
        if not part:
            raise ConnectionError
        data += part
    return data


class Relay:
    """Stands between callers and a store; ends the first `broken` connections instead of handing over
    what the caller says last."""

    def __init__(self, port, broken):
        self._to, self._broken, self.come = port, broken, 0
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self):
        with contextlib.suppress(OSError):
            while True:
                caller, _ = self._listener.accept()
                self.come += 1
                threading.Thread(target=self._relay, args=(caller, self.come), daemon=True).start()

    def _relay(self, caller, number):
        with caller, socket.create_connection(("127.0.0.1", self._to)) as called:
            called.sendall(read(caller, CALL))
            caller.sendall(read(called, ANSWER))
            proof = read(caller, PROOF)
            if number <= self._broken:
                return
            called.sendall(proof)
            back = threading.Thread(target=self._copy, args=(called, caller), daemon=True)
            back.start()
            self._copy(caller, called)

    @staticmethod
    def _copy(source, target):
        with contextlib.suppress(OSError):
            while data := source.recv(65536):
                target.sendall(data)

    def close(self):
        self._listener.close()


def test_a_connection_that_the_other_end_gives_up_is_made_again():
    """The caller has proved all it has to, but the other end does not take the connection."""
    store = TCPStore("127.0.0.1", 0, True, 1, timeout=60)
    relay = Relay(store.port, broken=3)
    try:
        client = TCPStore("127.0.0.1", relay.port, False, 1, timeout=60)
        client.set("key", "value")
        assert store.get("key") == b"value" and relay.come == 4
    finally:
        relay.close()


def test_the_other_end_says_that_it_takes_the_connection():
    """One byte behind the proof: without a caller's proof nothing but an answer comes."""
    store = TCPStore("127.0.0.1", 0, True, 1, timeout=60)
    with socket.create_connection(("127.0.0.1", store.port), 60) as caller:
        caller.sendall(b"argsre02" + bytes(CALL - 8))
        assert len(read(caller, ANSWER)) == ANSWER
        caller.sendall(bytes(PROOF))
        with pytest.raises(ConnectionError):
            read(caller, TAKEN)


@pytest.mark.skipif(bool(missing()), reason=missing())
def test_a_caller_that_reaches_itself_goes_on():
    """Where nobody listens yet at a port of those that callers get, a caller may be given the port that it
    calls: the kernel connects it with itself."""
    port = 40000
    program = f"""
import threading, time
from argosy.base.core import TCPStore
kept = []
def serve():
    time.sleep(1)
    kept.append(TCPStore("127.0.0.1", {port}, True, 1, timeout=60))
server = threading.Thread(target=serve)
server.start()
client = TCPStore("127.0.0.1", {port}, False, 1, timeout=60)
client.set("key", "value")
server.join()
assert kept[0].get("key") == b"value"
print("all is well")
"""
    ports_of_callers = ["sysctl", "-q", f"net.ipv4.ip_local_port_range={port} {port + 3}"]
    with Hosts(1) as hosts:
        subprocess.run(hosts.command(0, ports_of_callers), check=True, timeout=60)
        done = subprocess.run(
            hosts.command(0, [sys.executable, "-c", program]),
            capture_output=True,
            text=True,
            timeout=250,
        )
    assert "all is well" in done.stdout, done.stdout + done.stderr


def test_an_unknown_engine_is_refused():
    """By each process, before it waits for others."""
    program = "import argosy.distributed as dist; dist.init_parallel_env()"
    environ = {
        **os.environ, "PADDLE_TRAINER_ID": "0", "PADDLE_TRAINERS_NUM": "2", "PADDLE_MASTER": "x",
        "ARGOSY_COMM_ENGINE": "tpc",
    }  # fmt: skip
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=100, env=environ, check=False
    )  # fmt: skip
    assert done.returncode == 1
    assert "[environment] ARGOSY_COMM_ENGINE: expected 'tcp' or nothing, got 'tpc'" in done.stderr
