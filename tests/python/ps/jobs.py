"""Servers and clients for tests. Tables add up what is pushed, so counts are exact."""

import json
import tempfile

import numpy as np

from argosy import _ps
from argosy.distributed.launch import ports

SUM = {"rule": "sum", "initial_range": 0, "minimum": -1e9, "maximum": 1e9}
SPARSE = {"id": 0, "name": "emb", "accessor": {"dim": 4, "embedding": SUM}}
DENSE = {"id": 1, "name": "w", "kind": "dense", "size": 10, "accessor": {"embedding": SUM}}
TABLES = [SPARSE, DENSE]


def serve(index=0, servers=1, workers=1, endpoint="127.0.0.1:0", **options):
    options.setdefault("tables", TABLES)
    options.setdefault("save_roots", [tempfile.gettempdir()])
    return _ps.Server(endpoint=endpoint, index=index, servers=servers, workers=workers, **options)


def own_endpoint():
    """For a server that starts anew: nobody else gets its port meanwhile, as may happen to one that the
    kernel chose."""
    return f"127.0.0.1:{ports.pick(1)[0]}"


def connect(servers, **options):
    options.setdefault("tables", TABLES)
    options.setdefault("call_deadline", 100)
    ports = [s if isinstance(s, int) else s.port for s in servers]
    return _ps.Client(endpoints=[f"127.0.0.1:{p}" for p in ports], **options)


def pull(client, keys, create=True, width=4):
    keys = np.asarray(keys, np.uint64)
    out = np.full((len(keys), width), np.nan, np.float32)
    client.pull_sparse(0, keys, out, create)
    return out


def push(client, keys, value=1.0):
    client.push_sparse(0, np.asarray(keys, np.uint64), np.full((len(keys), 4), value, np.float32))


def stats(client):
    return json.loads(client.stats())
