"""Trains a click model: on this machine's threads, or with parameter servers.

    python examples/ctr/train.py                                  # Wide & Deep, generated data
    python examples/ctr/train.py --model deepfm --threads 2
    python examples/ctr/train.py --adult FOLDER                   # UCI Adult
    python examples/ctr/train.py --model din                      # histories of any length
    argosy launch --servers 2 --workers 2 examples/ctr/train.py --model deepfm

Prints the training and the test AUC of each epoch. Generated data have a known best AUC, which is
printed too. Under the launcher tables live on the servers (`--mode` async, sync or geo), each worker
reads a part of the files, and AUCs are those of all workers together.
"""

import argparse
import os
import sys
import tempfile
import time

import numpy as np

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import adult
import generate
import models

import argosy as paddle
from argosy import static
from argosy.distributed import fleet


def arguments(given=None):
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--model", choices=sorted(models.MODELS), default="wide_deep")
    parser.add_argument("--adult", metavar="FOLDER", help="train on UCI Adult")
    parser.add_argument("--mode", choices=("async", "sync", "geo"), default="async")
    parser.add_argument("--epochs", type=int, default=1)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--batch", type=int, default=512)
    parser.add_argument("--dim", type=int, default=10)
    parser.add_argument("--rate", type=float, default=1e-3, help="of Adam")
    parser.add_argument("--layers", type=int, nargs="*", help="widths of the deep part")
    parser.add_argument("--lines", type=int, default=100000, help="of generated data")
    parser.add_argument("--rows", type=int, default=200001, help="of tables, for generated data")
    parser.add_argument("--data", metavar="FOLDER", help="where generated data are kept")
    parser.add_argument("--seed", type=int, default=0)
    return parser.parse_args(given)


