"""A server whose disk is full: what it acknowledged is there once, what it refused never comes.

The disk is a real file system of a few MB, filled to its last byte.
"""

import contextlib
import json
import os
import subprocess
import sys
import time

import numpy as np
import pytest
from tests.processes import until
from tests.python.ps.jobs import DENSE, SPARSE, connect, pull, push, stats

LIMIT = 120

SERVER = """
import json, signal, sys
from argosy import _ps
server = _ps.Server(sys.argv[1])
signal.signal(signal.SIGTERM, lambda *_: server.stop())
print(server.port, flush=True)
server.wait()
"""


class SmallDisk:
    """A file system in memory, which can be filled."""

    def __init__(self, path):
        self.path, self.ballast = str(path), str(path / "ballast")

    def fill(self, leave=0):
        """Leaves so many bytes; none: no room for another page."""
        with open(self.ballast, "ab", buffering=0) as file, contextlib.suppress(OSError):
            while not leave or os.statvfs(self.path).f_bavail * 4096 > leave:
                file.write(bytes(4096))

    def free(self):
        os.remove(self.ballast)


@pytest.fixture
def disk(tmp_path, request):
    """64 MB."""
    path = tmp_path / "disk"
    path.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=64m", "tmpfs", str(path)]
    if os.geteuid() or subprocess.call(mount, stderr=subprocess.DEVNULL):
        pytest.skip("this process may not mount a file system")
    yield SmallDisk(path)
    subprocess.call(["umount", "-l", str(path)])


