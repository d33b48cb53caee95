"""Workers that all load a model, the first one late: reloading.py MODE {"folder": .., "first": .., "loads": ..}.
Prints how often a row was shown after each load, as JSON; in the first job of a folder the model is saved
before and after."""

import json
import os
import sys
import time

import numpy as np

import argosy as paddle
from argosy.distributed import fleet

SETTINGS = json.loads(sys.argv[2])
MODEL = os.path.join(SETTINGS["folder"], "model")


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
    strategy.sparse_table_configs = {
        "rows": {"table_parameters.rows.accessor.accessor_class": "CtrCommonAccessor"}
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

    def train():
        """The row of each worker is shown once more."""
        one = np.ones((1, 1), "int64")
        exe.run(feed={"ids": me * one, "show": one, "click": 0 * one}, fetch_list=[loss])
        fleet.barrier_worker()

    if SETTINGS["first"]:
        train()
        fleet.save_persistables(exe, MODEL)
        fleet.barrier_worker()
    shown = []
    for _ in range(SETTINGS["loads"]):
        train()
        time.sleep(1.5 if me == 0 else 0)
        fleet.load_model(MODEL, 0)
        shows = np.zeros((1, 4), "float32")
        connection = fleet.fleet._runtime._connection
        connection.pull_sparse(0, np.array([me], "uint64"), shows, False)
        shown.append(float(shows[0, 0]))
        fleet.barrier_worker()
    if SETTINGS["first"]:  # a model that knows of these loads
        fleet.save_persistables(exe, MODEL)
        fleet.barrier_worker()
    train()
    fleet.stop_worker()
    print("RESULT " + json.dumps(shown), flush=True)


main()
