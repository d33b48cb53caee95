"""N processes of batch B beside one of N x B: three kinds of network over 20 steps, in float64 within 1e-12
and as curves in float32 within 1e-5."""

import sys

import numpy as np

import argosy as paddle
import argosy.distributed as dist
import argosy.nn.functional as F

dist.init_parallel_env()
rank, size = dist.get_rank(), dist.get_world_size()
STEPS, BATCH, CLASSES = 20, 4, 5


class Residual(paddle.nn.Layer):
    """A block of ResNet-18: biases stand behind norms only. In float32 a value within rounding of ReLU's
    kink falls on either side of it, and curves part: there the activation is smooth."""

    def __init__(self, given, wanted, stride, activation):
        super().__init__()
        nn = paddle.nn
        self.main = nn.Sequential(
            nn.Conv2D(given, wanted, 3, stride, 1, bias_attr=False), nn.BatchNorm2D(wanted), activation,
            nn.Conv2D(wanted, wanted, 3, 1, 1, bias_attr=False), nn.BatchNorm2D(wanted),
        )  # fmt: skip
        self.activation = activation
        self.short = None
        if stride != 1 or given != wanted:
            conv = nn.Conv2D(given, wanted, 1, stride, bias_attr=False)
            self.short = nn.Sequential(conv, nn.BatchNorm2D(wanted))

    def forward(self, x):
        return self.activation(self.main(x) + (x if self.short is None else self.short(x)))


def resnet(dtype):
    """The 17 convolutions of ResNet-18, narrow."""
    nn, width = paddle.nn, 4
    activation = nn.ReLU() if dtype == "float64" else nn.SiLU()
    layers = [nn.Conv2D(3, width, 3, 1, 1, bias_attr=False), nn.BatchNorm2D(width), activation]
    for stage in range(4):
        given, wanted = width * 2 ** max(stage - 1, 0), width * 2**stage
        layers.append(Residual(given, wanted, 2 if stage else 1, activation))
        layers.append(Residual(wanted, wanted, 1, activation))
    return nn.Sequential(
        *layers, nn.AdaptiveAvgPool2D(1), nn.Flatten(), nn.Linear(width * 8, CLASSES)
    )


def mlp():
    nn = paddle.nn
    return nn.Sequential(
        nn.Linear(12, 32), nn.GELU(), nn.Linear(32, 32), nn.GELU(), nn.Linear(32, CLASSES)
    )


class Transformer(paddle.nn.Layer):
    def __init__(self):
        super().__init__()
        layer = paddle.nn.TransformerEncoderLayer(16, 2, 32, dropout=0.0)
        self.table = paddle.nn.Embedding(30, 16)
        self.encoder = paddle.nn.TransformerEncoder(layer, 4)
        self.head = paddle.nn.Linear(16, CLASSES)

    def forward(self, ids):
        return self.head(self.encoder(self.table(ids)).mean(1))


def optimizer_of(kind, net):
    if kind == "transformer":
        clip = paddle.nn.ClipGradByGlobalNorm(0.1)
        return paddle.optimizer.AdamW(
            1e-3, parameters=net.parameters(), weight_decay=0.1, grad_clip=clip, epsilon=1e-6
        )
    return paddle.optimizer.Momentum(0.005, 0.9, parameters=net.parameters(), weight_decay=1e-4)


def inputs_of(kind, draw, dtype):
    count = BATCH * size
    if kind == "transformer":
        return draw.randint(0, 30, [count, 7])
    return draw.randn(count, *{"mlp": (12,), "resnet": (3, 12, 12)}[kind]).astype(dtype)


def network_of(kind, seed, dtype):
    paddle.seed(seed)
    made = {"mlp": mlp, "resnet": lambda: resnet(dtype), "transformer": Transformer}[kind]()
    return made.to(dtype=dtype)


def compare(kind, dtype):
    draw = np.random.RandomState(13)
    net, whole = network_of(kind, 1 + rank, dtype), network_of(kind, 1, dtype)
    net = paddle.nn.SyncBatchNorm.convert_sync_batchnorm(net)
    model = paddle.DataParallel(net, comm_buffer_size=0.02, last_comm_buffer_size=0.005)
    pairs = [(model, optimizer_of(kind, net)), (whole, optimizer_of(kind, whole))]
    mine = slice(rank * BATCH, (rank + 1) * BATCH)
    curves = []
    for _ in range(STEPS):
        x, y = inputs_of(kind, draw, dtype), draw.randint(0, CLASSES, BATCH * size)
        losses = []
        for (one, optimizer), part in zip(pairs, (mine, slice(None))):
            loss = F.cross_entropy(one(paddle.to_tensor(x[part])), paddle.to_tensor(y[part]))
            loss.backward()
            optimizer.step()
            optimizer.clear_grad()
            losses.append(loss.detach())
        dist.all_reduce(losses[0], op=dist.ReduceOp.AVG)
        curves.append([loss.item() for loss in losses])
    curves = np.array(curves)
    assert np.isfinite(curves).all() and curves.std(0).min() > 1e-3, curves
    limit = {"float64": 1e-12, "float32": 1e-5}[dtype]
    np.testing.assert_allclose(curves[:, 0], curves[:, 1], rtol=limit)
    if dtype == "float64":
        for a, b in zip(net.state_dict().values(), whole.state_dict().values()):
            np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=limit, atol=limit)


for dtype in ("float64", "float32"):
    compare(sys.argv[1], dtype)
dist.barrier()
print("all is well")
