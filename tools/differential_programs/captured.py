"""jit.to_static: control flow over values and over Python, inner functions, save and load, training."""

import os
import tempfile

import numpy as np
import paddle
from paddle import nn
from paddle.static import InputSpec

rng = np.random.RandomState(9)


@paddle.jit.to_static
def collatz(n):
    steps = paddle.zeros([1], "int64")
    while n > 1:
        if n % 2 == 0:
            n = n // 2
        else:
            n = 3 * n + 1
        steps += 1
    return steps


show("collatz", [collatz(paddle.to_tensor([n])) for n in (1, 6, 27)])


@paddle.jit.to_static
def gather_rows(x, limit):
    rows = []
    for i in range(x.shape[0]):
        if i == 3:
            break
        row = x[i] * (i + 1)
        if row.sum() > limit:
            continue
        rows.append(row)
    total = x[0] * 0
    for row in rows:
        total = total + row
    return total


show(
    "rows", gather_rows(paddle.to_tensor(rng.randn(5, 3).astype("float32")), paddle.to_tensor(0.5))
)


def helper(x, scale=2.0, *, shift=None):
    out = x * scale
    if shift is not None:
        out = out + shift
    return out


@paddle.jit.to_static
def mixed(x, options, flag=True):
    first, (second, third) = helper(x), (helper(x, 3.0), helper(x, shift=options["shift"]))
    if flag and x.mean() > 0:
        out = {"a": first, "b": [second, third]}
    else:
        out = {"a": second, "b": [first, first]}
    return out


for sign in (1, -1):
    x = paddle.to_tensor(sign * np.abs(rng.randn(4)).astype("float32"))
    show("mixed", mixed(x, {"shift": paddle.ones([4])}))
    show("mixed", mixed(x, {"shift": paddle.ones([4])}, flag=False))


class Decoder(nn.Layer):
    def __init__(self):
        super().__init__()
        self.cell = nn.GRUCell(4, 8)
        self.out = nn.Linear(8, 5)
        self.embedding = nn.Embedding(5, 4)

    @paddle.jit.to_static(input_spec=[InputSpec([None, 8], "float32", "state")])
    def forward(self, state):
        token = paddle.zeros([state.shape[0]], "int64")
        scores, i = paddle.zeros([state.shape[0]]), 0
        while i < 4:
            out, state = self.cell(self.embedding(token), state)
            logits = self.out(out)
            token = paddle.argmax(logits, axis=-1)
            scores += paddle.max(nn.functional.log_softmax(logits), axis=-1)
            i += 1
        return scores, token


decoder = fixed(Decoder())
state = paddle.to_tensor(rng.randn(3, 8).astype("float32"))
show("decoded", [v.detach() for v in decoder(state)])
with tempfile.TemporaryDirectory() as folder:
    path = os.path.join(folder, "decoder")
    paddle.jit.save(decoder, path)
    loaded = paddle.jit.load(path)
    show("loaded", [v.detach() for v in loaded(state)])
    show("loaded", [v.detach() for v in loaded(state[:1])])
    show("parameters", sorted(list(p.shape) for p in loaded.parameters()))


class Classifier(nn.Layer):
    def __init__(self):
        super().__init__()
        self.blocks = nn.LayerList([nn.Linear(6, 6) for _ in range(3)])
        self.norm = nn.BatchNorm1D(6)
        self.drop = nn.Dropout(0.5)
        self.head = nn.Linear(6, 3)

    def forward(self, x, depth=3):
        for i, block in enumerate(self.blocks):
            if i >= depth:
                break
            x = nn.functional.relu(block(x)) + x
        x = self.norm(x)
        if not self.training:
            x = self.drop(x) * 1.0
        return self.head(x)


eager, captured = fixed(Classifier()), fixed(Classifier())
captured = paddle.jit.to_static(captured)
steps = [paddle.optimizer.Adam(0.01, parameters=net.parameters()) for net in (eager, captured)]
for step in range(6):
    x = paddle.to_tensor(rng.randn(7, 6).astype("float32"))
    y = paddle.to_tensor(rng.randint(0, 3, 7))
    for net, optimizer in zip((eager, captured), steps):
        loss = nn.functional.cross_entropy(net(x, depth=2 + step % 2), y)
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
        show("loss", loss)
for net in (eager, captured):
    net.eval()
    show("eval", net(x))
with tempfile.TemporaryDirectory() as folder:
    path = os.path.join(folder, "net")
    captured = paddle.jit.to_static(eager, input_spec=[InputSpec([None, 6])])
    paddle.jit.save(captured, path)
    again = paddle.jit.load(path)
    again.eval()
    show("again", again(x))
    again.train()
    tuned = paddle.optimizer.SGD(0.1, parameters=again.parameters())
    for _ in range(3):
        loss = nn.functional.cross_entropy(again(x), y)
        loss.backward()
        tuned.step()
        tuned.clear_grad()
        show("tuned", loss)
    paddle.enable_static()
    executor = paddle.static.Executor()
    program, feeds, fetches = paddle.static.load_inference_model(path, executor)
    show("static", executor.run(program, feed={feeds[0]: x.numpy()}, fetch_list=fetches))
    paddle.disable_static()