class Server:
    """A server process that may be killed and started again; the clients of this test."""

    def __init__(self, **options):
        self.options = {"endpoint": "127.0.0.1:0", "tables": [SPARSE, DENSE], "threads": 2}
        self.options.update(options)
        self.process = None

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.kill()

    def start(self):
        self.process = subprocess.Popen(
            [sys.executable, "-c", SERVER, json.dumps(self.options)],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        port = self.process.stdout.readline()
        if not port:
            raise OSError(self.process.communicate(timeout=LIMIT)[1])
        options = {"tables": self.options["tables"], "table_deadline": 60}
        self.client = connect([int(port)], **options)
        # What is applied but cannot be written is asked for again until then.
        self.impatient = connect([int(port)], call_deadline=2, **options)

    def kill(self):
        """kill -9."""
        self.process.kill()
        return self.process.communicate(timeout=LIMIT)[1]

    def end(self):
        """In order."""
        self.process.terminate()
        return self.process.communicate(timeout=LIMIT)[1]

    def push(self, key):
        """What the client is told of a push of one row: acknowledged, refused or unknown."""
        try:
            push(self.impatient, [key])
        except RuntimeError as error:
            assert "No space left" in str(error) and "Do this" in str(error)
            return "unknown" if "applied, but not on disk" in str(error) else "refused"
        return "acknowledged"

    def push_until(self, wanted, told, first):
        """Pushes rows `first`, .. until one is told `wanted`; notes what became of each."""
        deadline = time.monotonic() + LIMIT
        while True:
            told[first] = self.push(first)
            if told[first] == wanted:
                return first + 1
            assert time.monotonic() < deadline, told
            first += 1
            time.sleep(0.02)

    def rows(self, keys):
        return pull(self.client, sorted(keys), create=False)[:, 0]


def check(rows, told, unknown=(0, 1)):
    """Each push as its client was told."""
    for (key, what), row in zip(sorted(told.items()), rows):
        allowed = {"acknowledged": (1,), "refused": (0,), "unknown": unknown}[what]
        assert row in allowed, (key, what, row, told)


@pytest.mark.parametrize("killed", [False, True], ids=["lives", "killed"])
@pytest.mark.parametrize("snapshots", [0, 1])
def test_the_log_has_no_room(disk, snapshots, killed):
    options = {"durability": "log", "directory": disk.path, "snapshot_every": snapshots}
    with Server(**options) as server:
        told = {}
        push(server.client, np.arange(10_000, 30_000))
        key = server.push_until("acknowledged", told, 0)
        disk.fill()
        key = server.push_until("unknown", told, key)  # the last page of the log may take some
        while list(told.values()).count("refused") < 5:
            key += 1
            told[key] = server.push(key)
            if told[key] == "acknowledged":  # a snapshot failed, and gave its room back
                disk.fill()
            assert key < 200, told
        assert (pull(server.client, np.arange(10_000, 30_000)) == 1).all()  # pulls go on
        if killed:
            server.kill()
            server.start()  # needs no room
            check(server.rows(told), told)
            server.push_until("unknown", told, key + 1)
        disk.free()
        server.push_until("acknowledged", told, 1000)
        before = server.rows(told)
        # What was applied before there was no room is kept, if its server lives.
        check(before, told, unknown=(0, 1) if killed else (1,))
        server.kill()
        server.start()
        assert (server.rows(told) == before).all()
        assert (pull(server.client, np.arange(10_000, 30_000)) == 1).all()


def test_a_snapshot_has_no_room(disk):
    """The one before holds, and so does the log."""
    options = {"durability": "log", "directory": disk.path, "snapshot_every": 1}
    with Server(**options) as server:
        push(server.client, np.arange(20_000))

        def durability():
            return stats(server.client)[0]["durability"]

        until(lambda: durability()["snapshots"], told=durability)
        disk.fill()
        until(lambda: "has room for" in durability()["last_failure"], told=durability)
        written = durability()["snapshots"]
        server.kill()
        server.start()
        assert durability()["recovered_rows"] and not durability()["snapshots"]
        assert (pull(server.client, np.arange(20_000)) == 1).all()
        assert written
        disk.free()
        push(server.client, np.arange(20_000))
        until(lambda: durability()["snapshots"], told=durability)
        server.kill()
        server.start()
        assert (pull(server.client, np.arange(20_000)) == 2).all()


def test_a_snapshot_leaves_the_log_its_room(disk):
    """One that would not fit is not begun: pushes go on."""
    options = {"durability": "log", "directory": disk.path, "snapshot_every": 1}
    keys = np.arange(200_000)
    with Server(**options) as server:

        def durability():
            push(server.client, keys[:10])  # something to write
            return stats(server.client)[0]["durability"]

        push(server.client, keys)
        until(lambda: durability()["snapshots"])
        disk.fill(leave=4 << 20)
        push(server.client, keys[:100_000])
        until(lambda: "has room for" in durability()["last_failure"])
        assert os.statvfs(disk.path).f_bavail * 4096 > 1 << 20
        before = pull(server.client, keys)
        server.kill()
        server.start()
        assert (pull(server.client, keys) == before).all()


def test_the_last_snapshot_has_no_room(disk):
    """Without a log: the end says that what came since the last one is lost, which holds."""
    options = {"durability": "snapshot", "directory": disk.path}
    with Server(**options) as server:
        push(server.client, np.arange(20_000))
        server.end()
        server.start()
        push(server.client, np.arange(20_000))
        disk.fill()
        said = server.end()
        assert "No space left" in said and "pushed since the last snapshot is lost" in said
        server.start()
        assert (pull(server.client, np.arange(20_000)) == 1).all()


@pytest.mark.parametrize("killed", [False, True], ids=["lives", "killed"])
@pytest.mark.parametrize("log_too", [False, True], ids=["rows", "rows_and_log"])
def test_rows_have_no_room(disk, tmp_path, log_too, killed):
    """Of a table on disk: above its room in memory pushes of new rows are refused."""
    table = {
        **SPARSE, "tier": "ssd", "directory": os.path.join(disk.path, "db"), "memory_rows": 1024,
    }  # fmt: skip
    state = os.path.join(disk.path, "state") if log_too else str(tmp_path / "state")
    options = {"durability": "log", "directory": state, "tables": [table]}
    with Server(**options) as server:
        push(server.client, np.arange(100_000, 104_000))
        told = {}
        key = server.push_until("acknowledged", told, 0)
        disk.fill()
        if not log_too:
            batch = 200_000
            with pytest.raises(RuntimeError, match="takes no rows.*Do this: make room") as refusal:
                for batch in range(200_000, 204_000, 400):
                    push(server.client, np.arange(batch, batch + 400))
            assert disk.path in str(refusal.value)
            assert (pull(server.client, np.arange(batch, batch + 400), create=False) == 0).all()
            server.push_until("refused", told, key)
        else:
            key = server.push_until("unknown", told, key)
            server.push_until("refused", told, key)
        for again in range(500, 505):
            told[again] = server.push(again)
            assert told[again] == "refused"
        if killed:
            server.kill()
            with contextlib.suppress(OSError):  # its database may need room to be opened
                server.start()
                check(server.rows(told), told)
                server.kill()
            disk.free()
            server.start()
        else:
            disk.free()
        server.push_until("acknowledged", told, 1000)
        before = server.rows(told)
        check(before, told)
        server.kill()
        server.start()
        assert (server.rows(told) == before).all()
        assert (pull(server.client, np.arange(100_000, 104_000), create=False) == 1).all()


def test_a_save_has_no_room(disk):
    """The save before stays, and can be loaded; the next one removes what the failed one left."""
    target = os.path.join(disk.path, "model")
    keys = np.arange(200_000)
    with Server(save_roots=[disk.path]) as server:
        push(server.client, keys)
        server.client.save(target, 0)
        push(server.client, keys)
        disk.fill()
        with pytest.raises(RuntimeError, match=f"{target}.*No space left"):
            server.client.save(target, 0)
        server.client.load(target, 0)
        assert (pull(server.client, keys) == 1).all()
        disk.free()
        push(server.client, keys, 4)
        server.client.save(target, 0)
        push(server.client, keys)
        server.client.load(target, 0)
        assert (pull(server.client, keys) == 5).all()
        assert len(os.listdir(target)) == 2  # snapshot.json and what it names


def test_a_load_has_no_room(disk, tmp_path):
    """It needs room for the snapshot that keeps it, and changes nothing without."""
    target = str(tmp_path / "model")
    keys = np.arange(20_000)
    options = {"durability": "log", "directory": os.path.join(disk.path, "state")}
    with Server(**options, save_roots=[str(tmp_path)]) as server:
        push(server.client, keys)
        server.client.save(target, 0)
        push(server.client, keys)
        disk.fill()
        with pytest.raises(RuntimeError, match="has room for .* are needed.*Do this: make room"):
            server.client.load(target, 0)
        assert (pull(server.client, keys) == 2).all()
        server.kill()
        server.start()
        assert (pull(server.client, keys) == 2).all()
        disk.free()
        server.client.load(target, 0)
        server.kill()
        server.start()
        assert (pull(server.client, keys) == 1).all()
