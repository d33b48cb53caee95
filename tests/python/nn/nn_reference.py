"""Slow and plain NumPy versions of what the tests compare with."""

import itertools

import numpy as np


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def softmax(x, axis=-1):
    e = np.exp(x - x.max(axis, keepdims=True))
    return e / e.sum(axis, keepdims=True)


def conv(x, w, bias=None, stride=None, padding=None, dilation=None, groups=1):
    """x [N, C, *S], w [O, C/groups, *K]; padding: a pair for each spatial axis."""
    n = x.ndim - 2
    stride, dilation = stride or [1] * n, dilation or [1] * n
    x = np.pad(x, [(0, 0), (0, 0), *(padding or [(0, 0)] * n)])
    kernel = w.shape[2:]
    size = [(x.shape[2 + i] - dilation[i] * (kernel[i] - 1) - 1) // stride[i] + 1 for i in range(n)]
    out = np.zeros((x.shape[0], w.shape[0], *size), x.dtype)
    per_in, per_out = x.shape[1] // groups, w.shape[0] // groups
    for position in itertools.product(*map(range, size)):
        window = tuple(
            slice(p * s, p * s + d * (k - 1) + 1, d)
            for p, s, d, k in zip(position, stride, dilation, kernel)
        )
        for g in range(groups):
            patch = x[(slice(None), slice(g * per_in, (g + 1) * per_in), *window)]
            weights = w[g * per_out : (g + 1) * per_out]
            value = np.tensordot(patch, weights, (range(1, n + 2), range(1, n + 2)))
            out[(slice(None), slice(g * per_out, (g + 1) * per_out), *position)] = value
    return out if bias is None else out + bias.reshape(1, -1, *[1] * n)


def conv_transpose(x, w, stride, padding, output_padding=0):
    """Two-dimensional, one group; x [N, C, H, W], w [C, O, KH, KW]."""
    n, _, h, wid = x.shape
    kh, kw = w.shape[2:]
    full = np.zeros((n, w.shape[1], (h - 1) * stride + kh + output_padding,
                     (wid - 1) * stride + kw + output_padding), x.dtype)  # fmt: skip
    for i, j in itertools.product(range(h), range(wid)):
        full[:, :, i * stride : i * stride + kh, j * stride : j * stride + kw] += np.tensordot(
            x[:, :, i, j], w, (1, 0)
        )
    end = [size - padding for size in full.shape[2:]]
    return full[:, :, padding : end[0], padding : end[1]]


def pool(x, kernel, stride, padding, reduce, fill):
    """Windows of x [N, C, *S] reduced by ``reduce``; padding: a pair for each spatial axis."""
    n = x.ndim - 2
    x = np.pad(x, [(0, 0), (0, 0), *padding], constant_values=fill)
    size = [(x.shape[2 + i] - kernel[i]) // stride[i] + 1 for i in range(n)]
    out = np.zeros((*x.shape[:2], *size), x.dtype)
    for position in itertools.product(*map(range, size)):
        window = tuple(slice(p * s, p * s + k) for p, s, k in zip(position, stride, kernel))
        patch = x[(slice(None), slice(None), *window)]
        out[(slice(None), slice(None), *position)] = reduce(patch.reshape(*x.shape[:2], -1))
    return out


def lstm_step(x, h, c, w_ih, w_hh, b_ih, b_hh):
    i, f, g, o = np.split(x @ w_ih.T + b_ih + h @ w_hh.T + b_hh, 4, -1)
    c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
    return sigmoid(o) * np.tanh(c), c


def gru_step(x, h, w_ih, w_hh, b_ih, b_hh):
    xr, xz, xn = np.split(x @ w_ih.T + b_ih, 3, -1)
    hr, hz, hn = np.split(h @ w_hh.T + b_hh, 3, -1)
    z = sigmoid(xz + hz)
    n = np.tanh(xn + sigmoid(xr + hr) * hn)
    return (h - n) * z + n


def attention(q, k, v, mask=None, scale=None):
    """q, k, v [B, S, H, D]; mask is added to the scores."""
    q, k, v = (t.transpose(0, 2, 1, 3) for t in (q, k, v))
    scores = q @ k.transpose(0, 1, 3, 2) * (scale or q.shape[-1] ** -0.5)
    weights = softmax(scores if mask is None else scores + mask)
    return (weights @ v).transpose(0, 2, 1, 3), weights
