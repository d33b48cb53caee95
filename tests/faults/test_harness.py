"""The harness itself: that it sees broken promises, and nothing else."""

import copy
import errno
import json
import os
import random
import socket
import subprocess
import sys

import pytest
from tests.faults import disk, proxy, stories, tell
from tests.faults.model import Model, Violation


def told(*events, kind="row"):
    """A model of two rows of server 0, after events such as ("begin", "a", "add", 1)."""
    model = Model({"x": (kind, 0), "y": (kind, 0)})
    for what, *rest in events:
        if what == "begin":
            op, *effect = rest
            model.begin(op, {"x": tuple(effect), "y": tuple(effect)})
        elif what == "die":
            model.death(0)
            model.born(0)
        elif what == "whole":
            model.check_whole()
        else:
            getattr(model, what)(*rest)


PUSH = [("begin", "a", "add", 1), ("ok", "a")]
SAVED = [*PUSH, ("begin", "s", "save", "s"), ("ok", "s"), ("begin", "b", "add", 2), ("ok", "b")]
BAD = {
    "lost": [*PUSH, ("read", "x", 0.0)],
    "lost by death": [*PUSH, ("die",), ("read", "x", 0.0)],
    "doubled": [*PUSH, ("read", "x", 2.0)],
    "refused and there": [("begin", "a", "add", 1), ("refused", "a"), ("read", "x", 1.0)],
    "refused and back": [
        ("begin", "a", "add", 1),
        ("refused", "a"),
        ("read", "x", 0.0),
        ("die",),
        ("read", "x", 1.0),
    ],
    "unknown twice": [("begin", "a", "add", 1), ("unknown", "a"), ("read", "x", 2.0)],
    "unknown, there and gone": [
        ("begin", "a", "add", 1),
        ("unknown", "a"),
        ("read", "x", 1.0),
        ("read", "x", 0.0),
    ],
    "unknown after death": [
        ("begin", "a", "add", 1),
        ("unknown", "a"),
        ("die",),
        ("read", "x", 0.0),
        ("read", "x", 1.0),
    ],
    "torn": [
        ("begin", "a", "add", 1),
        ("unknown", "a"),
        ("die",),
        ("read", "x", 1.0),
        ("read", "y", 0.0),
        ("whole",),
    ],
    "order changed by death": [
        ("begin", "a", "assign", 5),
        ("begin", "b", "add", 1),
        ("ok", "a"),
        ("ok", "b"),
        ("read", "x", 6.0),
        ("die",),
        ("read", "x", 5.0),
    ],
    "load done again": [
        *SAVED,
        ("begin", "l", "load", "s"),
        ("read", "x", 1.0),
        ("begin", "c", "add", 4),
        ("ok", "c"),
        ("die",),
        ("ok", "l"),
        ("read", "x", 1.0),
    ],
    "load of what was never saved": [
        *SAVED,
        ("begin", "l", "load", "s"),
        ("ok", "l"),
        ("read", "x", 3.0),
    ],
}
GOOD = {
    "unknown, there": [("begin", "a", "add", 1), ("unknown", "a"), ("read", "x", 1.0)],
    "unknown, not there": [("begin", "a", "add", 1), ("unknown", "a"), ("read", "x", 0.0)],
    "unknown, later": [
        ("begin", "a", "add", 1),
        ("unknown", "a"),
        ("read", "x", 0.0),
        ("read", "x", 1.0),
    ],
    "seen before its answer, lost by death": [
        ("begin", "a", "add", 1),
        ("read", "x", 1.0),
        ("die",),
        ("read", "x", 0.0),
        ("ok", "a"),
        ("read", "x", 1.0),
    ],
    "either order": [
        ("begin", "a", "assign", 5),
        ("begin", "b", "add", 1),
        ("ok", "b"),
        ("ok", "a"),
        ("read", "x", 6.0),
        ("read", "y", 5.0),
    ],
    "load": [*SAVED, ("begin", "l", "load", "s"), ("ok", "l"), ("die",), ("read", "x", 1.0)],
}


@pytest.mark.parametrize("events", BAD.values(), ids=BAD)
def test_the_model_sees_what_is_wrong(events):
    told(*events[:-1])
    with pytest.raises(Violation):
        told(*events)


