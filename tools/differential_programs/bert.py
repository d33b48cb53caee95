"""Pre-training of a small BERT: masked words, next sentence, parameter groups, accumulation, save and resume."""

import os
import tempfile

import numpy as np
import paddle
from paddle import nn
from paddle.nn import functional as F

rng = np.random.RandomState(5)
WORDS, WIDTH = 50, 24


class Embeddings(nn.Layer):
    def __init__(self):
        super().__init__()
        normal = paddle.ParamAttr(initializer=nn.initializer.Normal(std=0.02))
        self.word = nn.Embedding(WORDS, WIDTH, weight_attr=normal)
        self.position = nn.Embedding(16, WIDTH, weight_attr=normal)
        self.kind = nn.Embedding(2, WIDTH)
        self.norm = nn.LayerNorm(WIDTH, epsilon=1e-12)
        self.register_buffer("positions", paddle.arange(16).unsqueeze(0), persistable=False)

    def forward(self, ids, kinds):
        position = self.position(self.positions[:, : ids.shape[1]])
        return self.norm(self.word(ids) + position + self.kind(kinds))


class Bert(nn.Layer):
    def __init__(self):
        super().__init__()
        self.embeddings = Embeddings()
        layer = nn.TransformerEncoderLayer(
            WIDTH, 4, 48, dropout=0.0, activation="gelu", attn_dropout=0.0, act_dropout=0.0,
            normalize_before=False,
        )  # fmt: skip
        self.encoder = nn.TransformerEncoder(layer, 2, norm=nn.LayerNorm(WIDTH))
        self.pooler = nn.Sequential(nn.Linear(WIDTH, WIDTH), nn.Tanh())
        self.transform = nn.Linear(WIDTH, WIDTH)
        self.bias = self.create_parameter([WORDS], is_bias=True)
        self.next = nn.Linear(WIDTH, 2)

    def forward(self, ids, kinds, mask=None):
        if mask is None:
            mask = (ids == 0).astype("float32").unsqueeze([1, 2]) * -1e4
        states = self.encoder(self.embeddings(ids, kinds), mask)
        words = paddle.matmul(
            F.gelu(self.transform(states), approximate=True),
            self.embeddings.word.weight,
            transpose_y=True,
        )
        return words + self.bias, self.next(self.pooler(states[:, 0]))


net = fixed(Bert())
show("state", sorted((name, list(value.shape)) for name, value in net.state_dict().items()))
decayed = [p for n, p in net.named_parameters() if not n.endswith("bias") and "norm" not in n]
others = [p for n, p in net.named_parameters() if n.endswith("bias") or "norm" in n]
rate = paddle.optimizer.lr.LinearWarmup(
    paddle.optimizer.lr.PolynomialDecay(5e-3, 12, end_lr=1e-4, power=1.0), 3, 0.0, 5e-3
)
optimizer = paddle.optimizer.AdamW(
    rate,
    parameters=[
        {"params": decayed, "weight_decay": 0.1},
        {"params": others, "weight_decay": 0.0, "learning_rate": 0.5},
    ],
    grad_clip=nn.ClipGradByGlobalNorm(0.5),
)


def batch():
    ids = rng.randint(1, WORDS, (4, 12))
    ids[:, 10:] *= rng.randint(0, 2, (4, 2))
    labels = np.where(rng.rand(4, 12) < 0.3, ids, -100)
    return [
        paddle.to_tensor(v) for v in (ids, rng.randint(0, 2, (4, 12)), labels, rng.randint(0, 2, 4))
    ]


def losses(ids, kinds, labels, follows):
    words, following = net(ids, kinds)
    return F.cross_entropy(words, labels, ignore_index=-100), F.cross_entropy(following, follows)


def train(steps):
    for _ in range(steps):
        for _ in range(2):
            word, follow = losses(*batch())
            ((word + follow) / 2).backward()
        optimizer.step()
        optimizer.clear_grad()
        rate.step()
        show("loss", [word, follow, rate.last_lr])


train(5)
with tempfile.TemporaryDirectory() as folder:
    paddle.save(net.state_dict(), os.path.join(folder, "model.pdparams"))
    paddle.save(optimizer.state_dict(), os.path.join(folder, "model.pdopt"))
    state = paddle.load(os.path.join(folder, "model.pdopt"))
    show("scheduler", state["LR_Scheduler"])
    show(
        "keys",
        sorted(type(v).__name__ for v in state.values()).count("Tensor") // len(net.parameters()),
    )
    missing, unexpected = net.set_state_dict(paddle.load(os.path.join(folder, "model.pdparams")))
    show("keys", [missing, unexpected])
    missing, unexpected = net.set_state_dict(
        {"bias": np.zeros(WORDS, "float32"), "other": paddle.ones([1])}
    )
    show("some", [sorted(missing)[:4], unexpected, net.bias.abs().sum()])
    optimizer.set_state_dict(state)
train(3)
net.eval()
with paddle.no_grad():
    words, _ = net(paddle.to_tensor([[3, 4, 5, 0]]), paddle.zeros([1, 4], "int64"))
top = paddle.topk(F.softmax(words, -1), 3, axis=-1)
show("top", top)
