"""Message passing, sparse matrices, Fourier layers, recurrent cells by hand, precision, EMA, gradient merge."""

import numpy as np
import paddle
import paddle.nn.functional as F
from paddle import nn

rng = np.random.RandomState(14)
edges = rng.randint(0, 8, (2, 20))
source, target = paddle.to_tensor(edges[0]), paddle.to_tensor(edges[1])


class GraphConv(nn.Layer):
    def __init__(self, inputs, outputs, reduce):
        super().__init__()
        self.linear = nn.Linear(inputs, outputs)
        self.reduce = reduce

    def forward(self, x):
        message = paddle.geometric.send_u_recv(x, source, target, self.reduce, out_size=8)
        return self.linear(message) + x.mean(-1, keepdim=True)


class Attend(nn.Layer):
    def __init__(self, size):
        super().__init__()
        self.key = nn.Linear(size, size)

    def forward(self, x):
        k = self.key(x)
        score = (paddle.gather(k, source) * paddle.gather(x, target)).sum(-1)
        score = score - paddle.geometric.segment_max(score.unsqueeze(-1), paddle.sort(target)).max()
        weight = paddle.exp(F.leaky_relu(score))
        total = paddle.scatter_nd_add(paddle.zeros([8]), target.unsqueeze(-1), weight)
        weight = weight / paddle.gather(total, target)
        return paddle.index_add(
            paddle.zeros_like(x), target, 0, paddle.gather(x, source) * weight.unsqueeze(-1)
        )


net = fixed(
    nn.Sequential(
        GraphConv(5, 6, "sum"),
        nn.CELU(0.8),
        Attend(6),
        GraphConv(6, 6, "mean"),
        nn.PReLU(6),
        nn.Linear(6, 3),
    )
)
show("parameters", [list(p.shape) for p in net.parameters()])
optimizer = paddle.optimizer.AdamW(
    0.02, parameters=net.parameters(), weight_decay=0.01, multi_precision=False
)
x = paddle.to_tensor(rng.randn(8, 5).astype("float32"))
y = paddle.to_tensor(rng.randint(0, 3, 8))
for step in range(6):
    loss = F.nll_loss(F.log_softmax(net(x), axis=1), y, weight=paddle.to_tensor([1.0, 0.5, 2.0]))
    loss.backward()
    if step % 2:
        optimizer.step()
        optimizer.clear_grad()
    show("graph", [loss, net[0].linear.weight.grad is None])
adjacency = paddle.sparse.sparse_coo_tensor(edges[:, :10], np.ones(10, "float32"), [8, 8])
weight = paddle.to_tensor(rng.randn(5, 4).astype("float32"), stop_gradient=False)
dense = paddle.sparse.coalesce(adjacency).to_dense()
out = dense @ (x @ weight)
out.square().mean().backward()
show("sparse", [out, weight.grad])
csr = paddle.sparse.coalesce(adjacency).to_sparse_csr()
show(
    "csr",
    [csr.crows(), csr.cols(), csr.values(), paddle.sparse.nn.functional.softmax(csr).values()],
)


class Spectral(nn.Layer):
    def __init__(self, modes=3):
        super().__init__()
        self.modes = modes
        self.real = self.create_parameter([2, 2, modes])
        self.imag = self.create_parameter([2, 2, modes], is_bias=False)

    def forward(self, x):
        f = paddle.fft.rfft(x, axis=-1)
        w = paddle.complex(self.real, self.imag)
        low = paddle.einsum("bix,iox->box", f[:, :, : self.modes], w)
        f = paddle.concat(
            [low, paddle.zeros([x.shape[0], 2, f.shape[-1] - self.modes], "complex64")], axis=-1
        )
        return paddle.fft.irfft(f, n=x.shape[-1], axis=-1)


fourier = fixed(nn.Sequential(Spectral(), nn.GELU(), nn.Conv1D(2, 2, 1), Spectral(2)))
lion = paddle.optimizer.Momentum(
    0.05, parameters=fourier.parameters(), grad_clip=nn.ClipGradByValue(0.05)
)
for step in range(4):
    signal = paddle.to_tensor(rng.randn(3, 2, 10).astype("float32"))
    loss = F.l1_loss(fourier(signal), signal.roll(1, -1))
    loss.backward()
    lion.step()
    lion.clear_grad()
    show("fourier", loss)
# A cell by hand, unrolled, with truncated gradients.
w, u = (
    paddle.to_tensor(rng.randn(4, 4).astype("float32") * 0.3, stop_gradient=False) for _ in range(2)
)
state = paddle.zeros([2, 4])
for part in range(3):
    state = state.detach()
    losses = []
    for t in range(4):
        state = paddle.tanh(paddle.to_tensor(rng.randn(2, 4).astype("float32")) @ w + state @ u)
        losses.append(state.square().mean())
    total = paddle.add_n(losses) / len(losses)
    total.backward()
    with paddle.no_grad():
        for p in (w, u):
            p -= 0.5 * p.grad
            p.clear_grad()
    show("truncated", [total, w.norm(), u.norm()])
# float64 throughout, then half precision storage.
paddle.set_default_dtype("float64")
double = fixed(nn.Linear(3, 2).astype("float64")) if False else nn.Linear(3, 2)
show(
    "dtype",
    [
        str(double.weight.dtype),
        str(paddle.ones([1]).dtype),
        str(paddle.to_tensor(1.0).dtype),
        str(paddle.arange(3.0).dtype),
    ],
)
paddle.set_default_dtype("float32")
half = fixed(nn.Linear(3, 2))
half.to(dtype="bfloat16")
show("half", [str(p.dtype) for p in half.parameters()])
with paddle.amp.auto_cast(enable=False):
    show("amp", nn.Linear(2, 2)(paddle.ones([1, 2])).dtype == paddle.float32)
scaler = paddle.amp.GradScaler(enable=False, init_loss_scaling=1024)
scaled = scaler.scale(half.weight.astype("float32").sum())
show("scaler", [scaled.astype("float32").shape, scaler.is_enable(), sorted(scaler.state_dict())])
