"""A program that runs alone on a GPU: what it exchanges goes by NCCL. (Several ranks need several GPUs: the calls
that NCCL gets of 1, 2 and 3 ranks are tested by tests/cpp/cuda/nccl_test.cc, against a library that looks at them.)"""

import subprocess
import sys

import pytest
from tests.python.device.where import STREAMED

gpu = pytest.mark.skipif(STREAMED, reason="needs a GPU")

BEGIN = """
import warnings
warnings.simplefilter("error")
import numpy as np
import argosy as paddle
import argosy.distributed as dist
from argosy import _core
paddle.set_device("gpu:0")
assert dist.get_backend() == "NONE"
dist.init_parallel_env()
assert dist.get_backend() == "NCCL"
"""

COLLECTIVES = (
    BEGIN
    + """
values = np.arange(12, dtype="float32").reshape(3, 4)
for dtype in ("float32", "float16", "bfloat16", "float64", "int32", "int64", "uint8", "complex64", "int16"):
    there = lambda: paddle.to_tensor(values).astype(dtype)
    same = lambda t: np.testing.assert_array_equal(t.astype("complex128").numpy(), values)
    x = there()
    dist.all_reduce(x); same(x)
    dist.reduce(x, 0); same(x)
    dist.broadcast(x, 0); same(x)
    out = []
    dist.all_gather(out, x); same(out[0]); assert len(out) == 1 and out[0].place.is_gpu_place()
    y = paddle.zeros_like(x); dist.reduce_scatter(y, [x]); same(y)
    y = paddle.zeros_like(x); dist.scatter(y, [x], 0); same(y)
    out = []
    dist.gather(x, out, 0); same(out[0])
    out = []
    dist.alltoall(out, [x]); same(out[0])
    y = paddle.zeros_like(x); dist.alltoall_single(y, x); same(y)
for op in (dist.ReduceOp.MAX, dist.ReduceOp.MIN, dist.ReduceOp.PROD, dist.ReduceOp.AVG):
    x = paddle.to_tensor(values)
    dist.all_reduce(x, op)
    np.testing.assert_array_equal(x.numpy(), values)
# Asynchronous, between work of the current stream, without a wait of the host.
x = paddle.ones([1 << 20])
x.numpy()
before = _core.host_waits()
for _ in range(5):
    x = x * 2
    task = dist.all_reduce(x, sync_op=False)
    y = paddle.ones([1 << 18]) * 3
    task.wait()
    x = x + 1
assert _core.host_waits() == before
np.testing.assert_array_equal(x.numpy(), np.full(1 << 20, 63, "float32"))
view = paddle.to_tensor(values).t()
dist.all_reduce(view)
np.testing.assert_array_equal(view.numpy(), values.T)
dist.all_reduce(paddle.zeros([0]))
dist.barrier()
assert dist.get_backend(dist.new_group([0])) == "NCCL"
assert dist.get_backend(dist.new_group([0], backend="gloo")) == "NONE"

@paddle.jit.to_static
def recorded(x):
    dist.all_reduce(x)
    return paddle.tanh(x) * 2

for _ in range(4):
    got = recorded(paddle.to_tensor(values))
    np.testing.assert_allclose(got.numpy(), np.tanh(values) * 2, 1e-6)
dist.destroy_process_group()
print("done")
"""
)

TRAINING = (
    BEGIN
    + """
from argosy.distributed import fleet

def losses(wrap):
    paddle.seed(1)
    net = paddle.nn.Sequential(paddle.nn.Linear(8, 16), paddle.nn.ReLU(), paddle.nn.Linear(16, 1))
    optimizer = paddle.optimizer.Adam(0.01, parameters=net.parameters())
    if wrap == "fleet":
        fleet.init(is_collective=True)
        net, optimizer = fleet.distributed_model(net), fleet.distributed_optimizer(optimizer)
    elif wrap:
        net = paddle.DataParallel(net)
    found = []
    for step in range(5):
        x = paddle.to_tensor(np.random.RandomState(step).rand(4, 8).astype("float32"))
        loss = (net(x) ** 2).mean()
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
        found.append(float(loss))
    return found

want = losses("")
np.testing.assert_allclose(losses("DataParallel"), want, 1e-5)
np.testing.assert_allclose(losses("fleet"), want, 1e-5)
print("done")
"""
)


@gpu
@pytest.mark.parametrize("program", [COLLECTIVES, TRAINING], ids=["collectives", "training"])
def test_one_rank(program):
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0 and done.stdout.endswith("done\n"), done.stdout + done.stderr
