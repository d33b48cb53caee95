"""Saves of a part of the tables, and what servers with tables on disk keep when they are killed."""

import json
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
from tests.python.ps.jobs import DENSE, SPARSE, SUM, connect, pull, push, serve

CLICK = {
    "id": 2,
    "name": "clicks",
    "accessor": {
        "kind": "click",
        "dim": 2,
        "weight": SUM,
        "embedding": SUM,
        "embedding_threshold": 1e9,
        "show_scale": False,
    },
}
TABLES = [SPARSE, DENSE, CLICK]


def shown(client, keys, shows):
    values = np.zeros((len(keys), 6), np.float32)
    values[:, 1] = shows
    client.push_sparse(2, np.asarray(keys, np.uint64), values)


def shows_of(client, keys):
    out = np.zeros((len(keys), 5), np.float32)
    client.pull_sparse(2, np.asarray(keys, np.uint64), out, False)
    return out[:, 0]


@pytest.fixture(params=[1, 2])
def servers(request):
    n = request.param
    running = [serve(i, n, tables=TABLES) for i in range(n)]
    yield running
    for server in running:
        server.stop()


def test_one_table_is_saved_and_loaded(servers, tmp_path):
    client = connect(servers, tables=TABLES)
    keys = np.arange(300)
    push(client, keys)
    shown(client, keys, 3)
    client.push_dense(1, np.ones(10, np.float32))
    assert client.save(str(tmp_path / "one"), 0, 0) == 300
    assert client.save(str(tmp_path / "all"), 0) == 600
    client.save(str(tmp_path / "dense"), 0, 1)
    for directory in ("one", "all"):
        push(client, keys)
        shown(client, keys, 1)
        before = shows_of(client, keys)
        client.load(str(tmp_path / directory), 0, 0)
        assert (pull(client, keys) == 1).all()
        assert (shows_of(client, keys) == before).all()
    dense = np.zeros(10, np.float32)
    client.push_dense(1, np.ones(10, np.float32))
    client.load(str(tmp_path / "one"), 0)  # has no other table
    client.pull_dense(1, dense)
    assert (dense == 2).all()
    client.load(str(tmp_path / "dense"), 0, 1)
    client.pull_dense(1, dense)
    assert (dense == 1).all()
    with pytest.raises(ValueError, match="has no table 2.*Do this"):
        client.load(str(tmp_path / "one"), 0, 2)
    with pytest.raises(ValueError, match="there is no table 7"):
        client.save(str(tmp_path / "none"), 0, 7)


def test_the_rows_shown_most_are_saved(servers, tmp_path):
    client = connect(servers, tables=TABLES)
    keys = np.arange(2000)
    shows = np.random.default_rng(3).permutation(2000) + 1.0
    shown(client, keys, shows)
    push(client, keys)
    rows = client.save(str(tmp_path / "hot"), 4, 2, 0.1)
    assert 200 <= rows <= 200 + len(servers)
    again = [serve(tables=TABLES)]
    other = connect(again, tables=TABLES)
    assert other.load(str(tmp_path / "hot"), 0, 2) == rows
    got = shows_of(other, keys)
    assert (got > 0).sum() == rows
    assert (got[got > 0] == shows[got > 0]).all()
    # Each server takes those of its own; equal chances make these about the same.
    assert set(keys[shows > 2000 - 150]) <= set(keys[got > 0])
    assert client.save(str(tmp_path / "ties"), 4, 0, 0.5) == 2000  # counts no shows: all
    shown(client, keys, 5000 - shows)
    assert 200 <= client.save(str(tmp_path / "hot"), 4, 2, 0.1) <= 200 + len(servers)
    again[0].stop()


SERVER = """
import json, sys
from argosy import _ps
server = _ps.Server(sys.argv[1])
print(server.port, flush=True)
server.wait()
"""


@pytest.mark.parametrize("mode", ["none", "snapshot", "log"])
def test_killed_servers_with_tables_on_disk(mode, tmp_path):
    table = {**SPARSE, "tier": "ssd", "directory": str(tmp_path / "db"), "memory_rows": 2048}
    options = {
        "endpoint": "127.0.0.1:0",
        "tables": [table],
        "durability": mode,
        "directory": str(tmp_path / "kept"),
        "snapshot_every": 1 if mode == "snapshot" else 0,
    }

    def start():
        process = subprocess.Popen(
            [sys.executable, "-c", SERVER, json.dumps(options)], stdout=subprocess.PIPE, text=True
        )
        return process, connect([int(process.stdout.readline())], tables=[table])

    def written():
        return json.loads(client.stats())[0]["durability"]["snapshots"]

    process, client = start()
    keys = np.arange(20000)
    push(client, keys)
    push(client, keys)
    if mode == "snapshot":  # one that began after the pushes
        after, deadline = written() + 2, time.monotonic() + 100
        while written() < after:
            assert time.monotonic() < deadline
            pull(client, keys[:10])
    push(client, keys[::-1])
    process.kill()
    process.wait()
    process, client = start()
    values = pull(client, keys, create=False)
    assert (values == values[:, :1]).all()  # rows are whole
    if mode == "log":
        assert (values == 3).all()
    elif mode == "snapshot":
        # All rows as in the last snapshot; the third push may have come before one.
        assert (values >= 2).all()
    else:
        # What left memory and was not changed since; at least nine in ten rows did leave.
        assert np.isin(values, [0, 1, 2, 3]).all()
        assert (values[:, 0] >= 1).mean() > 0.85
    process.kill()
    process.wait()


def test_workers_save_into_one_folder_at_a_time(servers, tmp_path):
    clients = [connect(servers, tables=TABLES) for _ in range(3)]
    keys = np.arange(500)
    push(clients[0], keys)
    target = str(tmp_path / "all")
    failures = []

    def work(client):
        try:
            for _ in range(3):
                assert client.save(target, 0) == 500
                client.load(target)
        except Exception as e:  # noqa: BLE001
            failures.append(e)

    threads = [threading.Thread(target=work, args=(client,)) for client in clients]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not failures
    np.testing.assert_array_equal(pull(clients[1], keys), 1)
    (kept,) = [p for p in (tmp_path / "all").iterdir() if p.name != "snapshot.json"]
    assert len(list(kept.iterdir())) == len(servers)
