"""Click models as static Programs. Each function takes a Batch and gives logits, [B, 1].

A batch has slots of one id each, numbers, and for DIN a history of any length. Tables are looked up
once for all slots: `look` joins its rows, [B, slots * dim], which runs as one operation.
"""

import argosy as paddle
from argosy import static
from argosy.nn import functional as F


class Batch:
    """The inputs of a model.

    Args:
        slots (list): int64 [B, 1] each, ids in tables of `rows` rows.
        numbers (Variable): float32 [B, n].
        rows (int): Rows of a table.
        dim (int): Columns of an embedding.
        wide (list, optional): Slots that only linear parts see, such as crossed features.
        history (Variable, optional): int64 [T, 1] of lod_level 1, what each user clicked.
        remote (bool): Tables live on parameter servers.
    """

    def __init__(self, slots, numbers, rows, dim, wide=(), history=None, remote=False):
        self.slots, self.wide, self.history = list(slots), list(wide), history
        self.numbers, self.rows, self.dim, self.remote = numbers, rows, dim, remote

    def rows_of(self, ids, dim, table, spread=0.01):
        """Rows [.., dim] of a table, by ids [.., 1]; numbers first are within [-spread, spread]."""
        first = paddle.nn.initializer.Uniform(-spread, spread)
        attr = paddle.ParamAttr(name=table, initializer=first)
        if self.remote:
            found = static.nn.sparse_embedding(ids, [self.rows, dim], param_attr=attr)
        else:
            found = static.nn.embedding(ids, [self.rows, dim], is_sparse=True, param_attr=attr)
        return paddle.reshape(found, [-1, dim])

    def look(self, slots, dim, table):
        """[B, slots * dim]."""
        found = [self.rows_of(x, dim, table) for x in slots]
        return found[0] if len(found) == 1 else paddle.concat(found, axis=1)

    def embeddings(self):
        return self.look(self.slots, self.dim, "embedding")


def dense(x, layers, activation="relu"):
    """Layers of these widths."""
    for n in layers:
        scale = (2 / (x.shape[1] + n)) ** 0.5
        attr = paddle.ParamAttr(initializer=paddle.nn.initializer.Normal(0.0, scale))
        x = static.nn.fc(x, n, weight_attr=attr, activation=activation)
    return x


def logistic_regression(batch):
    """A weight for each id and each number."""
    weights = batch.look(batch.slots + batch.wide, 1, "first_order")
    return paddle.sum(weights, 1, keepdim=True) + static.nn.fc(batch.numbers, 1)


def pairs(e, slots, dim):
    """Sum of the products of all pairs of embeddings, [B, 1]: (sum^2 - sum of squares) / 2."""
    e = paddle.reshape(e, [-1, slots, dim])
    of_sum, of_each = paddle.sum(e, 1) ** 2, paddle.sum(e**2, 1)
    return paddle.sum(of_sum - of_each, 1, keepdim=True) / 2


def fm(batch):
    """Factorization machine (Rendle 2010): linear, and a product for each pair of ids."""
    e = batch.embeddings()
    return logistic_regression(batch) + pairs(e, len(batch.slots), batch.dim)


def deepfm(batch, layers=(400, 400, 400)):
    """DeepFM (Guo et al. 2017): the machine and a network over the same embeddings."""
    e = batch.embeddings()
    deep = dense(paddle.concat([e, batch.numbers], 1), layers)
    second = pairs(e, len(batch.slots), batch.dim)
    return logistic_regression(batch) + second + static.nn.fc(deep, 1)


def wide_deep(batch, layers=(400, 400, 400)):
    """Wide & Deep (Cheng et al. 2016): linear in ids and crossed features, beside a network."""
    deep = dense(paddle.concat([batch.embeddings(), batch.numbers], 1), layers)
    return logistic_regression(batch) + static.nn.fc(deep, 1)


def dcn(batch, layers=(400, 400), crosses=3):
    """Deep & Cross (Wang et al. 2017): x <- x0 (x w) + b + x beside a network."""
    x0 = paddle.concat([batch.embeddings(), batch.numbers], 1)
    x = x0
    for i in range(crosses):
        size = [x0.shape[1]]
        w = static.create_parameter([*size, 1], "float32", name=f"cross_{i}.w")
        b = static.create_parameter(size, "float32", name=f"cross_{i}.b", is_bias=True)
        x = x0 * paddle.matmul(x, w) + b + x
    return static.nn.fc(paddle.concat([x, dense(x0, layers)], 1), 1)


def dlrm(batch, bottom=(64,), top=(256, 128)):
    """DLRM (Naumov et al. 2019): products of all pairs of embeddings and the numbers' vector."""
    count, dim = len(batch.slots) + 1, batch.dim
    low = dense(batch.numbers, [*bottom, dim])
    t = paddle.reshape(paddle.concat([batch.embeddings(), low], 1), [-1, count, dim])
    products = paddle.reshape(paddle.bmm(t, paddle.transpose(t, [0, 2, 1])), [-1, count * count])
    upper = [i * count + j for i in range(count) for j in range(i + 1, count)]
    chosen = paddle.gather(products, paddle.assign(upper), axis=1)
    return static.nn.fc(dense(paddle.concat([low, chosen], 1), top), 1)


def din(batch, layers=(80, 40)):
    """DIN (Zhou et al. 2018): the history weighted by how it fits the item offered (slot 0)."""
    dim = batch.dim
    item = batch.rows_of(batch.slots[0], dim, "items", 0.3)
    past = batch.rows_of(batch.history, dim, "items", 0.3)  # [T, dim], no padding
    mark = static.nn.sequence_expand(item, past)
    match = dense(paddle.concat([past, mark, past - mark, past * mark], 1), [36], "sigmoid")
    weight = static.nn.fc(match, 1)
    interest = static.nn.sequence_pool(past * weight, "sum")
    x = paddle.concat([item, interest, item * interest, batch.numbers], 1)
    return static.nn.fc(dense(x, layers), 1)


MODELS = {
    "lr": logistic_regression,
    "fm": fm,
    "deepfm": deepfm,
    "wide_deep": wide_deep,
    "dcn": dcn,
    "dlrm": dlrm,
    "din": din,
}


def click_loss(logit, click):
    """Mean cross entropy of logits and clicks, both [B, 1]."""
    return paddle.mean(F.binary_cross_entropy_with_logits(logit, click.astype("float32")))
