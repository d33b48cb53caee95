"""What programs do after stop_worker: meet, look at the model, save it. Servers say when they end."""

import json
import sys
import time

import numpy as np
import paddle
import paddle.distributed.fleet as fleet
import paddle.static as static


def main():
    mode, folder = sys.argv[1:3]
    paddle.enable_static()
    paddle.seed(3)  # the first loss is far from the least
    fleet.init()
    x = static.data("x", [None, 4])
    ids = static.data("ids", [None, 1], "int64")
    rows = static.nn.embedding(
        ids, size=[100, 8], is_sparse=True, param_attr=paddle.ParamAttr(name="rows")
    )
    out = static.nn.fc(paddle.concat([x, paddle.reshape(rows, [-1, 8])], 1), 1)
    loss = paddle.mean(paddle.square(out - 1))
    evaluated = static.default_main_program().clone(for_test=True)
    strategy = fleet.DistributedStrategy()
    strategy.a_sync = mode != "sync"
    if mode == "geo":
        strategy.a_sync_configs = {"k_steps": 2}
    # Far from where steps on old values diverge (some 0.2): busy machines make them old.
    fleet.distributed_optimizer(paddle.optimizer.SGD(0.02), strategy).minimize(loss)
    if fleet.is_server():
        fleet.init_server()
        fleet.run_server()
        fleet.util.barrier()
        print("SERVED", flush=True)
        return
    exe = static.Executor()
    exe.run(static.default_startup_program())
    fleet.init_worker()
    feed = {"x": np.ones((8, 4), "float32"), "ids": np.arange(8).reshape(-1, 1)}
    before = None
    if mode in ("sync", "async", "geo"):  # of the model that nobody has trained yet
        before = float(exe.run(evaluated, feed=feed, fetch_list=[loss.name])[0])
        fleet.barrier_worker()
    for _ in range(40):
        exe.run(feed=feed, fetch_list=[loss])
    if mode == "stay":
        print("TRAINED", flush=True)
        time.sleep(1000)
    if mode == "leave":
        return
    fleet.stop_worker()
    fleet.stop_worker()
    fleet.util.barrier()
    if fleet.is_first_worker():
        time.sleep(0.5)  # the others have ended
        fleet.util.barrier()
        after = float(exe.run(evaluated, feed=feed, fetch_list=[loss.name])[0])
        fleet.save_persistables(exe, folder + "/all")
        fleet.save_inference_model(exe, folder + "/inference", ["x", "ids"], out)
        print("RESULT " + json.dumps({"worker": 0, "before": before, "after": after}), flush=True)


if __name__ == "__main__":
    main()
