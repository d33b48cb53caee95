"""A click model on text files: data set, pipe command, train_from_dataset, days, models.

Usage: ctr_dataset.py FOLDER with part-* files of lines `label<tab>sign,sign<tab>sign,..`; it is its
own pipe command (`ctr_dataset.py parse`), as such programs often are.
"""

import glob
import json
import os
import sys

import paddle
import paddle.distributed.fleet as fleet
import paddle.static as static

SLOTS = ("user", "items")
DIM = 8


class Parser(fleet.MultiSlotDataGenerator):
    """One line of text to slots."""

    def generate_sample(self, line):
        def read():
            label, user, items = line.rstrip("\n").split("\t")
            yield [
                ("click", [int(label)]),
                ("user", [int(user)]),
                ("items", [int(item) for item in items.split(",")]),
            ]

        return read


class Model:
    def __init__(self):
        self.click = static.data("click", [None, 1], "int64", lod_level=0)
        self.slots = [static.data(name, [None, 1], "int64", lod_level=1) for name in SLOTS]
        pooled = []
        for slot in self.slots:
            rows = static.nn.sparse_embedding(
                slot,
                size=[1000001, DIM],
                param_attr=paddle.ParamAttr(name="embedding"),
                entry=paddle.distributed.CountFilterEntry(0),
            )
            pooled.append(static.nn.sequence_lod.sequence_pool(rows, "sum"))
        hidden = static.nn.fc(paddle.concat(pooled, axis=1), 16, activation="relu")
        self.predict = paddle.nn.functional.sigmoid(static.nn.fc(hidden, 1))
        label = paddle.cast(self.click, "float32")
        self.loss = paddle.mean(paddle.nn.functional.log_loss(self.predict, label))
        both = paddle.concat([1 - self.predict, self.predict], axis=1)
        self.auc, self.batch_auc, self.stats = static.auc(both, self.click, num_thresholds=4095)


def main():
    folder = sys.argv[1]
    saved = os.path.join(folder, "saved")
    paddle.enable_static()
    role = fleet.PaddleCloudRoleMaker()
    fleet.init(role)
    model = Model()
    strategy = fleet.DistributedStrategy()
    strategy.a_sync = True
    optimizer = paddle.optimizer.Adam(learning_rate=0.01)
    fleet.distributed_optimizer(optimizer, strategy).minimize(model.loss)

    if fleet.is_server():
        fleet.init_server()
        fleet.run_server()
    else:
        exe = static.Executor(paddle.CPUPlace())
        exe.run(static.default_startup_program())
        fleet.init_worker()
        files = fleet.util.get_file_shard(sorted(glob.glob(os.path.join(folder, "part-*"))))
        dataset = paddle.distributed.InMemoryDataset()
        dataset.init(
            batch_size=32,
            thread_num=2,
            use_var=[model.click, *model.slots],
            pipe_command=f"{sys.executable} {os.path.abspath(__file__)} parse",
        )
        dataset.set_filelist(files)
        dataset.load_into_memory()
        dataset.local_shuffle()
        for day in range(3):
            exe.train_from_dataset(static.default_main_program(), dataset)
            fleet.barrier_worker()
        samples = fleet.util.all_reduce([dataset.get_memory_data_size()], "sum")[0]
        positive, negative = model.stats[-2:]
        auc = fleet.metrics.auc(positive, negative)
        dataset.release_memory()
        if fleet.is_first_worker():
            fleet.save_persistables(exe, saved, mode=0)
            fleet.shrink()
        fleet.barrier_worker()
        result = {
            "worker": fleet.worker_index(),
            "samples": int(samples),
            "auc": auc,
            "files": files,
        }
        print("RESULT " + json.dumps(result), flush=True)
        fleet.stop_worker()


if __name__ == "__main__":
    if sys.argv[1] == "parse":
        Parser().run_from_stdin()
    else:
        main()
