"""Limits of a server at the size that they have by default."""

import struct
import time

import numpy as np
import pytest
from tests.processes import until
from tests.python.ps.jobs import DENSE, SPARSE, connect, push, serve, stats
from tests.python.ps.raw import RESET, Raw

LIMIT = 200
HELLO, GATHER = "Hello", "Gather"


def request(client, wait_ms=0):
    """A message of parameter_server.proto of worker 0 of 2: a round that waits for the other one."""
    header = struct.pack("<BQBQ", 0x09, client, 0x11, client)  # client_high, client_low
    header += bytes([0x18, 1, 0x28, 1, 0x40, 2, 0x50, 1, 0x80, 1, 1])  # epoch 1, .., round 1
    if wait_ms:
        digits = [wait_ms & 127 | 128, wait_ms >> 7 & 127 | 128, wait_ms >> 14]
        header += b"\x90\x01" + bytes(digits)
    return b"\x0a" + bytes([len(header)]) + header


def test_calls_at_once():
    """8,192 calls may wait in the server; the others are told to come later, and it goes on."""
    server = serve(token="t", workers=2)
    connections = [Raw(server.port) for _ in range(9)]
    first = connections[0]
    greeting = first.call(HELLO, request(7), "t")
    waits = request(7, wait_ms=600_000)
    calls = {raw: [raw.call(GATHER, waits, "t") for _ in range(1000)] for raw in connections}
    deadline, ended = time.monotonic() + LIMIT, 0
    while ended < 9000 - 8192 - 8:
        assert time.monotonic() < deadline, ended
        for raw in connections:
            raw.read(0.1)
        ended = sum(s in raw.ended for raw in connections for s in calls[raw])
    assert greeting not in calls[first]
    for raw in connections:
        raw.read(0.2)
    # (The server counts those that it has just begun to answer, too.)
    ended = sum(s in raw.ended for raw in connections for s in calls[raw])
    assert 9000 - 8192 <= ended < 3000, ended
    assert all(raw.ended[s] != RESET for raw in connections for s in calls[raw] if s in raw.ended)
    for raw in connections:
        raw.close()
    push(connect([server], token="t", workers=2), [1])


def test_messages_that_arrive_at_once():
    """512, of all connections together."""
    server = serve(token="t", threads=2)
    connections = [Raw(server.port) for _ in range(2)]
    calls = {raw: [raw.call("PullDense", None, "t") for _ in range(400)] for raw in connections}
    # While less than message_deadline, 60 s, has gone by.
    deadline, ended = time.monotonic() + 50, 0
    while ended < 286:
        assert time.monotonic() < deadline, ended
        for raw in connections:
            raw.read(0.1)
        ended = sum(s in raw.ended for raw in connections for s in calls[raw])
    assert 286 <= ended <= 288  # two threads may take the last one at once
    for raw in connections:
        raw.close()
    push(connect([server], token="t"), [1])


def test_the_size_of_a_message():
    """256 MiB with all that is in it, in both directions."""
    fits, exceeds = (256 << 18) - 1000, (256 << 18) + 100_000  # numbers of 4 bytes
    tables = [DENSE | {"size": fits}, DENSE | {"id": 2, "name": "b", "size": exceeds}]
    server = serve(tables=tables)
    client = connect([server], tables=tables)
    client.push_dense(1, np.ones(fits, np.float32))
    out = np.zeros(fits, np.float32)
    client.pull_dense(1, out)
    assert (out == 1).all()
    with pytest.raises(ValueError, match="larger than max"):
        client.push_dense(2, np.ones(exceeds, np.float32))


BIG = 16 << 20  # numbers: 64 MiB


def test_a_log_of_one_gibibyte_brings_a_snapshot(tmp_path):
    """Not before; the log is short after it, and nothing is lost."""
    tables = [SPARSE, DENSE | {"size": BIG}]
    server = serve(tables=tables, durability="log", directory=str(tmp_path / "state"))
    client = connect([server], tables=tables)
    ones, pushes = np.ones(BIG, np.float32), 0

    def durability():
        return stats(client)[0]["durability"]

    while durability()["log_bytes"] < 960 << 20:
        client.push_dense(1, ones)
        pushes += 1
    time.sleep(1)
    assert durability()["snapshots"] == 0
    while durability()["log_bytes"] <= 1 << 30 and not durability()["snapshots"]:
        client.push_dense(1, ones)
        pushes += 1
    until(lambda: durability()["snapshots"])
    assert pushes >= 15
    assert durability()["log_bytes"] <= 512 << 20
    client.push_dense(1, ones)
    server.stop()
    server = serve(tables=tables, durability="log", directory=str(tmp_path / "state"))
    out = np.zeros(BIG, np.float32)
    connect([server], tables=tables).pull_dense(1, out)
    assert (out == pushes + 1).all()
    assert stats(connect([server], tables=tables))[0]["durability"]["replayed_records"] < pushes
    server.stop()
