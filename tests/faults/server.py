"""A server process of the fault harness: python server.py OPTIONS (JSON), until SIGTERM."""

import ctypes
import json
import os
import signal
import sys


def main(options, ready=None):
    """Serves until told to stop. `ready` is a file made once it listens."""
    from tests.faults import actor

    server = actor.load_ps().Server(json.dumps(options))
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    if ready:
        with open(ready + ".new", "w") as file:
            file.write(str(server.port))
        os.rename(ready + ".new", ready)
    try:
        server.wait()
    finally:
        server.stop()


def die_with_parent():
    """So that a harness that is killed leaves nobody."""
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)


if __name__ == "__main__":
    die_with_parent()
    main(json.loads(sys.argv[1]), *sys.argv[2:])
