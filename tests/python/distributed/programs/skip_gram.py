"""Word vectors by negative sampling with the geo mode, roles given by the program itself.

Words of one group occur together; after training, neighbours in a group are nearer than strangers.
Usage: skip_gram.py ROLE NUMBER WORKERS SERVER_ADDRESSES
"""

import json
import sys

import numpy as np
import paddle
import paddle.distributed.fleet as fleet
import paddle.static as static

WORDS, GROUPS, DIM = 60, 6, 16


def pairs(seed, count, size=256):
    rng = np.random.default_rng(seed)
    for _ in range(count):
        center = rng.integers(0, WORDS, size)
        context = center % GROUPS + GROUPS * rng.integers(0, WORDS // GROUPS, size)
        wrong = rng.integers(0, WORDS, (size, 4))
        yield center[:, None], np.concatenate([context[:, None], wrong], axis=1)


def main():
    role, number, workers, servers = sys.argv[1:5]
    paddle.enable_static()
    paddle.seed(5)
    maker = fleet.UserDefinedRoleMaker(
        current_id=int(number),
        role=fleet.Role.SERVER if role == "server" else fleet.Role.WORKER,
        worker_num=int(workers),
        server_endpoints=servers.split(","),
    )
    fleet.init(maker)

    center = static.data("center", [None, 1], "int64")
    others = static.data("others", [None, 5], "int64")

    def embed(ids, name):
        attr = paddle.ParamAttr(name=name, initializer=paddle.nn.initializer.Uniform(-0.1, 0.1))
        return static.nn.embedding(ids, [WORDS, DIM], is_sparse=True, param_attr=attr)

    middle = paddle.reshape(embed(center, "center_table"), [-1, 1, DIM])
    around = paddle.reshape(embed(others, "context_table"), [-1, 5, DIM])
    logits = paddle.sum(middle * around, axis=2)
    truth = paddle.concat(
        [paddle.ones_like(logits[:, :1]), paddle.zeros_like(logits[:, 1:])], axis=1
    )
    loss = paddle.mean(paddle.nn.functional.binary_cross_entropy_with_logits(logits, truth))

    strategy = fleet.DistributedStrategy()
    strategy.a_sync = True
    strategy.a_sync_configs = {"k_steps": 20}
    optimizer = fleet.distributed_optimizer(paddle.optimizer.SGD(learning_rate=20.0), strategy)
    optimizer.minimize(loss)
    if fleet.is_server():
        fleet.init_server()
        fleet.run_server()
        return

    exe = static.Executor()
    exe.run(static.default_startup_program())
    fleet.init_worker()
    losses = []
    for x, y in pairs(fleet.worker_index(), 300):
        out = exe.run(feed={"center": x, "others": y}, fetch_list=[loss])
        losses.append(float(out[0]))
    fleet.barrier_worker()
    infer = static.default_main_program().clone(for_test=True)
    every = np.arange(WORDS)[:, None]
    (vectors,) = exe.run(
        infer,
        feed={"center": every, "others": np.zeros((WORDS, 5), "int64")},
        fetch_list=[middle],
    )
    vectors = vectors[:, 0] / np.linalg.norm(vectors[:, 0], axis=1, keepdims=True)
    near = vectors @ vectors.T
    same = np.equal.outer(np.arange(WORDS) % GROUPS, np.arange(WORDS) % GROUPS)
    np.fill_diagonal(same, False)
    apart = ~np.equal.outer(np.arange(WORDS) % GROUPS, np.arange(WORDS) % GROUPS)
    result = {
        "worker": fleet.worker_index(),
        "first": np.mean(losses[:10]),
        "last": np.mean(losses[-10:]),
        "same": float(near[same].mean()),
        "apart": float(near[apart].mean()),
    }
    print("RESULT " + json.dumps(result), flush=True)
    fleet.stop_worker()


if __name__ == "__main__":
    main()
