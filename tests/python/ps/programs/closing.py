"""Workers that all call what Paddle's programs call on all workers: saves, shrink, load_model. Each
prints what servers hold, as JSON: closing.py MODE {"folder": ..}."""

import json
import os
import sys
import time

import numpy as np

import argosy as paddle
from argosy.distributed import fleet

SETTINGS = json.loads(sys.argv[2])
ACCESSOR = "table_parameters.rows.accessor"


def build():
    names = ("ids", "show", "click")
    ids, show, click = (paddle.static.data(name, [None, 1], "int64") for name in names)
    rows = paddle.static.nn.sparse_embedding(
        ids,
        [10, 4],
        param_attr=paddle.ParamAttr("rows"),
        entry=paddle.distributed.ShowClickEntry("show", "click"),
    )
    loss = paddle.mean(rows) + 0.0 * paddle.mean(paddle.cast(show + click, "float32"))
    strategy = fleet.DistributedStrategy()
    strategy.a_sync = True
    # A row shown ten times has the score 1: one decay leaves it, two delete it.
    numbers = {
        "nonclk_coeff": 0.1,
        "base_threshold": 0.0,
        "delta_threshold": 0.5,
        "show_click_decay_rate": 0.5,
        "delete_threshold": 0.3,
    }
    strategy.sparse_table_configs = {
        "rows": {
            f"{ACCESSOR}.accessor_class": "CtrCommonAccessor",
            **{f"{ACCESSOR}.ctr_accessor_param.{name}": v for name, v in numbers.items()},
        }
    }
    fleet.distributed_optimizer(paddle.optimizer.SGD(0.1), strategy).minimize(loss)
    return loss


def main():
    paddle.enable_static()
    fleet.init()
    loss = build()
    if fleet.is_server():
        fleet.init_server()
        fleet.run_server()
        return
    exe = paddle.static.Executor()
    exe.run(paddle.static.default_startup_program())
    fleet.init_worker()
    me = fleet.worker_index()

    def train(first):
        keys = np.arange(first + 20 * me, first + 20 * me + 20).reshape(-1, 1)
        shows = np.full_like(keys, 10)
        exe.run(feed={"ids": keys, "show": shows, "click": 0 * shows}, fetch_list=[loss])

    def rows():
        fleet.barrier_worker()
        stats = json.loads(fleet.fleet._runtime._connection.stats())
        fleet.barrier_worker()
        return sum(t["rows"] for s in stats for t in s["tables"] if t["id"] == 0)

    def shows(key):
        out = np.zeros((1, 4), "float32")
        fleet.fleet._runtime._connection.pull_sparse(0, np.array([key], "uint64"), out, False)
        return float(out[0, 0])

    told = {}
    train(0)
    fleet.barrier_worker()
    fleet.save_persistables(exe, os.path.join(SETTINGS["folder"], "whole"), mode=0)
    fleet.barrier_worker()
    train(100)
    fleet.barrier_worker()
    fleet.save_persistables(exe, os.path.join(SETTINGS["folder"], "delta"), mode=1)
    told["trained"] = rows()
    fleet.shrink()
    told["shrunk"] = rows()
    # The first worker comes late: the other must not train before it has loaded.
    time.sleep(0.5 if me == 0 else 0)
    fleet.load_model(os.path.join(SETTINGS["folder"], "whole"), 0)
    told["shows"] = shows(0)
    train(200)
    told["loaded"] = rows()
    for table in (0, 1):
        fleet.set_date(table, "20261124")
    fleet.save_persistables(exe, os.path.join(SETTINGS["folder"], "shrunk"), mode=3)
    told["saved"] = rows()
    # A model that was saved after a load, twice: it brings what the job knew of loads then.
    for _ in range(2):
        fleet.load_model(os.path.join(SETTINGS["folder"], "shrunk"), 0)
    told["again"] = rows()
    fleet.stop_worker()
    print("RESULT " + json.dumps(told), flush=True)


main()
