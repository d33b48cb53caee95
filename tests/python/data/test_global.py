"""Data sets in a job of real processes: one server, two workers."""

import re
import subprocess
import sys

SCRIPT = """
import sys
import numpy as np
import argosy as paddle
from argosy import _core
from argosy.distributed import fleet

paddle.enable_static()
fleet.init()
y = paddle.static.data("y", [None, 1], "int64")
x = paddle.static.data("x", [None, 1], "int64", lod_level=1)
rows = paddle.static.nn.embedding(x, [1000, 4], is_sparse=True)
pooled = paddle.static.nn.sequence_pool(paddle.reshape(rows, [-1, 4]), "sum")
loss = paddle.mean(paddle.static.nn.fc(pooled, 1) ** 2)
strategy = fleet.DistributedStrategy()
strategy.a_sync = True
fleet.distributed_optimizer(paddle.optimizer.SGD(0.01), strategy).minimize(loss)
if fleet.is_server():
    fleet.init_server()
    fleet.run_server()
    sys.exit()
exe = paddle.static.Executor()
exe.run(paddle.static.default_startup_program())
fleet.init_worker()
w = fleet.worker_index()
with open(f"part{w}", "w") as f:
    f.write("".join(f"1 {w * 500 + i} 2 {i} 5\\n" for i in range(500)))
dataset = paddle.distributed.InMemoryDataset()
dataset.init(batch_size=32, thread_num=2, use_var=[y, x])
dataset.set_filelist([f"part{w}"])
dataset.load_into_memory()
dataset.global_shuffle(fleet)
total = dataset.get_memory_data_size(fleet)
source, seen = dataset._start(1), []
while (got := _core.data_next(source, 0)) is not None:
    seen += np.array(got[0][0]).ravel().tolist()
print("TOTAL", total, "HAS", " ".join(map(str, seen)), flush=True)
exe.train_from_dataset(
    paddle.static.default_main_program(), dataset, fetch_list=[loss], fetch_info=["loss"],
    print_period=4,
)
fleet.stop_worker()
"""


def test_workers_exchange_samples_and_train(tmp_path):
    (tmp_path / "job.py").write_text(SCRIPT)
    done = subprocess.run(
        [sys.executable, "-m", "argosy.distributed.launch", "--servers", "1", "--workers", "2",
         "--log_dir", "log", "job.py"],
        cwd=tmp_path, capture_output=True, text=True, timeout=250,
    )  # fmt: skip
    logs = [(tmp_path / "log" / f"workerlog.{w}").read_text() for w in range(2)]
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    parts = []
    for text in logs:
        total, numbers = re.search(r"TOTAL (\d+) HAS (.*)", text).groups()
        assert total == "1000"
        parts.append([int(n) for n in numbers.split()])
        assert re.search(
            r"batch: \[4\], loss\[1\]:\[.*\] \| .* examples/s, .* sent .*B, received .*B, \d+ steps to",
            text,
        )
    assert sorted(parts[0] + parts[1]) == list(range(1000))
    for part in parts:
        assert 100 < sum(n < 500 for n in part) < 400
