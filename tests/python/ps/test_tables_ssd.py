"""Tables whose cold rows lie on disk behave as those that are all in memory."""

import json
import os
import signal
import subprocess
import sys
import textwrap
import threading

import numpy as np
import pytest

from argosy import _ps


def table(**config):
    return _ps.Table(json.dumps([config]))


def accessor(kind, **more):
    rule = {"rule": "adagrad", "initial_range": 0.01}
    return {
        "kind": kind,
        "dim": 3,
        "weight": rule,
        "embedding": rule,
        "embedding_threshold": 2,
        "delete_threshold": 0.2,
        "delete_after_unseen_days": 3,
        "base_threshold": 2,
        **more,
    }


def rows_of(t, selection="all", mark=False):
    keys, offsets, data, deleted = t.rows(selection, mark)
    assert len(set(keys.tolist())) == len(keys)
    rows = {int(k): data[offsets[i] : offsets[i + 1]] for i, k in enumerate(keys)}
    return rows, set(deleted.tolist())


def push_values(t, random, n):
    values = random.random((n, t.push_width)).astype(np.float32)
    if t.push_width == 7:
        values[:, 0] = 5
        values[:, 1] = random.integers(1, 3, n)
        values[:, 2] = random.integers(0, 2, n)
    return values


@pytest.mark.parametrize("admission", ["always", "count"])
@pytest.mark.parametrize("kind", ["plain", "click"])
def test_disk_changes_nothing_but_the_place(tmp_path, kind, admission):
    common = {"accessor": accessor(kind), "admission": {"kind": admission, "count": 2}}
    memory = table(**common)
    config = {**common, "tier": "ssd", "directory": str(tmp_path / "db"), "memory_rows": 2048}
    disk = table(**config)
    both = memory, disk
    random = np.random.default_rng(7)
    rebuilt = table(**common)  # from the increments of the one on disk
    for step in range(60):
        n = int(random.integers(1, 3000))
        keys = random.integers(0, 20000, n).astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
        action = step % 6
        if action in (0, 1, 2):
            values = push_values(disk, random, n)
            for t in both:
                t.push(keys, values, -1.0)
        elif action == 3:
            out = [t.pull(keys, step % 4 == 1) for t in both]
            assert np.array_equal(*out)
        elif action == 4:
            values = random.random((100, disk.pull_width)).astype(np.float32)
            for t in both:
                t.erase(keys[:50])
                t.assign(keys[50:150], values[: len(keys[50:150])])
        elif kind == "click" and step % 12 == 11:
            gone = [t.shrink() for t in both]
            assert gone[0] == gone[1]
            for t in both:
                t.end_day()
        if step % 5 == 0:
            changed, deleted = rows_of(disk, "changed", True)
            rebuilt.erase(np.array(sorted(deleted), np.uint64))
            put(rebuilt, changed)
        if step % 10 == 9:
            assert rows_of(disk)[0] == rows_of(memory)[0]
    assert disk.stats()["rows"] < 2048 * 1.1
    assert disk.stats()["disk_rows"] > 2048
    changed, deleted = rows_of(disk, "changed", True)
    rebuilt.erase(np.array(sorted(deleted), np.uint64))
    put(rebuilt, changed)
    assert rows_of(rebuilt)[0] == rows_of(memory)[0]
    for selection in ("delta", "base", "delta"):
        chosen = [rows_of(t, selection, True)[0] for t in both]
        assert chosen[0] == chosen[1]
        assert len(chosen[0]) > 0 or selection == "delta"
    assert rows_of(disk)[0] == rows_of(memory)[0]
    # What is closed opens again.
    expected = rows_of(memory)[0]
    del disk, both, t
    again = table(**config)
    assert again.stats()["rows"] == 0
    assert rows_of(again)[0] == expected
    again.clear()
    assert rows_of(again)[0] == {} and again.stats()["disk_rows"] == 0


def put(t, rows):
    keys = np.array(list(rows), np.uint64)
    offsets = np.cumsum([0] + [len(r) for r in rows.values()]).astype(np.uint64)
    t.put_rows(keys, offsets, b"".join(rows.values()))


