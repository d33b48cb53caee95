"""What workers do together through fleet.util, with real servers between them."""

import json

import numpy as np
import paddle
import paddle.distributed.fleet as fleet
import paddle.static as static


def main():
    paddle.enable_static()
    fleet.init()
    x = static.data("x", [None, 4])
    loss = paddle.mean(static.nn.fc(x, 1))
    strategy = fleet.DistributedStrategy()
    strategy.a_sync = False
    fleet.distributed_optimizer(paddle.optimizer.SGD(0.1), strategy).minimize(loss)
    if fleet.is_server():
        fleet.init_server()
        fleet.run_server()
        return
    exe = static.Executor()
    exe.run(static.default_startup_program())
    fleet.init_worker()
    me, util = fleet.worker_index(), fleet.util
    result = {"worker": me}
    result["sum"] = util.all_reduce(np.arange(3) * (me + 1)).tolist()
    result["max"] = util.all_reduce([float(me), -float(me)], "max")
    result["min"] = fleet.all_reduce(me + 5, "min")
    result["gathered"] = util.all_gather({"worker": me, "text": "ä" * me})
    sizes = util.all_gather(np.ones(1000 * (me + 1)))
    result["sizes"] = [one.size for one in sizes]
    result["metrics"] = float(fleet.metrics.acc(np.array([me + 1.0]), np.array([4.0])))
    for _ in range(20):
        fleet.barrier_worker()
    if fleet.is_first_worker():
        fleet.print_table_stat(0, 0, 0)
    print("RESULT " + json.dumps(result), flush=True)
    fleet.stop_worker()


if __name__ == "__main__":
    main()
