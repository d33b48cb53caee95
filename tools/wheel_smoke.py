"""Try an installed Argosy: `python wheel_smoke.py SOURCE_TREE` in an environment that has only it."""

import pathlib
import subprocess
import sys
import tempfile

import argosy as paddle

IMPORT_SECONDS = 0.2

package = pathlib.Path(paddle.__file__).parent
assert not package.is_relative_to(sys.argv[1]), f"argosy is the source tree's: {package}"
for file in (
    "include/argosy/op/define.h",
    "include/argosy_abi.h",
    "include/paddle/extension.h",
    "cmake/argosyConfig.cmake",
    "lib/libargosy.so",
):
    assert (package / file).is_file(), f"the wheel has no {file}"

# oneDNN, OpenBLAS and our own kernels, forward and backward.
paddle.seed(0)
net = paddle.nn.Sequential(
    paddle.nn.Conv2D(1, 4, 3, padding=1),
    paddle.nn.ReLU(),
    paddle.nn.Flatten(),
    paddle.nn.Linear(4 * 8 * 8, 2),
)
optimizer = paddle.optimizer.Adam(learning_rate=0.01, parameters=net.parameters())
x = paddle.randn([16, 1, 8, 8])
y = (x.mean(axis=[1, 2, 3]) > 0).astype("int64")
losses = []
for _ in range(40):
    loss = paddle.nn.functional.cross_entropy(net(x), y)
    loss.backward()
    optimizer.step()
    optimizer.clear_grad()
    losses.append(float(loss))
assert losses[-1] < 0.5 * losses[0], losses

# gRPC, Protobuf and RocksDB, which the wheel brings along: a server on this host, tables on disk.
import numpy as np  # noqa: E402

from argosy import _ps  # noqa: E402

with tempfile.TemporaryDirectory() as folder:
    table = {
        "id": 0,
        "name": "rows",
        "tier": "ssd",
        "directory": folder,
        "memory_rows": 2000,
        "accessor": {"dim": 4, "embedding": {"rule": "sum", "initial_range": 0, "maximum": 1e9}},
    }
    server = _ps.Server(endpoint="127.0.0.1:0", index=0, servers=1, workers=1, tables=[table])
    client = _ps.Client(endpoints=[f"127.0.0.1:{server.port}"], tables=[table])
    keys = np.arange(20_000, dtype=np.uint64)
    for _ in range(2):
        client.push_sparse(0, keys, np.ones((len(keys), 4), "float32"))
    rows = np.zeros((len(keys), 4), "float32")
    client.pull_sparse(0, keys, rows)
    assert (rows == 2).all(), rows
    del client
    server.stop()

# The least of several: what the import itself costs, not what else the machine does.
code = "import time; t = time.perf_counter(); import argosy; print(time.perf_counter() - t)"
seconds = min(
    float(subprocess.run([sys.executable, "-c", code], capture_output=True, check=True).stdout)
    for _ in range(5)
)
assert seconds <= IMPORT_SECONDS, f"import argosy takes {seconds:.2f} s, at most {IMPORT_SECONDS}"
print(f"wheel: loss {losses[0]:.3f} -> {losses[-1]:.3f}, import {seconds * 1000:.0f} ms")
