"""Sequences: CTC, CRF decoding, word vectors with sampled losses, quantiles, time series, LBFGS, text classes."""

import numpy as np
import paddle
import paddle.nn.functional as F
from paddle import nn

rng = np.random.RandomState(12)
# Recognition with CTC.
net = fixed(
    nn.LayerList(
        [
            nn.Conv1D(5, 8, 3, padding=1),
            nn.LSTM(8, 6, direction="bidirectional", time_major=False),
            nn.Linear(12, 7),
        ]
    )
)
optimizer = paddle.optimizer.Adagrad(
    0.1, parameters=net.parameters(), epsilon=1e-6, initial_accumulator_value=0.1
)
for step in range(5):
    x = paddle.to_tensor(rng.randn(3, 5, 12).astype("float32"))
    hidden, _ = net[1](F.leaky_relu(net[0](x), 0.1).transpose([0, 2, 1]))
    logits = net[2](hidden).transpose([1, 0, 2])
    labels = paddle.to_tensor(rng.randint(1, 7, (3, 4)), "int32")
    loss = F.ctc_loss(
        logits,
        labels,
        paddle.to_tensor([12, 12, 10]),
        paddle.to_tensor([4, 3, 2]),
        blank=0,
        norm_by_times=False,
    )
    loss.backward()
    optimizer.step()
    optimizer.clear_grad()
    show("ctc", loss)
show(
    "layer",
    nn.CTCLoss(blank=0, reduction="sum")(
        logits, labels, paddle.to_tensor([12, 12, 10]), paddle.to_tensor([4, 3, 2])
    ),
)
show(
    "decode",
    paddle.text.viterbi_decode(
        paddle.to_tensor(rng.rand(2, 5, 4).astype("float32")),
        paddle.to_tensor(rng.rand(4, 4).astype("float32")),
        paddle.to_tensor([5, 3]),
        False,
    ),
)
decoder = paddle.text.ViterbiDecoder(
    paddle.to_tensor(rng.rand(4, 4).astype("float32")), include_bos_eos_tag=True
)
show(
    "tags", decoder(paddle.to_tensor(rng.rand(2, 5, 4).astype("float32")), paddle.to_tensor([4, 5]))
)
# Word vectors: skip-gram with negative samples, and a tree.
inside, outside = fixed(nn.Embedding(30, 8, sparse=True)), fixed(nn.Embedding(30, 8))
tree = fixed(nn.HSigmoidLoss(8, 30))
adam = paddle.optimizer.Adam(
    0.05, parameters=inside.parameters() + outside.parameters() + tree.parameters(), lazy_mode=True
)
for step in range(5):
    center = paddle.to_tensor(rng.randint(0, 30, (6,)))
    context = paddle.to_tensor(rng.randint(0, 30, (6, 5)))
    labels = paddle.concat([paddle.ones([6, 1]), paddle.zeros([6, 4])], axis=1)
    vectors = inside(center)
    scores = paddle.bmm(outside(context), vectors.unsqueeze(2)).squeeze(-1)
    loss = F.binary_cross_entropy_with_logits(scores, labels) + tree(vectors, context[:, :1]).mean()
    loss.backward()
    adam.step()
    adam.clear_grad()
    show("words", [loss, inside.weight.norm()])
show(
    "nearest",
    paddle.topk(F.cosine_similarity(inside.weight[3:4], inside.weight, axis=1), 4)[1].numpy(),
)
# Quantiles.
model = fixed(nn.Sequential(nn.Linear(3, 10), nn.ELU(), nn.Linear(10, 3)))
quantiles = paddle.to_tensor([0.1, 0.5, 0.9])
schedule = paddle.optimizer.lr.CyclicLR(0.001, 0.05, 3, mode="triangular2")
sgd = paddle.optimizer.SGD(
    schedule, parameters=model.parameters(), weight_decay=paddle.regularizer.L1Decay(1e-3)
)
for step in range(8):
    x, y = (paddle.to_tensor(rng.randn(16, size).astype("float32")) for size in (3, 1))
    error = y - model(x)
    loss = paddle.maximum(quantiles * error, (quantiles - 1) * error).mean(axis=0).sum()
    loss.backward()
    sgd.step()
    sgd.clear_grad()
    schedule.step()
    show("quantile", [loss, schedule.get_lr()])
# LBFGS on Rosenbrock's function.
point = paddle.create_parameter(
    [2], "float32", default_initializer=nn.initializer.Assign(np.array([-1.0, 1.5], "float32"))
)
lbfgs = paddle.optimizer.LBFGS(
    0.5, max_iter=8, history_size=5, line_search_fn="strong_wolfe", parameters=[point]
)


def closure():
    lbfgs.clear_grad()
    value = (1 - point[0]) ** 2 + 10 * (point[1] - point[0] ** 2) ** 2
    value.backward()
    return value


for step in range(4):
    show("lbfgs", [lbfgs.step(closure), point])
# A text classifier: bags of embeddings with weights, attention pooling, dropout off, metrics.
bag, pool, head = (
    fixed(nn.Embedding(40, 6, padding_idx=0)),
    fixed(nn.Linear(6, 1)),
    fixed(nn.Bilinear(6, 6, 2)),
)
nadam = paddle.optimizer.NAdam(
    0.02, parameters=bag.parameters() + pool.parameters() + head.parameters()
)
accuracy, auc = paddle.metric.Accuracy(), paddle.metric.Auc()
for step in range(5):
    ids = rng.randint(1, 40, (8, 9))
    ids[:, 6:] *= rng.randint(0, 2, (8, 3))
    ids, labels = paddle.to_tensor(ids), paddle.to_tensor(rng.randint(0, 2, (8, 1)))
    vectors = bag(ids)
    weights = F.softmax(pool(vectors).squeeze(-1) + (ids == 0).astype("float32") * -1e9, axis=1)
    first = paddle.einsum("bt,bte->be", weights, vectors)
    second = vectors.max(axis=1)
    logits = head(first, second)
    loss = (
        F.cross_entropy(logits, labels.squeeze(1))
        + F.triplet_margin_loss(first, second, second.flip(0))
        + F.cosine_embedding_loss(first, second, labels.squeeze(1) * 2 - 1)
    )
    loss.backward()
    nadam.step()
    nadam.clear_grad()
    accuracy.update(accuracy.compute(logits, labels))
    auc.update(F.softmax(logits), labels)
    show("text", [loss, accuracy.accumulate(), auc.accumulate()])
for optimizer in (
    paddle.optimizer.RAdam(0.01, parameters=head.parameters()), paddle.optimizer.Rprop(0.01, parameters=head.parameters()),
    paddle.optimizer.ASGD(0.01, batch_num=2, parameters=head.parameters()), paddle.optimizer.Adadelta(0.1, parameters=head.parameters()),
):  # fmt: skip
    for _ in range(3):
        head(first.detach(), second.detach()).square().mean().backward()
        optimizer.step()
        optimizer.clear_grad()
    show(
        type(optimizer).__name__,
        [
            head.weight.sum(),
            sorted({k.split("_")[-2] for k in optimizer.state_dict() if k != "LR_Scheduler"}),
        ],
    )
