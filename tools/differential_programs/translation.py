"""An encoder and a decoder with attention, teacher forcing, masks, and beam search."""

import numpy as np
import paddle
from paddle import nn
from paddle.nn import functional as F

rng = np.random.RandomState(3)
WORDS, WIDTH = 23, 16


class Encoder(nn.Layer):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(WORDS, WIDTH, padding_idx=0)
        self.rnn = nn.GRU(WIDTH, WIDTH, num_layers=2, direction="bidirect")
        self.merge = nn.Linear(2 * WIDTH, WIDTH)

    def forward(self, ids, lengths):
        states, last = self.rnn(self.embedding(ids), sequence_length=lengths)
        return self.merge(states), last


class Attention(nn.Layer):
    def __init__(self):
        super().__init__()
        self.query = nn.Linear(WIDTH, WIDTH, bias_attr=False)
        self.key = nn.Linear(WIDTH, WIDTH, bias_attr=False)
        self.score = nn.Linear(WIDTH, 1)

    def forward(self, state, memory, mask):
        energy = self.score(paddle.tanh(self.query(state).unsqueeze(1) + self.key(memory))).squeeze(
            -1
        )
        weights = F.softmax(paddle.where(mask, energy, paddle.full_like(energy, -1e9)), axis=-1)
        return paddle.bmm(weights.unsqueeze(1), memory).squeeze(1), weights


class DecoderCell(nn.RNNCellBase):
    def __init__(self):
        super().__init__()
        self.cell = nn.LSTMCell(2 * WIDTH, WIDTH)
        self.attention = Attention()

    def forward(self, step_input, states, memory, mask):
        context, _ = self.attention(states[0], memory, mask)
        out, states = self.cell(paddle.concat([step_input, context], -1), states)
        return out, states


class Net(nn.Layer):
    def __init__(self):
        super().__init__()
        self.encoder = Encoder()
        self.embedding = nn.Embedding(WORDS, WIDTH)
        self.decoder = nn.RNN(DecoderCell())
        self.out = nn.Linear(WIDTH, WORDS)

    def forward(self, source, lengths, target):
        memory, last = self.encoder(source, lengths)
        mask = F.sequence_mask(lengths, maxlen=source.shape[1], dtype="bool")
        start = (last[0] + last[1], paddle.zeros([source.shape[0], WIDTH]))
        states, _ = self.decoder(self.embedding(target), start, memory=memory, mask=mask)
        return self.out(states)


net = fixed(Net())
show("names", sorted(name for name, _ in net.named_parameters()))
rate = paddle.optimizer.lr.NoamDecay(d_model=WIDTH, warmup_steps=4, learning_rate=0.5)
clip = nn.ClipGradByGlobalNorm(1.0)
optimizer = paddle.optimizer.AdamW(
    rate, parameters=net.parameters(), grad_clip=clip, weight_decay=0.05,
    apply_decay_param_fun=lambda name: "bias" not in name,
)  # fmt: skip
for step in range(8):
    source = paddle.to_tensor(rng.randint(1, WORDS, (4, 7)))
    lengths = paddle.to_tensor(rng.randint(3, 8, (4,)))
    target = paddle.to_tensor(rng.randint(1, WORDS, (4, 6)))
    logits = net(source, lengths, target[:, :-1])
    loss = F.cross_entropy(
        logits, target[:, 1:], ignore_index=5, label_smoothing=0.0, reduction="mean"
    )
    loss.backward()
    optimizer.step()
    rate.step()
    optimizer.clear_grad()
    show("loss", [loss, rate.get_lr(), optimizer.get_lr()])

# Beam search with a plain cell.
cell = fixed(nn.GRUCell(WIDTH, WIDTH))
embedding, out = fixed(nn.Embedding(WORDS, WIDTH)), fixed(nn.Linear(WIDTH, WORDS))
decoder = nn.BeamSearchDecoder(
    cell, start_token=1, end_token=2, beam_size=3, embedding_fn=embedding, output_fn=out
)
initial = cell.get_initial_states(paddle.ones([2, WIDTH])) + 0.1
ids, states, lengths = nn.dynamic_decode(decoder, inits=initial, max_step_num=6, return_length=True)
show("ids", ids)
show("lengths", lengths)
show(
    "tree",
    F.gather_tree(
        paddle.to_tensor(rng.randint(0, 5, (4, 2, 3))),
        paddle.to_tensor(rng.randint(0, 3, (4, 2, 3))),
    ),
)