@pytest.mark.parametrize("kind", ["plain", "click"])
def test_rows_go_to_disk_when_unseen_for_days(tmp_path, kind):
    t = table(
        accessor=accessor(kind, ssd_unseen_days=1), tier="ssd", directory=str(tmp_path / "db")
    )
    random = np.random.default_rng(8)
    keys = np.arange(1000, dtype=np.uint64)
    t.push(keys, push_values(t, random, 1000), -1.0)
    expected = t.pull(keys, False)
    in_memory = []
    for _ in range(3):
        t.push(keys[:10], np.zeros((10, t.push_width), np.float32), -1.0)
        t.end_day()
        in_memory.append(t.stats()["rows"])
    assert in_memory == [1000, 10, 10]
    assert 1000 <= t.stats()["disk_rows"] < 1100  # with old copies
    assert np.array_equal(t.pull(keys, False)[10:], expected[10:])
    assert t.stats()["rows"] == 1000


def test_threads_lose_nothing_while_rows_come_and_go(tmp_path):
    rule = {"rule": "sum", "initial_range": 0}
    t = table(
        accessor={"dim": 4, "embedding": rule},
        tier="ssd",
        directory=str(tmp_path / "db"),
        memory_rows=1024,
    )
    keys = np.arange(5000, dtype=np.uint64)
    ones = np.ones((5000, 4), np.float32)
    errors = []

    def work(seed):
        random = np.random.default_rng(seed)
        for _ in range(12):
            order = random.permutation(5000)
            t.push(keys[order], ones, -1.0)
            out = t.pull(keys[order], False)
            if not (out == out[:, :1]).all() or out.min() < 1:
                errors.append("torn or lost")

    threads = [threading.Thread(target=work, args=(i,)) for i in range(3)]
    for thread in threads:
        thread.start()
    for _ in range(3):
        rows, _ = rows_of(t, "changed", True)
        assert all(len(set(np.frombuffer(r, np.float32))) == 1 for r in rows.values())
    for thread in threads:
        thread.join()
    assert not errors
    assert np.all(t.pull(keys, False) == 36)


def test_rows_on_disk_survive_a_killed_process(tmp_path):
    text = textwrap.dedent(
        """
        import json, sys
        import numpy as np
        from argosy import _ps
        t = _ps.Table(sys.argv[1])
        keys = np.arange(20000, dtype=np.uint64)
        for i in range(1, 10**6):
            t.push(keys, np.ones((20000, 4), np.float32), -1.0)
            print(i, flush=True)
        """
    )
    config = {
        "accessor": {"dim": 4, "embedding": {"rule": "sum", "initial_range": 0}},
        "tier": "ssd",
        "directory": str(tmp_path / "db"),
        "memory_rows": 2048,
    }
    child = subprocess.Popen(
        [sys.executable, "-c", text, json.dumps([config])], stdout=subprocess.PIPE, env=os.environ
    )
    done = 0
    while done < 5:
        done = int(child.stdout.readline())
    child.send_signal(signal.SIGKILL)
    done = max([done] + [int(line) for line in child.stdout.read().split()])
    child.wait()
    t = table(**config)
    values = np.array([np.frombuffer(r, np.float32) for r in rows_of(t)[0].values()])
    # A row that had left memory is whole; what it lacks was pushed after it came back.
    assert len(values) > 10000
    assert (values == values[:, :1]).all()
    assert values.min() >= 1 and values.max() <= done + 1
    assert values.mean() > done / 2
    t.push(np.arange(20000, dtype=np.uint64), np.ones((20000, 4), np.float32), -1.0)
    assert t.pull(np.arange(20000, dtype=np.uint64), False).min() >= 1


def test_a_database_of_another_layout_is_refused(tmp_path):
    config = {"tier": "ssd", "directory": str(tmp_path / "db")}
    table(accessor={"dim": 4}, **config)
    with pytest.raises(ValueError, match="another layout: expected 'plain dim=5 float32"):
        table(accessor={"dim": 5}, **config)


def test_a_folder_that_cannot_be_is_an_error_of_the_system(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(OSError, match="cannot open the database"):
        table(accessor={"dim": 4}, tier="ssd", directory=str(tmp_path / "file" / "db"))
    # One process at a time.
    first = table(accessor={"dim": 4}, tier="ssd", directory=str(tmp_path / "db"))
    with pytest.raises(OSError, match="lock"):
        table(accessor={"dim": 4}, tier="ssd", directory=str(tmp_path / "db"))
    del first
