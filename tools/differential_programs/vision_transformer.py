"""A ViT: patches, class token, stochastic depth off, interpolated positions, MixUp, EMA."""

import copy

import numpy as np
import paddle
from paddle import nn
from paddle.nn import functional as F

rng = np.random.RandomState(7)
WIDTH = 24


class Attention(nn.Layer):
    def __init__(self, heads=3):
        super().__init__()
        self.heads, self.scale = heads, (WIDTH // heads) ** -0.5
        self.qkv = nn.Linear(WIDTH, 3 * WIDTH, bias_attr=True)
        self.proj = nn.Linear(WIDTH, WIDTH)

    def forward(self, x):
        n, length = x.shape[:2]
        q, k, v = (
            self.qkv(x)
            .reshape((-1, length, 3, self.heads, WIDTH // self.heads))
            .transpose((2, 0, 3, 1, 4))
        )
        weights = F.softmax(q.matmul(k.transpose((0, 1, 3, 2))) * self.scale, axis=-1)
        return self.proj(weights.matmul(v).transpose((0, 2, 1, 3)).reshape((-1, length, WIDTH)))


class Block(nn.Layer):
    def __init__(self):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.attn = Attention()
        self.mlp = nn.Sequential(
            nn.Linear(WIDTH, 48), nn.GELU(), nn.Dropout(0.0), nn.Linear(48, WIDTH)
        )
        self.gamma = self.create_parameter(
            [WIDTH], default_initializer=nn.initializer.Constant(0.1)
        )

    def forward(self, x):
        x = x + self.gamma * self.attn(self.norm1(x))
        return x + self.mlp(self.norm2(x))


class ViT(nn.Layer):
    def __init__(self, classes=5):
        super().__init__()
        self.patches = nn.Conv2D(3, WIDTH, 4, 4)
        self.token = self.create_parameter(
            [1, 1, WIDTH], default_initializer=nn.initializer.TruncatedNormal(std=0.02)
        )
        self.positions = self.create_parameter(
            [1, 17, WIDTH], attr=paddle.ParamAttr(name="positions")
        )
        self.add_parameter(
            "scale", self.create_parameter([1], default_initializer=nn.initializer.Assign([0.5]))
        )
        self.blocks = nn.LayerList([Block() for _ in range(2)])
        self.norm = nn.LayerNorm(WIDTH)
        self.head = nn.Linear(WIDTH, classes) if classes else nn.Identity()
        self.apply(self._init)

    def _init(self, layer):
        if isinstance(layer, nn.Linear):
            nn.initializer.XavierUniform()(layer.weight)
            if layer.bias is not None:
                nn.initializer.Constant(0.0)(layer.bias)

    def place(self, side):
        token, rest = self.positions[:, :1], self.positions[:, 1:]
        rest = rest.reshape([1, 4, 4, WIDTH]).transpose([0, 3, 1, 2])
        rest = F.interpolate(rest, size=(side, side), mode="bicubic", align_corners=False)
        return paddle.concat([token, rest.flatten(2).transpose([0, 2, 1])], axis=1)

    def forward(self, x):
        x = self.patches(x)
        side = x.shape[-1]
        x = x.flatten(2).transpose([0, 2, 1])
        x = paddle.concat([self.token.expand([x.shape[0], -1, -1]), x], axis=1)
        x = x + self.place(side) * self.scale
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x)[:, 0])


net = fixed(ViT())
show("name", net.positions.name)
show("counts", [sum(int(np.prod(p.shape)) for p in net.parameters()), len(net.sublayers())])
average = copy.deepcopy(net)
show("copies", [a is not b for a, b in zip(net.parameters(), average.parameters())])
rate = paddle.optimizer.lr.CosineAnnealingDecay(0.05, T_max=10, eta_min=1e-3)
optimizer = paddle.optimizer.Momentum(
    rate, 0.9, net.parameters(), use_nesterov=True, weight_decay=paddle.regularizer.L2Decay(1e-3)
)
for step in range(8):
    side = 16 if step % 2 else 20
    images = paddle.to_tensor(rng.randn(6, 3, side, side).astype("float32"))
    labels = F.one_hot(paddle.to_tensor(rng.randint(0, 5, 6)), 5)
    mix = float(rng.beta(0.8, 0.8))
    order = paddle.to_tensor(rng.permutation(6))
    images = images * mix + images[order] * (1 - mix)
    target = labels * mix + paddle.index_select(labels, order) * (1 - mix)
    logits = net(images)
    loss = paddle.mean(paddle.sum(-target * F.log_softmax(logits, axis=-1), axis=-1))
    soft = F.cross_entropy(logits, target, soft_label=True)
    loss.backward()
    optimizer.step()
    optimizer.clear_grad()
    rate.step()
    with paddle.no_grad():
        for kept, new in zip(average.parameters(), net.parameters()):
            kept.set_value(kept * 0.9 + new * 0.1)
    show("loss", [loss, soft, rate(), average.head.weight.norm()])
show("eval", average(paddle.ones([1, 3, 16, 16])))
