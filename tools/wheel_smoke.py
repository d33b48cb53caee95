"""Try an installed Argosy: `python wheel_smoke.py SOURCE_TREE` in an environment that has only it."""

import pathlib
import subprocess
import sys

import argosy as paddle

IMPORT_SECONDS = 0.2

package = pathlib.Path(paddle.__file__).parent
assert not package.is_relative_to(sys.argv[1]), f"argosy is the source tree's: {package}"
for file in ("include/argosy/op/define.h", "cmake/argosyConfig.cmake", "lib/libargosy.so"):
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

# The least of several: what the import itself costs, not what else the machine does.
code = "import time; t = time.perf_counter(); import argosy; print(time.perf_counter() - t)"
seconds = min(
    float(subprocess.run([sys.executable, "-c", code], capture_output=True, check=True).stdout)
    for _ in range(5)
)
assert seconds <= IMPORT_SECONDS, f"import argosy takes {seconds:.2f} s, at most {IMPORT_SECONDS}"
print(f"wheel: loss {losses[0]:.3f} -> {losses[-1]:.3f}, import {seconds * 1000:.0f} ms")
