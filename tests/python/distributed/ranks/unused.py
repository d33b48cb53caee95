"""Parameters that losses leave out, without find_unused_parameters: float64, beside one process."""

import numpy as np

import argosy as paddle
import argosy.distributed as dist

dist.init_parallel_env()
rank, size = dist.get_rank(), dist.get_world_size()
BATCH, WIDTH, PARTS = 3, 5, 4
tiny = dict(comm_buffer_size=0.0002, last_comm_buffer_size=0.0001)  # a bucket for each tensor
draw = np.random.RandomState(2)


class Parts(paddle.nn.Layer):
    def __init__(self):
        super().__init__()
        paddle.seed(4)
        self.parts = paddle.nn.LayerList([paddle.nn.Linear(WIDTH, WIDTH) for _ in range(PARTS)])
        self.to(dtype="float64")

    def forward(self, x, used):
        for k in used:
            x = paddle.tanh(self.parts[k](x))
        return x


class Pair:
    """The parts in processes, and the same alone."""

    def __init__(self, **options):
        self.one, self.whole = Parts(), Parts()
        self.model = paddle.DataParallel(self.one, **options)
        # What has no gradient is not decayed: zeros in its place would be seen.
        self.rates = [
            paddle.optimizer.Momentum(0.1, parameters=n.parameters(), weight_decay=0.1)
            for n in (self.one, self.whole)
        ]

    def loss_of(self, model, x, used):
        return (model(paddle.to_tensor(x), used) ** 2).mean()

    def step(self, used_by):
        """used_by[r]: the parts that process r uses."""
        x = draw.randn(size * BATCH, WIDTH)
        shares = [x[r * BATCH : (r + 1) * BATCH] for r in range(size)]
        self.loss_of(self.model, shares[rank], used_by[rank]).backward()
        sum(self.loss_of(self.whole, shares[r], used_by[r]) / size for r in range(size)).backward()
        for a, b in zip(self.one.parameters(), self.whole.parameters(), strict=True):
            assert (a.grad is None) == (b.grad is None), a.name
        for rate in self.rates:
            rate.step()
            rate.clear_grad(set_to_zero=False)
        for a, b in zip(self.one.parameters(), self.whole.parameters()):
            np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-12, atol=1e-12)


def raised_by(pair, used):
    try:
        pair.loss_of(pair.model, draw.randn(BATCH, WIDTH), used).backward()
    except RuntimeError as error:
        return str(error)
    raise AssertionError("nothing was raised")


for options in ({}, tiny):
    # What no process ever uses, wherever it is, is left alone.
    for out in range(PARTS):
        pair = Pair(**options)
        before = pair.one.parts[out].weight.numpy()
        for _ in range(4):
            pair.step([[k for k in range(PARTS) if k != out]] * size)
        np.testing.assert_array_equal(pair.one.parts[out].weight.numpy(), before)

    # What one process uses and the others never do is trained alike by all.
    pair = Pair(**options)
    for _ in range(4):
        pair.step([[0, 1, 3] if r == 0 else [0, 3] for r in range(size)])
    # It may come late elsewhere: all know it.
    pair.step([[0, 1, 3]] * size)

    # Two passes before an exchange.
    pair = Pair(**options)
    for _ in range(3):
        with pair.model.no_sync():
            x = draw.randn(size * BATCH, WIDTH)
            pair.loss_of(pair.model, x[rank * BATCH : (rank + 1) * BATCH], [0, 2]).backward()
        pair.loss_of(pair.whole, x, [0, 2]).backward()
        pair.step([[0, 3]] * size)

    if size == 1:
        continue
    # A later loss that reaches less, or more, than the first one.
    pair = Pair(**options)
    pair.step([[0, 1, 2]] * size)
    text = raised_by(pair, [0, 2])
    assert "[DataParallel] the loss reached 4 of the 6 parameters that it reached in the" in text
    assert pair.one.parts[1].weight.name in text and "find_unused_parameters=True" in text, text
    for rate in pair.rates:
        rate.clear_grad(set_to_zero=False)
    text = raised_by(pair, [0, 1, 2, 3])
    assert "reached parameters that it reached in no process in the first step" in text, text
    assert pair.one.parts[3].bias.name in text and "find_unused_parameters=True" in text, text
    for rate in pair.rates:
        rate.clear_grad(set_to_zero=False)
    pair.step([[0, 1, 2]] * size)  # and goes on

dist.barrier()
print("all is well")
