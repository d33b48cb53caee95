"""Wide & Deep with parameter servers, fed by a loop: the classic shape of such programs.

The label depends on two of the slots, by weights drawn once; a model that learns them reaches an AUC
near 0.9. Every worker prints one line of JSON with what it saw.
"""

import argparse
import json

import numpy as np
import paddle
import paddle.distributed.fleet as fleet
import paddle.static as static
from paddle.distributed.fleet.utils.ps_util import DistributedInfer

SLOTS, DENSE, VOCABULARY, DIM = 4, 3, 1000, 8


def batches(seed, count, size=64):
    truth = np.random.default_rng(1).normal(size=(2, VOCABULARY)) * 2
    rng = np.random.default_rng(seed)
    for _ in range(count):
        ids = rng.zipf(1.3, size=(size, SLOTS)).astype("int64") % VOCABULARY
        dense = rng.random((size, DENSE)).astype("float32")
        score = truth[0][ids[:, 0]] + truth[1][ids[:, 1]] + dense[:, 0] - 0.5
        label = (rng.random(size) < 1 / (1 + np.exp(-score))).astype("int64")
        yield ids, dense, label.reshape(-1, 1)


def model():
    dense = static.data("dense", [None, DENSE], "float32")
    slots = [static.data(f"C{i}", [None, 1], "int64") for i in range(SLOTS)]
    label = static.data("label", [None, 1], "int64")
    deep = [
        static.nn.embedding(
            slot,
            size=[VOCABULARY, DIM],
            is_sparse=True,
            param_attr=paddle.ParamAttr(
                name="embedding", initializer=paddle.nn.initializer.Uniform(-0.01, 0.01)
            ),
        )
        for slot in slots
    ]
    wide = [
        static.nn.embedding(
            slot,
            size=[VOCABULARY, 1],
            is_sparse=True,
            param_attr=paddle.ParamAttr(
                name="wide", initializer=paddle.nn.initializer.Constant(0.0)
            ),
        )
        for slot in slots
    ]
    deep = [paddle.reshape(one, [-1, DIM]) for one in deep]
    wide = [paddle.reshape(one, [-1, 1]) for one in wide]
    hidden = paddle.concat(deep + [dense], axis=1)
    for size in (32, 16):
        hidden = static.nn.fc(hidden, size, activation="relu")
    logits = static.nn.fc(hidden, 2) + paddle.concat(
        [paddle.zeros_like(wide[0]), paddle.add_n(wide)], axis=1
    )
    predict = paddle.nn.functional.softmax(logits)
    cost = paddle.nn.functional.cross_entropy(input=predict, label=label, use_softmax=False)
    loss = paddle.mean(cost)
    return slots, dense, label, predict, loss


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--mode", default="async")
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--save")
    parser.add_argument("--load")
    options = parser.parse_args()

    paddle.enable_static()
    paddle.seed(1)
    fleet.init()
    slots, dense, label, predict, loss = model()

    strategy = fleet.DistributedStrategy()
    strategy.a_sync = options.mode != "sync"
    if options.mode == "geo":
        strategy.a_sync_configs = {"k_steps": 10}
    optimizer = paddle.optimizer.Adam(learning_rate=0.02, lazy_mode=True)
    optimizer = fleet.distributed_optimizer(optimizer, strategy)
    optimizer.minimize(loss)

    if fleet.is_server():
        if options.load:
            fleet.init_server(options.load)
        else:
            fleet.init_server()
        fleet.run_server()
        return

    exe = static.Executor(paddle.CPUPlace())
    exe.run(static.default_startup_program())
    fleet.init_worker()
    program = static.default_main_program()

    def feed(ids, x, y):
        out = {f"C{i}": ids[:, i : i + 1] for i in range(SLOTS)}
        return dict(out, dense=x, label=y)

    # The AUC is of predictions made before the model has seen the labels, late in training.
    losses = []
    positive, negative = np.zeros(4096), np.zeros(4096)
    for ids, x, y in batches(100 + fleet.worker_index(), options.steps):
        value, p = exe.run(program, feed=feed(ids, x, y), fetch_list=[loss, predict])
        losses.append(float(value))
        if len(losses) % 50 == 0:
            print(f"step {len(losses)}, loss {losses[-1]:.4f}", flush=True)
        if len(losses) > options.steps * 0.7:
            bucket = (p[:, 1] * 4095).astype(int)
            np.add.at(positive, bucket[y[:, 0] == 1], 1)
            np.add.at(negative, bucket[y[:, 0] == 0], 1)
    fleet.barrier_worker()
    auc = fleet.metrics.auc(positive[None], negative[None])
    seen = fleet.util.all_reduce([len(losses)], "sum")[0]

    # A second program of the same model predicts as a copy of the first does.
    second, start = static.Program(), static.Program()
    with static.program_guard(second, start), paddle.utils.unique_name.guard():
        again = model()[3]
    (ids, x, y) = next(batches(7, 1))
    copy = program.clone(for_test=True)
    second = DistributedInfer(second, start).get_dist_infer_program()
    one = exe.run(copy, feed=feed(ids, x, y), fetch_list=[predict.name])[0]
    two = exe.run(second, feed=feed(ids, x, y), fetch_list=[again.name])[0]
    np.testing.assert_allclose(one, two, rtol=1e-6)
    fleet.barrier_worker()

    if options.save and fleet.is_first_worker():
        fleet.save_persistables(exe, options.save, program)
        fleet.save_cache_table(0, 0)
        fleet.save_inference_model(
            exe,
            options.save + "/inference",
            [slot.name for slot in slots] + [dense.name],
            predict,
        )
    fleet.barrier_worker()
    result = {
        "worker": fleet.worker_index(),
        "first": float(np.mean(losses[:10])) if losses else None,
        "last": float(np.mean(losses[-10:])) if losses else None,
        "auc": auc,
        "steps": int(seen),
    }
    print("RESULT " + json.dumps(result), flush=True)
    fleet.stop_worker()


if __name__ == "__main__":
    main()
