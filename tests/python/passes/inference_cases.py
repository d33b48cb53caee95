"""Functions that differ in training: f(x, training) of x [2, 6, 4, 8], by name."""

import numpy as np

import argosy
from argosy import nn
from argosy.nn import functional as F

X = np.random.default_rng(5).standard_normal((2, 6, 4, 8)).astype("float32")


LSTM = nn.LSTM(32, 5, num_layers=2, dropout=0.4)


def lstm(x, training):
    LSTM.train() if training else LSTM.eval()
    return LSTM(argosy.reshape(x, [2, 6, 32]))[0]


def batch_norm(x, training):
    mean, variance = argosy.full([6], 0.2), argosy.full([6], 1.5)
    return F.batch_norm(x, mean, variance, training=training)


FUNCTIONS = {
    "dropout": lambda x, t: F.dropout(x * 2, 0.3, training=t) + 1,
    "downscale": lambda x, t: F.dropout(x, 0.3, training=t, mode="downscale_in_infer"),
    "axis": lambda x, t: F.dropout(x, 0.3, axis=[0, 1], training=t),
    "dropout2d": lambda x, t: F.dropout2d(x, 0.3, training=t),
    "all": lambda x, t: F.dropout(x, 1.0, training=t),
    "rrelu": lambda x, t: F.rrelu(x, training=t),
    "attention": lambda x, t: F.scaled_dot_product_attention(
        x, x, x, dropout_p=0.4 if t else 0.0, training=t
    ),
    "lstm": lstm,
    "batch_norm": batch_norm,
}
