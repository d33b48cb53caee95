"""Small models of many kinds: physics-informed, diffusion, distillation, meta-learning, click rates, experts, caches."""

import numpy as np
import paddle
import paddle.nn.functional as F
from paddle import nn

rng = np.random.RandomState(21)


def draw(*shape):
    return paddle.to_tensor(rng.randn(*shape).astype("float32"))


# An equation u'' + u = 0 by its residual.
net = fixed(
    nn.Sequential(nn.Linear(1, 12), nn.Tanh(), nn.Linear(12, 12), nn.Tanh(), nn.Linear(12, 1))
)
optimizer = paddle.optimizer.Adam(0.01, parameters=net.parameters())
for step in range(5):
    t = paddle.to_tensor(rng.rand(10, 1).astype("float32"), stop_gradient=False)
    u = net(t)
    first = paddle.grad(u.sum(), t, create_graph=True)[0]
    second = paddle.grad(first.sum(), t, create_graph=True)[0]
    loss = (second + u).square().mean() + (net(paddle.zeros([1, 1])) - 1).square().sum()
    loss.backward()
    optimizer.step()
    optimizer.clear_grad()
    show("physics", loss)


# Diffusion: noise is predicted from a noisy sample and its time.
class Denoiser(nn.Layer):
    def __init__(self, width=8):
        super().__init__()
        self.time = nn.Sequential(nn.Linear(width, width), nn.Silu())
        self.inside = nn.Conv2D(1, width, 3, padding=1)
        self.norm = nn.GroupNorm(4, width)
        self.down = nn.Conv2D(width, width, 3, stride=2, padding=1)
        self.up = nn.Upsample(scale_factor=2, mode="nearest")
        self.outside = nn.Conv2D(2 * width, 1, 3, padding=1)
        self.width = width

    def forward(self, x, step):
        rate = paddle.exp(
            -np.log(1e4) * paddle.arange(0, self.width // 2, dtype="float32") / (self.width // 2)
        )
        angle = step.astype("float32").unsqueeze(1) * rate.unsqueeze(0)
        embedded = self.time(paddle.concat([angle.sin(), angle.cos()], axis=-1))
        h = F.silu(self.norm(self.inside(x))) + embedded[:, :, None, None]
        return self.outside(paddle.concat([h, self.up(self.down(h))], axis=1))


model = fixed(Denoiser())
betas = paddle.linspace(1e-4, 0.02, 20)
kept = paddle.cumprod(1.0 - betas, dim=0)
optimizer = paddle.optimizer.AdamW(2e-3, parameters=model.parameters())
for step in range(4):
    clean, noise = draw(4, 1, 8, 8), draw(4, 1, 8, 8)
    times = paddle.to_tensor(rng.randint(0, 20, 4))
    scale = paddle.gather(kept, times).reshape([-1, 1, 1, 1])
    loss = F.mse_loss(model(scale.sqrt() * clean + (1 - scale).sqrt() * noise, times), noise)
    loss.backward()
    optimizer.step()
    optimizer.clear_grad()
    show("diffusion", loss)
with paddle.no_grad():
    x = draw(1, 1, 8, 8)
    for i in reversed(range(3)):
        predicted = model(x, paddle.full([1], i, "int64"))
        x = (x - betas[i] / (1 - kept[i]).sqrt() * predicted) / (1 - betas[i]).sqrt()
    show("sample", x)

# Distillation with temperatures, features and a frozen teacher.
teacher, student = (
    fixed(nn.Sequential(nn.Linear(6, w), nn.Hardswish(), nn.Linear(w, 4))) for w in (16, 5)
)
teacher.eval()
for p in teacher.parameters():
    p.stop_gradient = True
optimizer = paddle.optimizer.Momentum(0.1, parameters=student.parameters())
for step in range(4):
    x, y = draw(8, 6), paddle.to_tensor(rng.randint(0, 4, 8))
    soft = (
        F.kl_div(
            F.log_softmax(student(x) / 3.0, -1),
            F.softmax(teacher(x) / 3.0, -1),
            reduction="batchmean",
        )
        * 9.0
    )
    loss = 0.7 * soft + 0.3 * F.cross_entropy(student(x), y, label_smoothing=0.1)
    loss.backward()
    optimizer.step()
    optimizer.clear_grad()
    show("distilled", [soft, loss])

# Meta-learning: a step inside, the outer gradient through it.
weights = [
    paddle.to_tensor(rng.randn(*s).astype("float32") * 0.4, stop_gradient=False)
    for s in ((1, 8), (8,), (8, 1), (1,))
]


def apply(ws, x):
    return paddle.tanh(x @ ws[0] + ws[1]) @ ws[2] + ws[3]


for step in range(3):
    x = draw(5, 1)
    inner = F.mse_loss(apply(weights, x), paddle.sin(x * 2))
    grads = paddle.grad(inner, weights, create_graph=True)
    fast = [w - 0.1 * g for w, g in zip(weights, grads)]
    z = draw(5, 1)
    outer = F.mse_loss(apply(fast, z), paddle.sin(z * 2))
    outer.backward()
    with paddle.no_grad():
        for w in weights:
            w.set_value(w - 0.05 * w.grad)
            w.clear_gradient()
    show("meta", [inner, outer, weights[0].sum()])


# Click rates: factorization machine and a deep part.
class DeepFM(nn.Layer):
    def __init__(self):
        super().__init__()
        uniform = paddle.ParamAttr(
            initializer=nn.initializer.Uniform(-0.1, 0.1),
            regularizer=paddle.regularizer.L2Decay(1e-3),
        )
        self.first = nn.Embedding(50, 1, sparse=False, weight_attr=uniform)
        self.second = nn.Embedding(50, 4, weight_attr=uniform)
        self.dense = self.create_parameter([3], default_initializer=nn.initializer.Constant(0.1))
        self.deep = nn.LayerList([nn.Linear(24 + 3, 8), nn.Linear(8, 1)])

    def forward(self, ids, dense):
        e = self.second(ids)
        total = e.sum(1)
        pairs = 0.5 * (total.square() - e.square().sum(1)).sum(1, keepdim=True)
        h = paddle.concat([e.flatten(1), dense], 1)
        for i, layer in enumerate(self.deep):
            h = layer(h)
            if i == 0:
                h = F.relu(h)
        return F.sigmoid(
            self.first(ids).sum(1) + (dense * self.dense).sum(1, keepdim=True) + pairs + h
        )


click = fixed(DeepFM())
optimizer = paddle.optimizer.Adam(0.02, parameters=click.parameters(), lazy_mode=True)
auc = paddle.metric.Auc("ROC", 255)
for step in range(5):
    ids, dense, label = (
        paddle.to_tensor(rng.randint(0, 50, (16, 6))),
        paddle.rand([16, 3]) * 0 + 0.3,
        paddle.to_tensor(rng.randint(0, 2, (16, 1))),
    )
    p = click(ids, dense)
    loss = F.log_loss(p, label.astype("float32")).mean()
    loss.backward()
    optimizer.step()
    optimizer.clear_grad()
    auc.update(paddle.concat([1 - p, p], 1), label)
    show("clicks", [loss, auc.accumulate()])

# A mixture of experts with the two best of four.
gate, experts = (
    fixed(nn.Linear(6, 4, bias_attr=False)),
    fixed(nn.LayerList([nn.Linear(6, 6) for _ in range(4)])),
)
optimizer = paddle.optimizer.SGD(0.1, parameters=gate.parameters() + experts.parameters())
for step in range(4):
    x = draw(10, 6)
    scores = F.softmax(gate(x))
    value, index = paddle.topk(scores, 2, axis=-1)
    value = value / value.sum(-1, keepdim=True)
    out = paddle.zeros_like(x)
    for e, expert in enumerate(experts):
        rows, slot = paddle.where(index == e)
        rows, slot = rows.flatten(), slot.flatten()
        if rows.shape[0] == 0:
            continue
        part = expert(paddle.index_select(x, rows)) * paddle.gather_nd(
            value, paddle.stack([rows, slot], 1)
        ).unsqueeze(-1)
        out = paddle.scatter(out, rows, part, overwrite=False)
    balance = (scores.mean(0) * F.one_hot(index[:, 0], 4).mean(0)).sum() * 4
    loss = F.mse_loss(out, x.flip([1])) + 0.01 * balance
    loss.backward()
    optimizer.step()
    optimizer.clear_grad()
    show("experts", [loss, balance])

# A Transformer whose decoder keeps caches.
transformer = fixed(nn.Transformer(8, 2, 1, 2, 16, dropout=0.0, normalize_before=True))
source, target = draw(2, 5, 8), draw(2, 4, 8)
mask = transformer.generate_square_subsequent_mask(4)
whole = transformer(source, target, tgt_mask=mask)
memory = transformer.encoder(source)
caches, steps = transformer.decoder.gen_cache(memory), []
for i in range(4):
    out, caches = transformer.decoder(target[:, i : i + 1], memory, cache=caches)
    steps.append(out)
show("cached", [whole, (paddle.concat(steps, 1) - whole).abs().max() < 1e-4])

# Temporal convolutions with weight norm, contrast with a queue, a flow of couplings.
tcn = fixed(
    nn.Sequential(
        *[
            nn.utils.weight_norm(nn.Conv1D(4, 4, 3, padding=2 * 2**i, dilation=2**i))
            for i in range(2)
        ]
    )
)
out = tcn(draw(2, 4, 12))[:, :, :12]
out.square().mean().backward()
show("temporal", [out, [(n, p.grad.sum()) for n, p in tcn.named_parameters()]])
queue = F.normalize(draw(6, 20), axis=0)
query, key = F.normalize(draw(4, 6)), F.normalize(draw(4, 6))
query.stop_gradient = False
logits = (
    paddle.concat(
        [
            paddle.einsum("nc,nc->n", query, key).unsqueeze(-1),
            paddle.einsum("nc,ck->nk", query, queue),
        ],
        1,
    )
    / 0.07
)
F.cross_entropy(logits, paddle.zeros([4], "int64")).backward()
queue[:, 3:7] = key.t()
show("contrast", [logits, query.grad, queue])
x, log_det = draw(5, 4), paddle.zeros([5])
for i in range(2):
    a, b = x.chunk(2, axis=1)
    scale, shift = paddle.tanh(fixed(nn.Linear(2, 4))(a)).chunk(2, axis=1)
    x, log_det = paddle.concat([b * paddle.exp(scale) + shift, a], axis=1), log_det + scale.sum(1)
show("flow", [x, log_det, (-0.5 * (x**2).sum(1) + log_det).mean()])
