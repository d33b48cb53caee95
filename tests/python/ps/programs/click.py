"""A small click model, trained alone or by a job: python click.py MODE SETTINGS_AS_JSON

Prints one line of JSON: this worker's last loss, predictions for all ids, and statistics.
"""

import json
import os
import sys

import numpy as np

import argosy as paddle
from argosy import static
from argosy.distributed import fleet

MODE, SETTINGS = sys.argv[1], json.loads(sys.argv[2])
STEPS, BATCH, IDS = SETTINGS.get("steps", 60), 32, 120


def decays(name):
    """Some of the dense parameters, and the rows."""
    return "w" in name


def optimizer():
    kind, rate = SETTINGS.get("optimizer", "sgd"), SETTINGS.get("rate", 0.5)
    if SETTINGS.get("decay"):
        rate = paddle.optimizer.lr.StepDecay(rate, 5, gamma=0.5)
    if kind == "adam":
        return rate, paddle.optimizer.Adam(rate, lazy_mode=True)
    if kind == "amsgrad":
        return rate, paddle.optimizer.Adam(rate, lazy_mode=True, amsgrad=True)
    if kind == "adamw":
        some = {"apply_decay_param_fun": decays}
        return rate, paddle.optimizer.AdamW(rate, lazy_mode=True, weight_decay=0.5, **some)
    if kind == "momentum":
        return rate, paddle.optimizer.Momentum(rate, 0.9, use_nesterov=True)
    if kind == "adagrad":
        return rate, paddle.optimizer.Adagrad(rate)
    return rate, paddle.optimizer.SGD(rate)


def batches():
    """Ids [BATCH, 2] and clicks, planted: each id has a weight, and so has the pair's parity."""
    draw = np.random.RandomState(5)
    weight = draw.randn(IDS)
    for _ in range(STEPS):
        ids = draw.randint(0, IDS, (BATCH, 2))
        odds = weight[ids].sum(1) * 2
        yield ids, (draw.rand(BATCH) < 1 / (1 + np.exp(-odds))).astype("float32")[:, None]


def area(scores, clicks):
    order = np.argsort(scores)
    ranks = np.empty(len(scores))
    ranks[order] = np.arange(1, len(scores) + 1)
    positive = clicks > 0.5
    n, m = positive.sum(), (~positive).sum()
    return (ranks[positive].sum() - n * (n + 1) / 2) / (n * m)


paddle.enable_static()
paddle.seed(7)
fleet.init()
strategy = fleet.DistributedStrategy()
strategy.a_sync = MODE != "sync"
if MODE == "geo":
    strategy.a_sync_configs = {"k_steps": SETTINGS.get("k_steps", 4)}
if MODE == "async":
    strategy.a_sync_configs = {"send_queue_size": 2, "max_merge_var_num": 2}
ids = static.data("ids", [None, 2], "int64")
click = static.data("click", [None, 1])
start = paddle.nn.initializer.Uniform(-0.1, 0.1)
rows = static.nn.embedding(
    ids, [10**9, 4], is_sparse=True, is_distributed=True, param_attr=paddle.ParamAttr("rows", start)
)
h = static.nn.fc(paddle.flatten(rows, 1), 8, activation="tanh")
logit = static.nn.fc(h, 1)
loss = paddle.mean(paddle.nn.functional.binary_cross_entropy_with_logits(logit, click))
test = static.default_main_program().clone(for_test=True)
scheduler, chosen = optimizer()
fleet.distributed_optimizer(chosen, strategy).minimize(loss)
if fleet.is_server():
    fleet.init_server(SETTINGS.get("load"))
    fleet.run_server()
    sys.exit(0)

exe = static.Executor()
exe.run(static.default_startup_program())
fleet.init_worker()
rank, workers = fleet.worker_index(), fleet.worker_num()
last = None
if SETTINGS.get("files"):
    mine = [f for i, f in enumerate(SETTINGS["files"]) if i % workers == rank]
    dataset = paddle.distributed.QueueDataset()
    dataset.init(batch_size=4, thread_num=1, use_var=[ids, click], pipe_command="cat")
    dataset.set_filelist(mine)
    for _ in range(2):
        exe.train_from_dataset(static.default_main_program(), dataset)
else:
    for x, y in batches():
        (last,) = exe.run(
            feed={"ids": x[rank::workers], "click": y[rank::workers]}, fetch_list=[loss]
        )
        if SETTINGS.get("decay"):
            scheduler.step()
        if SETTINGS.get("say"):
            print("step", flush=True)
fleet.barrier_worker()
every = np.stack([np.arange(IDS), np.arange(IDS)[::-1]], 1)
nothing = np.zeros([IDS, 1], "float32")
(found,) = exe.run(test, feed={"ids": every, "click": nothing}, fetch_list=[logit])
area_of_seen = None
if STEPS:
    seen = np.concatenate([x for x, _ in batches()]), np.concatenate([y for _, y in batches()])
    (scores,) = exe.run(test, feed={"ids": seen[0], "click": seen[1]}, fetch_list=[logit])
    area_of_seen = float(area(scores.reshape(-1), seen[1].reshape(-1)))
out = {
    "rank": rank,
    "loss": None if last is None else float(last),
    "predictions": found.reshape(-1).tolist(),
    "auc": area_of_seen,
}
if rank == 0 and SETTINGS.get("save"):
    fleet.save_persistables(exe, SETTINGS["save"])
    out["saved"] = sorted(os.listdir(SETTINGS["save"]))
fleet.stop_worker()
print("RESULT " + json.dumps(out), flush=True)