@pytest.mark.parametrize("events", GOOD.values(), ids=GOOD)
def test_the_model_allows_what_is_right(events):
    told(*events)


def pushed(*values):
    """A model of a row of server 0 to which these were pushed."""
    model = Model({"row 0/1": ("row", 0), "row 2/1": ("row", 0)}, remembers=True)
    for i, value in enumerate(values):
        push_to(model, f"push {i}", value)
    return model


def push_to(model, op, value):
    model.begin(op, {"row 0/1": ("add", value), "row 2/1": ("add", value)})
    model.ok(op)


def allows(model, row, values):
    """Whether a row may have each of these and none of others."""
    for value in range(16):
        wrong = False
        try:
            copy.deepcopy(model).read(row, float(value))
        except Violation:
            wrong = True
        assert wrong != (value in values), (row, value)


def on_disk(row):
    return row == "row 2/1"


def test_a_snapshot_is_of_any_time():
    model = pushed(1, 2)
    model.begin("late", {"row 0/1": ("add", 4)})
    model.unknown("late")
    model.death(0, "snapshot", on_disk)
    allows(model, "row 0/1", {0, 1, 3, 4, 5, 7})
    model.born(0)
    push_to(model, "more", 8)
    allows(model, "row 0/1", {8, 9, 11, 12, 13, 15})
    model.end(0, "snapshot", on_disk)
    allows(model, "row 0/1", {8, 9, 11, 12, 13, 15})


def test_what_was_kept_is_there_after_servers_that_keep_nothing():
    model = pushed(1, 2)
    model.end(0, "log", on_disk)
    model.change(0, "log", "none", on_disk)
    model.born(0)
    allows(model, "row 0/1", {0})
    allows(model, "row 2/1", {0, 1, 3})
    push_to(model, "more", 8)
    allows(model, "row 0/1", {8})
    model.end(0, "none", on_disk)
    allows(model, "row 0/1", {0})
    model.change(0, "none", "log", on_disk)
    model.born(0)
    allows(model, "row 0/1", {3})
    allows(model, "row 2/1", {3})


def test_what_was_never_kept_is_gone():
    model = pushed(1, 2)
    model.end(0, "none", on_disk)
    model.change(0, "none", "log", on_disk)
    allows(model, "row 0/1", {0})
    allows(model, "row 2/1", {0, 1, 3})


def test_saves_outlive_servers_that_keep_nothing():
    model = pushed(1)
    model.begin("save", {"row 0/1": ("save", "s")})
    model.ok("save")
    model.death(0, "none", on_disk)
    model.born(0)
    model.begin("load", {"row 0/1": ("load", "s")})
    model.ok("load")
    allows(model, "row 0/1", {1})


def test_days_show_in_when_rows_go():
    day = [("begin", "d", "day"), ("ok", "d"), ("begin", "e", "day"), ("ok", "e")]
    more = [("begin", "f", "day"), ("ok", "f")]
    shrink = [("begin", "s", "shrink"), ("ok", "s")]
    push = [("begin", "a", "add", 8), ("ok", "a")]
    told(*push, *day, *shrink, ("read", "x", (4.0, 1)), kind="click")
    told(*push, *day, *more, *shrink, ("read", "x", (0.0, 0)), kind="click")
    with pytest.raises(Violation):
        told(*push, *day, *shrink, ("read", "x", (0.0, 0)), kind="click")


WRITER = """
import os, sys
os.chdir(sys.argv[1])
def put(name, text, sync):
    fd = os.open(name, os.O_WRONLY | os.O_CREAT, 0o644)
    os.write(fd, text)
    if sync:
        os.fsync(fd)
    os.close(fd)
def sync_directory(name):
    fd = os.open(name, os.O_RDONLY)
    os.fsync(fd)
    os.close(fd)
put("old", b"new", False)
put("safe", b"safe", True)
put("empty", b"unsynced", False)
sync_directory(".")
put("nameless", b"synced, but not its name", True)
os.mkdir("folder")
put("folder/file", b"x", True)
sync_directory("folder")
os.rename("safe", "renamed")
"""


@pytest.fixture
def library():
    path = disk.build()
    if not path:
        pytest.skip("no C compiler")
    return path


