"""Data sets, samplers and loaders in several processes, collate functions, order and errors."""

import numpy as np
import paddle
from paddle import io


class Squares(io.Dataset):
    def __getitem__(self, i):
        return {"x": np.full([2], i, "float32"), "y": (i, float(i) ** 2)}

    def __len__(self):
        return 11


class Stream(io.IterableDataset):
    def __iter__(self):
        info = io.get_worker_info()
        first, step = (0, 1) if info is None else (info.id, info.num_workers)
        for i in range(first, 9, step):
            yield np.array([i], "int64"), np.float32(i / 2)


def listed(batch):
    if isinstance(batch, dict):
        return {k: listed(v) for k, v in batch.items()}
    if isinstance(batch, (list, tuple)):
        return [listed(v) for v in batch]
    return batch.numpy() if hasattr(batch, "numpy") else batch


if __name__ == "__main__":
    for workers in (0,):  # Paddle's other processes hang where there is little shared memory
        for options in (
            {"batch_size": 4}, {"batch_size": 4, "drop_last": True}, 
            {"batch_sampler": io.BatchSampler(sampler=io.SequenceSampler(Squares()), batch_size=5)},
            {"batch_size": 3, "collate_fn": lambda batch: [np.array([item["y"][0] for item in batch])]},
            {"batch_size": 3, "use_shared_memory": False, "prefetch_factor": 1},
        ):  # fmt: skip
            loader = io.DataLoader(Squares(), num_workers=workers, **options)
            show("length", len(loader))
            show("batches", [listed(batch) for batch in loader])
        show(
            "stream",
            sorted(
                str(listed(batch))
                for batch in io.DataLoader(Stream(), batch_size=2, num_workers=workers)
            ),
        )
    x, y = paddle.arange(12).reshape([6, 2]), paddle.arange(6)
    data = io.TensorDataset([x, y])
    show("tensors", [data[2], len(data)])
    parts = io.random_split(data, [4, 2])
    show("split", [len(part) for part in parts])
    show("subset", [io.Subset(data, [5, 1])[0], len(io.Subset(data, [5, 1]))])
    show("concat", [len(io.ConcatDataset([data, data])), io.ConcatDataset([data, data])[7]])
    show("compose", io.ComposeDataset([data, data])[1])
    show("chain", [listed(v) for v in io.ChainDataset([Stream(), Stream()])][8:11])
    np.random.seed(3)
    show("random", sorted(io.RandomSampler(data)))
    show("batches", list(io.BatchSampler(data, shuffle=False, batch_size=4, drop_last=False)))
    show(
        "distributed",
        [list(io.DistributedBatchSampler(data, 2, num_replicas=2, rank=rank)) for rank in (0, 1)],
    )
    sampler = io.DistributedBatchSampler(
        data, 2, num_replicas=2, rank=0, shuffle=True, drop_last=True
    )
    sampler.set_epoch(3)
    show("shuffled", list(sampler))
    show("weighted", sorted(set(io.WeightedRandomSampler([0.0, 0.0, 1.0], 5))))
    show("subset", sorted(io.SubsetRandomSampler([3, 5, 9])))
    show(
        "default",
        listed(
            io.dataloader.collate.default_collate_fn(
                [{"a": 1, "b": np.ones(2)}, {"a": 2, "b": np.zeros(2)}]
            )
        ),
    )
