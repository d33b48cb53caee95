"""A language model of the Llama family that writes text, in layers of paddle.nn.

For one text at a time: the keys and values of its words are kept, so each new word costs one pass
over the weights. `quantize` turns these into integers of 8 or 4 bits.
"""

import dataclasses

import argosy as paddle
from argosy import nn
from argosy.nn import functional as F


@dataclasses.dataclass
class Sizes:
    """Of a model; `context`: the longest text, `base`: of the angles of positions."""

    words: int
    width: int
    layers: int
    heads: int
    kv_heads: int
    inner: int
    context: int
    base: float = 10000.0
    epsilon: float = 1e-5

    @property
    def head(self):
        return self.width // self.heads


class RMSNorm(nn.Layer):
    def __init__(self, width, epsilon):
        super().__init__()
        self.weight = self.create_parameter(
            [width], default_initializer=nn.initializer.Constant(1.0)
        )
        self.epsilon = epsilon

    def forward(self, x):
        return F.rms_norm(x, x.shape[-1], self.weight, self.epsilon)


def turns(sizes):
    """What pairs of numbers are multiplied by at each position: complex64 [context, 1, head / 2]."""
    steps = paddle.arange(0, sizes.head, 2, dtype="float32") / sizes.head
    angles = paddle.outer(paddle.arange(sizes.context, dtype="float32"), sizes.base**-steps)
    return paddle.complex(paddle.cos(angles), paddle.sin(angles)).unsqueeze(1)


class Attention(nn.Layer):
    """Several heads ask what one head of keys and values keeps."""

    def __init__(self, sizes):
        super().__init__()
        self.sizes = sizes
        rows = sizes.heads + 2 * sizes.kv_heads
        self.asked = nn.Linear(sizes.width, rows * sizes.head, bias_attr=False)
        self.out = nn.Linear(sizes.width, sizes.width, bias_attr=False)

    def forward(self, x, angles, mask, kept, start):
        s, count = self.sizes, x.shape[0]
        stop, group = start + count, s.heads // s.kv_heads
        rows = self.asked(x).reshape([count, s.heads + 2 * s.kv_heads, s.head])
        turned, values = rows[:, : -s.kv_heads], rows[:, -s.kv_heads :]
        pairs = paddle.as_complex(turned.reshape([count, -1, s.head // 2, 2])) * angles
        turned = paddle.as_real(pairs).reshape([count, -1, s.head])
        kept[0][:, start:stop] = turned[:, s.heads :].transpose([1, 0, 2])
        kept[1][:, start:stop] = values.transpose([1, 0, 2])
        asked = turned[:, : s.heads].reshape([count, s.kv_heads, group, s.head])
        asked = asked.transpose([1, 2, 0, 3]).reshape([s.kv_heads, group * count, s.head])
        weights = paddle.matmul(asked, kept[0][:, :stop], transpose_y=True) * s.head**-0.5
        if mask is not None:
            weights = weights.reshape([s.kv_heads, group, count, stop]) + mask
            weights = weights.reshape([s.kv_heads, group * count, stop])
        y = paddle.matmul(F.softmax(weights), kept[1][:, :stop])
        y = y.reshape([s.kv_heads, group, count, s.head]).transpose([2, 0, 1, 3])
        return self.out(y.reshape([count, s.width]))


class Block(nn.Layer):
    def __init__(self, sizes):
        super().__init__()
        self.before_attention = RMSNorm(sizes.width, sizes.epsilon)
        self.attention = Attention(sizes)
        self.before_inner = RMSNorm(sizes.width, sizes.epsilon)
        self.inner = nn.Linear(sizes.width, 2 * sizes.inner, bias_attr=False)  # gate and value
        self.out = nn.Linear(sizes.inner, sizes.width, bias_attr=False)

    def forward(self, x, angles, mask, kept, start):
        x = x + self.attention(self.before_attention(x), angles, mask, kept, start)
        return x + self.out(F.swiglu(self.inner(self.before_inner(x))))


class Llama(nn.Layer):
    """Words of a text, one after the other."""

    def __init__(self, sizes):
        super().__init__()
        self.sizes = sizes
        self.words = nn.Embedding(sizes.words, sizes.width)
        self.blocks = nn.LayerList([Block(sizes) for _ in range(sizes.layers)])
        self.norm = RMSNorm(sizes.width, sizes.epsilon)
        self.head = nn.Linear(sizes.width, sizes.words, bias_attr=False)
        self.register_buffer("angles", turns(sizes), persistable=False)
        self.forget()

    def forget(self):
        """Begins a new text."""
        s = self.sizes
        self.length = 0
        self.kept = [
            [paddle.zeros([s.kv_heads, s.context, s.head]) for _ in "kv"] for _ in self.blocks
        ]

    def forward(self, ids):
        """Scores of all words, [words], to follow the text so far and `ids` [count], which join it."""
        start, count = self.length, ids.shape[0]
        if start + count > self.sizes.context:
            raise ValueError(f"the text is longer than {self.sizes.context} words")
        self.length = start + count
        angles = self.angles[start : self.length]
        mask = None
        if count > 1:  # of words that come later
            later = paddle.full([count, count], -float("inf")).triu(1)
            mask = paddle.concat([paddle.zeros([count, start]), later], 1) if start else later
        x = self.words(ids)
        for block, kept in zip(self.blocks, self.kept):
            x = block(x, angles, mask, kept, start)
        return self.head(self.norm(x[-1:]))[0]

    @paddle.no_grad()
    def write(self, ids, count):
        """The `count` likeliest words after `ids`, one by one."""
        self.forget()
        written, ids = [], paddle.to_tensor(ids)
        while len(written) < count:
            ids = paddle.argmax(self(ids), keepdim=True)
            written.append(int(ids))
        return written


class QuantizedLinear(nn.Layer):
    """nn.Linear without bias, its weight in integers of `bits` bits with a scale for each `group`."""

    def __init__(self, linear, bits, group):
        super().__init__()
        self.dtype, self.group = f"int{bits}", group
        weight, scale = nn.quant.weight_quantize(
            linear.weight, f"weight_only_int{bits}", group_size=group
        )
        self.register_buffer("weight", weight)
        self.register_buffer("scale", scale)

    def forward(self, x):
        return nn.quant.weight_only_linear(
            x, self.weight, None, self.scale, self.dtype, group_size=self.group
        )


def quantize(layer, bits=4, group=64):
    """Replaces all linear layers in `layer`."""
    for name, child in layer.named_children():
        if isinstance(child, nn.Linear):
            setattr(layer, name, QuantizedLinear(child, bits, group))
        else:
            quantize(child, bits, group)
    return layer
