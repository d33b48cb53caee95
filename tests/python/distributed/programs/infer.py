"""Predicts with a model that wide_deep.py saved: tables stay on servers.

Usage: infer.py FOLDER
"""

import json
import os
import sys

import numpy as np
import paddle
import paddle.distributed.fleet as fleet
import paddle.static as static

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import wide_deep


def main():
    paddle.enable_static()
    fleet.init()
    slots, dense, label, predict, loss = wide_deep.model()
    exe = static.Executor()
    infer = fleet.utils.DistributedInfer()
    infer.init_distributed_infer_env(exe, loss, dirname=sys.argv[1])
    if fleet.is_server():
        return
    program = infer.get_dist_infer_program()
    positive, negative = np.zeros(4096), np.zeros(4096)
    total = 0.0
    for ids, x, y in wide_deep.batches(7, 20):
        feed = {f"C{i}": ids[:, i : i + 1] for i in range(wide_deep.SLOTS)}
        (p,) = exe.run(program, feed=dict(feed, dense=x, label=y), fetch_list=[predict])
        bucket = (p[:, 1] * 4095).astype(int)
        np.add.at(positive, bucket[y[:, 0] == 1], 1)
        np.add.at(negative, bucket[y[:, 0] == 0], 1)
        total += float(p[:, 1].sum())
    result = {"worker": fleet.worker_index(), "auc": fleet.metrics.auc(positive, negative)}
    print("RESULT " + json.dumps(dict(result, total=total)), flush=True)
    fleet.stop_worker()


if __name__ == "__main__":
    main()
