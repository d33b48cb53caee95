"""What workers push and what tables must then hold. Pure functions of seed, client and sequence.

Each push goes to one key of its own on every server (its marker) and to 40 keys that its client uses
again and again. All values are 1 and the tables add, so afterwards a marker says how often the push
was applied on that server, and the other keys say whether each push was applied as a whole. Each
push to the dense table has a number of its own there.
"""

import random

__all__ = ["BATCH", "DIM", "KEYS", "TABLES", "data_keys", "marker", "number", "server_of"]

DIM = 4
KEYS = 300  # of a client
BATCH = 40  # keys of a push beside the markers
WORKERS = 4  # at most
CLIENTS = 12  # of all workers, at most
NUMBERS = 100  # pushes of a client to the dense table, at most
EVERY = 5  # so many pushes bring one to the dense table

_SUM = {"rule": "sum", "initial_range": 0}
TABLES = [
    {"id": 0, "name": "rows", "kind": "sparse", "accessor": {"dim": DIM, "embedding": _SUM}},
    {
        "id": 1,
        "name": "numbers",
        "kind": "dense",
        "size": CLIENTS * NUMBERS,
        "accessor": {"embedding": _SUM},
    },
]

_MASK = (1 << 64) - 1


def server_of(key, servers):
    """The server that has a key, as src/argosy/ps/key.h says."""
    x = (key + 0x9E3779B97F4A7C15) & _MASK
    x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
    x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & _MASK
    x ^= x >> 31
    return ((x >> 32) * servers) >> 32


def marker(client, sequence, server, servers):
    """A key that only this push has, on this server."""
    first = 1 << 63 | client << 40 | sequence << 8
    return next(k for k in range(first, first + 256) if server_of(k, servers) == server)


def data_keys(seed, client, sequence):
    """The other keys of a push; some come twice."""
    draw = random.Random(f"{seed}/{client}/{sequence}")
    return [client << 20 | draw.randrange(KEYS) for _ in range(BATCH)]


def number(client, sequence):
    """Where in the dense table this push adds 1; None: it makes none."""
    at, rest = divmod(sequence, EVERY)
    return (client - 1) * NUMBERS + at if not rest and at < NUMBERS else None