class Data:
    """Files, and which variables a line has."""

    def __init__(self, args, folder):
        self.best, self.history = None, args.model == "din"
        self.wide = 0
        if args.adult:
            self.slots, self.numbers, self.rows = adult.SLOTS, len(adult.NUMBERS), adult.ROWS
            self.wide = len(adult.CROSSES)
            self.make = lambda: adult.write(args.adult, folder)
        elif self.history:
            self.slots, self.numbers, self.rows = 1, 1, 201
            self.make = lambda: self._generated(generate.write_behaviour, args, folder)
        else:
            self.slots, self.numbers, self.rows = generate.SLOTS, generate.NUMBERS, args.rows

            def write(out, lines, stream):
                return generate.write(
                    out, lines, 4, f"part{stream}", stream=stream, rows=args.rows, scale=0.02
                )

            self.make = lambda: self._generated(write, args, folder)

    def _generated(self, write, args, folder):
        train, _ = write(folder, args.lines, stream=0)
        test, self.best = write(folder, max(args.lines // 5, 2000), stream=1)
        return train, test

    def inputs(self):
        """The variables of a line, in its order: history, slots, wide slots, numbers, click."""
        ids = [static.data(f"C{i}", [-1, 1], "int64") for i in range(self.slots + self.wide)]
        numbers = static.data("numbers", [-1, self.numbers], "float32")
        click = static.data("click", [-1, 1], "int64")
        past = [static.data("history", [-1, 1], "int64", lod_level=1)] if self.history else []
        return past, ids, numbers, click


class Model:
    """A Program with its inputs, loss, and counts for the AUC."""

    def __init__(self, args, data, remote):
        past, ids, numbers, click = data.inputs()
        self.inputs = [*past, *ids, numbers, click]
        slots, wide = ids[: data.slots], ids[data.slots :]
        batch = models.Batch(
            slots, numbers, data.rows, args.dim, wide, past[0] if past else None, remote
        )
        layers = {"layers": args.layers} if args.layers and args.model not in ("lr", "fm") else {}
        if args.model == "dlrm" and layers:
            layers = {"top": args.layers}
        logit = models.MODELS[args.model](batch, **layers)
        self.loss = models.click_loss(logit, click)
        found = static.auc(paddle.nn.functional.sigmoid(logit), click, slide_steps=1)
        self.auc, self.counts = found[0], found[2][2:]

    def forget(self, scope):
        """Starts counting again."""
        for v in self.counts:
            tensor = scope.find_var(v.name).get_tensor()
            tensor.set(np.zeros(tensor.shape(), "int64"), paddle.CPUPlace())

    def total(self, scope, remote):
        """The AUC of all that was counted, by all workers."""
        if remote:
            return float(fleet.metrics.auc(*self.counts, scope))
        positive, negative = (np.array(scope.find_var(v.name).get_tensor()) for v in self.counts)
        ops = paddle._core.ops
        paddle.disable_static()
        area = ops.auc_area(paddle.to_tensor(positive), paddle.to_tensor(negative), "ROC")
        paddle.enable_static()
        return float(area)


def dataset_of(files, model, args, shuffle):
    data = paddle.distributed.InMemoryDataset() if shuffle else paddle.distributed.QueueDataset()
    data.init(batch_size=args.batch, thread_num=args.threads, use_var=model.inputs)
    data.set_filelist(files)
    if shuffle:
        data.load_into_memory()
    return data


def train(args, data, folder, say=print):
    """Trains and tests; returns [(training AUC, test AUC)], one for each epoch; of a server None."""
    remote = "TRAINING_ROLE" in os.environ
    paddle.enable_static()
    paddle.seed(args.seed)
    main, startup = static.Program(), static.Program()
    main.random_seed = startup.random_seed = args.seed + 1
    with static.program_guard(main, startup):
        if remote:
            fleet.init()
        model = Model(args, data, remote)
        optimizer = paddle.optimizer.Adam(args.rate, lazy_mode=True)
        if remote:
            strategy = fleet.DistributedStrategy()
            strategy.a_sync = args.mode != "sync"
            if args.mode == "geo":
                strategy.a_sync_configs = {"k_steps": 10}
            optimizer = fleet.distributed_optimizer(optimizer, strategy)
        optimizer.minimize(model.loss)
    if remote and fleet.is_server():
        fleet.init_server()
        fleet.run_server()
        return None
    first = not remote or fleet.is_first_worker()
    exe = static.Executor(paddle.CPUPlace())
    exe.run(startup)
    if remote:
        fleet.init_worker()
        folder = os.path.join(folder, str(fleet.worker_index()))
    train_files, test_files = data.make()
    if remote:
        train_files = fleet.util.get_file_shard(train_files)
        test_files = fleet.util.get_file_shard(test_files)
    if first and data.best:
        say(f"best AUC there is: {data.best:.4f}")
    scope, results = static.global_scope(), []
    # Adult is small: in memory, in another order each epoch.
    source = dataset_of(train_files, model, args, bool(args.adult))
    test = dataset_of(test_files, model, args, False)
    for epoch in range(args.epochs):
        if args.adult:
            source.local_shuffle()
        model.forget(scope)
        start = time.time()
        exe.train_from_dataset(main, source, thread=args.threads)
        seconds = time.time() - start
        if remote:
            fleet.barrier_worker()
        trained = model.total(scope, remote)
        model.forget(scope)
        exe.infer_from_dataset(main, test, thread=args.threads)
        results.append((trained, model.total(scope, remote)))
        if first:
            say(
                f"epoch {epoch}: {seconds:.1f} s, training AUC {trained:.4f}, test AUC"
                f" {results[-1][1]:.4f}"
            )
    if remote:
        fleet.stop_worker()
    return results


def run(given=None, say=print):
    """All of it, for command lines and tests."""
    args = arguments(given)
    with tempfile.TemporaryDirectory() as folder:
        folder = args.data or folder
        return train(args, Data(args, folder), folder, say)


if __name__ == "__main__":
    run()
