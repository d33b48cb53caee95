"""Trains for many steps with failing calls between them; memory must stay flat.

    python tests/soak/failing_calls.py --steps 100000

Each step trains a small network and then makes one of the failing calls below, in turn. After a
warm-up the allocator's bytes, the interpreter's blocks and objects, and the resident memory of the
process are taken as the level that later samples are held against. Ends with status 1 if one rises.
"""

import argparse
import gc
import os
import sys
import weakref

import numpy as np

import argosy as paddle
import argosy.nn.functional as F
from argosy import _core


class Broken(Exception):
    """What hooks and layers of this test raise."""


class Flaky(paddle.autograd.PyLayer):
    @staticmethod
    def forward(ctx, x, fail_in):
        ctx.save_for_backward(x)
        ctx.fail_in = fail_in
        if fail_in == "forward":
            raise Broken
        return x * 2

    @staticmethod
    def backward(ctx, dy):
        if ctx.fail_in == "backward":
            raise Broken
        (x,) = ctx.saved_tensor()
        return dy * 2 + x * 0


class Net(paddle.nn.Layer):
    def __init__(self):
        super().__init__()
        self.embed = paddle.nn.Embedding(20, 8)
        self.conv = paddle.nn.Conv1D(4, 4, 3, padding=1)
        self.hidden = paddle.nn.Linear(8, 16)
        self.norm = paddle.nn.LayerNorm(16)
        self.head = paddle.nn.Linear(16, 3)

    def forward(self, ids):
        x = self.conv(self.embed(ids)).mean(axis=1)
        x = F.dropout(F.gelu(self.norm(self.hidden(x))), 0.1, training=self.training)
        return self.head(x)


class BrokenData(paddle.io.Dataset):
    def __len__(self):
        return 4

    def __getitem__(self, i):
        if i == 2:
            raise Broken
        return np.zeros([3], "float32")


def leaf(shape=(2, 3)):
    return paddle.ones(list(shape))


def needs_grad(shape=(2, 3)):
    x = paddle.ones(list(shape))
    x.stop_gradient = False
    return x


def broken_hook(*args):
    raise Broken


# --- calls that fail: each says what it must raise -----------------------------------------------

FAILURES = []


def fails_with(*errors):
    def add(call):
        FAILURES.append((call, errors))
        return call

    return add


@fails_with(ValueError)
def shapes_of_matmul(net):
    needs_grad() @ needs_grad()


@fails_with(ValueError)
def shapes_that_do_not_broadcast(net):
    needs_grad([2, 3]) + needs_grad([2, 4])


@fails_with(ValueError)
def shape_of_a_layers_input(net):
    net.hidden(needs_grad([2, 9]))


@fails_with(ValueError)
def reshape_to_another_size(net):
    needs_grad().exp().reshape([4, 2])


@fails_with(TypeError, ValueError, RuntimeError)
def dtype_of_an_index(net):
    net.embed(needs_grad())


@fails_with(TypeError)
def dtype_of_an_operand(net):
    paddle.bitwise_and(needs_grad(), needs_grad())


@fails_with(ValueError, IndexError, RuntimeError)
def index_out_of_range(net):
    net.embed(paddle.to_tensor([[1, 500]]))


@fails_with(IndexError, ValueError)
def element_out_of_range(net):
    needs_grad()[5]


@fails_with(TypeError, ValueError, IndexError)
def index_of_no_kind(net):
    needs_grad()[{"a": 1}]


@fails_with(ValueError, TypeError)
def ragged_lists(net):
    paddle.to_tensor([[1.0, 2.0], [3.0]])


@fails_with(TypeError)
def arguments_that_do_not_exist(net):
    paddle.sum(needs_grad(), no_such_argument=1)


@fails_with(MemoryError, RuntimeError)
def more_memory_than_there_is(net):
    paddle.zeros([1 << 50])


@fails_with(ValueError)
def assignment_of_another_shape(net):
    x = leaf()
    x[0] = paddle.ones([7])


@fails_with(ValueError, RuntimeError)
def write_into_a_leaf(net):
    needs_grad().add_(leaf())


@fails_with(RuntimeError)
def overwritten_value(net):
    x = needs_grad()
    y = x.exp()
    z = y * y
    y.add_(leaf())
    z.sum().backward()


@fails_with(RuntimeError)
def backward_twice(net):
    y = (needs_grad() * needs_grad()).sum()
    y.backward()
    y.backward()


@fails_with(ValueError, RuntimeError)
def gradient_of_what_is_not_reached(net):
    paddle.grad(needs_grad().sum(), needs_grad())


