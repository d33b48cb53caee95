"""How soon a client is connected to a server that begins to listen after it."""

import contextlib
import subprocess
import sys
import time

import pytest
from tests.python.ps.jobs import connect, stats

from argosy.distributed.launch import ports

# A process of its own: the threads of a server would drive the client's connections, too.
_SERVER = """
import sys, time
from tests.python.ps.jobs import serve
time.sleep(float(sys.argv[2]))
server = serve(endpoint="127.0.0.1:" + sys.argv[1])
print(time.monotonic(), flush=True)
sys.stdin.read()
"""


@contextlib.contextmanager
def _server(port, seconds):
    """Gives a function that says since when it listens."""
    process = subprocess.Popen(
        [sys.executable, "-c", _SERVER, str(port), str(seconds)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        yield lambda: float(process.stdout.readline())
    finally:
        process.kill()
        process.communicate()


def _soonest(delay, limit, tries=5):
    """delay() within the limit at the first try or a later one: who is not woken in time is late in all of
    them, a busy machine in some."""
    delays = []
    while not delays or min(delays) >= limit:
        assert len(delays) < tries, delays
        delays.append(delay())


# While a client pauses between its attempts nobody drives the connection: it took 5 s and more.
@pytest.mark.parametrize("seconds", [0.3, 2])
def test_a_client_before_its_server(seconds):
    def delay():
        (port,) = ports.pick(1)
        with _server(port, seconds) as listening:
            connect([port])
            return time.monotonic() - listening()

    # 0.12 s at most from one attempt to connect to the next; the rest is for a busy machine.
    _soonest(delay, 0.4)


def test_a_server_that_comes_back():
    def delay():
        (port,) = ports.pick(1)
        with _server(port, 0) as listening:
            client = connect([port])
            listening()
        with _server(port, 1) as listening:
            stats(client)
            return time.monotonic() - listening()

    # The pause between attempts is up to 1 s by then.
    _soonest(delay, 1.6)