def small_disk(library, tmp_path):
    root = tmp_path / "root"
    root.mkdir()
    (root / "old").write_bytes(b"old")
    return root, disk.Disk(library, str(tmp_path / "d"), str(root), journal=True)


def write(d, root):
    return subprocess.run(
        [sys.executable, "-c", WRITER, str(root)],
        env=dict(os.environ, **d.environ),
        capture_output=True,
        text=True,
    )


def test_a_loss_of_power_leaves_what_was_synced(library, tmp_path):
    root, d = small_disk(library, tmp_path)
    assert write(d, root).returncode == 0
    d.lose_power(random.Random(0), "none")
    left = {p.name: p.read_bytes() for p in root.iterdir()}
    assert left == {"old": b"old", "safe": b"safe", "empty": b""}


def test_a_loss_of_power_may_leave_more(library, tmp_path):
    seen = set()
    for seed in range(20):
        (tmp_path / str(seed)).mkdir()
        root, d = small_disk(library, tmp_path / str(seed))
        assert write(d, root).returncode == 0
        d.lose_power(random.Random(seed), "some")
        seen |= {(p.name, p.read_bytes()) for p in root.iterdir() if p.is_file()}
        names = {p.name for p in root.iterdir()}
        assert names in ({"old", "safe", "empty"}, {*"old empty nameless folder renamed".split()})
    assert {("old", b"new"), ("old", b"old"), ("renamed", b"safe"), ("safe", b"safe")} <= seen


@pytest.mark.parametrize("error", ["EIO", "ENOSPC"])
def test_a_disk_fails_where_it_is_told_to(library, tmp_path, error):
    root, d = small_disk(library, tmp_path)
    d.fail(error, match="safe", calls=["sync"])
    done = write(d, root)
    assert done.returncode == 1 and os.strerror(getattr(errno, error)) in done.stderr
    d.fail("")
    assert write(d, root).returncode == 0


def test_a_process_dies_at_a_call(library, tmp_path):
    root, d = small_disk(library, tmp_path)
    assert write(d, root).returncode == 0
    calls = d.get("calls")
    for path in list(root.iterdir()):
        subprocess.run(["rm", "-r", str(path)], check=True)
    d.kill_after(2, torn=True)
    assert write(d, root).returncode == -9
    assert (root / "old").read_bytes() == b"n" and d.get("calls") == calls + 2


def test_links_lose_and_hold():
    with socket.create_server(("127.0.0.1", 0)) as server:
        link = proxy.Link(server.getsockname()[1])
        client = socket.create_connection(("127.0.0.1", link.port), timeout=60)
        there, _ = server.accept()
        there.settimeout(60)
        client.sendall(b"1")
        assert there.recv(9) == b"1"
        link.set("hold")
        client.sendall(b"2")
        there.settimeout(0.2)
        with pytest.raises(TimeoutError):
            there.recv(9)
        link.set("")
        there.settimeout(60)
        assert there.recv(9) == b"2"
        link.set("mute")
        there.sendall(b"lost")
        client.settimeout(0.2)
        with pytest.raises(TimeoutError):
            client.recv(9)
        client.settimeout(60)
        link.set("")
        assert client.recv(9) == b""  # cut
        link.close()


def test_a_failing_story_is_cut_down(monkeypatch):
    story = {"events": [{"do": "sleep", "seconds": i} for i in range(30)]}

    def tell_it(told):
        kept = {e.get("seconds") for e in told["events"]}
        return "row 5 is lost" if {7, 21} <= kept else "other" if 3 in kept else ""

    monkeypatch.setattr(tell, "tell", tell_it)
    assert tell.shorten(story, "row 4 is lost", 60, tries=1) == [7, 21]


def test_stories_are_of_their_seed():
    for story in stories.STORIES:
        first, second = (json.dumps(stories.make(story.__name__, 3)) for _ in range(2))
        assert first == second


def test_a_server_that_loses_is_caught():
    """A server without a log forgets, which the model of one with a log must see."""
    story = dict(
        events=[
            {"do": "push", "by": 0, "table": 0, "value": 1, "keys": [1]},
            {"do": "kill", "server": 0},
            {"do": "start", "server": 0},
            {"do": "check"},
        ],
        durability="none",
        promised="log",
    )
    assert "allowed are [1.0]" in tell.tell(story)
    assert tell.tell(dict(story, durability="log")) == ""