@fails_with(Broken)
def hook_of_a_tensor(net):
    x = needs_grad()
    y = x * 3
    y.register_hook(broken_hook)
    y.exp().sum().backward()


@fails_with(Broken)
def hook_of_a_parameter_in_backward(net):
    hook = net.head.weight.register_hook(broken_hook)
    try:
        net.head(needs_grad([2, 16])).sum().backward()
    finally:
        hook.remove()
        net.head.clear_gradients()


@fails_with(Broken)
def hook_before_a_layer(net):
    hook = net.hidden.register_forward_pre_hook(broken_hook)
    try:
        net.hidden(needs_grad([2, 8]))
    finally:
        hook.remove()


@fails_with(Broken)
def hook_after_a_layer(net):
    hook = net.hidden.register_forward_post_hook(broken_hook)
    try:
        net.hidden(needs_grad([2, 8]))
    finally:
        hook.remove()


@fails_with(Broken)
def pylayer_forward(net):
    Flaky.apply(needs_grad(), "forward")


@fails_with(Broken)
def pylayer_backward(net):
    Flaky.apply(needs_grad().exp(), "backward").sum().backward()


@fails_with(Broken)
def data_set(net):
    for _ in paddle.io.DataLoader(BrokenData(), batch_size=2):
        pass


@fails_with(Broken)
def block_without_gradients(net):
    with paddle.no_grad():
        net.hidden(leaf([2, 8]))
        raise Broken


@fails_with(RuntimeError)
def search_for_nan(net):
    paddle.set_flags({"FLAGS_check_nan_inf": True})
    try:
        paddle.log(needs_grad() - 2).sum().backward()
    finally:
        paddle.set_flags({"FLAGS_check_nan_inf": False})


@fails_with(Broken)
def recording(net):
    with paddle.profiler.Profiler(on_trace_ready=broken_hook):
        net.hidden(needs_grad([2, 8]))


@fails_with(Broken)
def cycles_of_attributes(net):
    x = leaf()
    y = x * 2
    x.other, y.other, y.watched = y, x, weakref.ref(x)
    raise Broken


def failing_call(number, net):
    call, errors = FAILURES[number % len(FAILURES)]
    try:
        call(net)
    except errors:
        return
    raise AssertionError(f"{call.__name__} did not fail")


# --- measuring ----------------------------------------------------------------------------------


def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def sample():
    for _ in range(3):
        gc.collect()
    return {
        "allocator bytes": _core.memory_stats(paddle.CPUPlace())["allocated"],
        "python blocks": sys.getallocatedblocks(),
        "gc objects": len(gc.get_objects()),
        "resident bytes": resident(),
    }


# By how much a sample may lie above the level: the interpreter's caches breathe a little, and so do
# the system's pages.
SLACK = {
    "allocator bytes": 0,
    "python blocks": 300,
    "gc objects": 100,
    "resident bytes": 6 << 20,
}


def train(steps, samples, leak=None):
    """Yields `samples` samples, evenly over the steps."""
    paddle.seed(1)
    net = Net()
    optimizer = paddle.optimizer.AdamW(1e-3, parameters=net.parameters())
    ids = paddle.to_tensor(np.arange(32).reshape(8, 4) % 20)
    labels = paddle.to_tensor(np.arange(8) % 3)
    kept = []
    every = max(steps // samples, 1)
    for step in range(1, steps + 1):
        loss = F.cross_entropy(net(ids), labels)
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
        failing_call(step, net)
        if leak == "tensor":
            kept.append(paddle.ones([1]))
        elif leak == "object":
            kept.append([])
        if step % every == 0:
            if not np.isfinite(loss.item()):
                raise AssertionError(f"the loss is {loss.item()} at step {step}")
            del loss
            yield step, sample()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=100_000)
    parser.add_argument("--samples", type=int, default=20)
    parser.add_argument("--leak", choices=["tensor", "object"], help="leak, to test the test")
    options = parser.parse_args()
    level, risen = {}, set()
    # The first fifth warms up.
    warm = options.samples // 5
    for number, (step, now) in enumerate(train(options.steps, options.samples, options.leak)):
        print(f"step {step}: " + ", ".join(f"{what} {n:,}" for what, n in now.items()), flush=True)
        if number < warm:
            level = {what: max(n, level.get(what, 0)) for what, n in now.items()}
            continue
        for what, n in now.items():
            if n > level[what] + SLACK[what]:
                risen.add(what)
                print(f"  {what} rose by {n - level[what]:,} (allowed: {SLACK[what]:,})")
    print("FAILED: " + ", ".join(sorted(risen)) if risen else "flat")
    return 1 if risen else 0


if __name__ == "__main__":
    sys.exit(main())
