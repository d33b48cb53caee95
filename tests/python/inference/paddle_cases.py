"""Nets that are written as Paddle has them: {name: (layer or function, input specs, inputs)}. The suite
reads them back; tools/paddle_models.py --written has real Paddle run them."""

import numpy as np
from tests.python.onnx.test_export import OPS, Translator, X, floats, with_statistics

import argosy as paddle
from argosy.static import InputSpec

nn = paddle.nn
F = nn.functional


def branches_and_loops(x, n):
    if x.sum() > 0:
        y = x * 2
    else:
        y = x - 1
    i = paddle.zeros([], "int64")
    while i < n:
        y = y + x
        if i > 1:
            y = y - 0.5
        i = i + 1
    return y, i


def causal(q, k, v):
    return F.scaled_dot_product_attention(q, k, v, is_causal=True)


def one_dimension(x):
    return [
        F.conv1d(x, paddle.ones([6, 2, 3]), groups=2, padding=1, stride=2),
        F.conv1d_transpose(x, paddle.ones([4, 2, 3]), stride=2, output_padding=1),
        F.max_pool1d(x, 3, 2, 1),
        F.avg_pool1d(x, 3, 2, 1),
        F.adaptive_avg_pool1d(x, 3),
        F.pad(x, [2, 1], mode="replicate", data_format="NCL"),
        F.interpolate(x, scale_factor=[2], mode="linear", data_format="NCW"),
    ]


def three_dimensions(x):
    return [
        F.conv3d(x, paddle.ones([6, 2, 3, 3, 3]), paddle.arange(6, dtype="float32"), padding=1),
        F.max_pool3d(x, 2),
        F.avg_pool3d(x, 2, 1, 1),
        F.adaptive_avg_pool3d(x, 2),
        F.adaptive_max_pool3d(x, [3, 2, 4]),
        F.interpolate(x, [3, 7, 8], mode="trilinear", data_format="NCDHW"),
        F.conv3d_transpose(x, paddle.ones([2, 3, 2, 2, 2]), stride=2),
    ]


def last_channels(x):
    return [
        F.conv2d(x, paddle.ones([5, 4, 3, 3]), paddle.ones([5]), data_format="NHWC"),
        F.max_pool2d(x, 2, data_format="NHWC"),
        F.avg_pool2d(x, 3, 2, 1, ceil_mode=True, data_format="NHWC"),
        F.interpolate(x, [7, 9], mode="bilinear", data_format="NHWC"),
    ]


def sizes(x):
    n, c = x.shape[0], x.shape[1]
    y = x.reshape([n * c, -1])
    z = paddle.zeros([n, 3]) + paddle.arange(3, dtype="float32")
    return [
        y,
        z,
        paddle.full([n, 2], 7, "int64"),
        paddle.ones_like(x),
        x.expand_as(paddle.concat([x, x], 0)[:1].expand_as(x)),
        paddle.arange(0, n).astype("float32"),
    ]


def integers(x):
    return [
        x + 2,
        x * 3,
        x // 2,
        x % 3,
        x.sum(),
        x.max(0),
        x / 2,
        x.astype("float32"),
        x.clip(1, 5),
    ]


def matrices(x):
    rows = paddle.matmul(x, x, transpose_y=True) + 3 * paddle.eye(4)
    lu, pivots = paddle.linalg.lu(x)
    values, vectors = paddle.linalg.eigh(rows)
    other = x.flip(1)[:, :, :2]
    return [
        paddle.linalg.det(x), paddle.linalg.inv(rows), paddle.linalg.cholesky(rows),
        paddle.linalg.cholesky(rows, True), paddle.linalg.solve(rows, other),
        paddle.linalg.triangular_solve(rows, other, upper=False), paddle.linalg.lstsq(rows, other)[0],
        paddle.linalg.qr(x)[1].abs(), *paddle.linalg.qr(x, "complete")[:1], lu, pivots,
        *paddle.linalg.lu_unpack(lu, pivots), values, vectors.abs(), paddle.linalg.slogdet(rows),
        paddle.linalg.svd(x)[1], paddle.cross(x[:, :3], x[:, 1:], 1),
    ]  # fmt: skip


def fourier(x):
    y = paddle.fft.fft(x, axis=1)
    return [
        paddle.as_real(y), paddle.real(y), paddle.imag(y), paddle.angle(y), paddle.abs(y),
        paddle.real(paddle.fft.ifft(y, axis=1)), paddle.real(paddle.fft.ifft(y, axis=1, norm="ortho")),
        paddle.real(paddle.fft.ifft(y, axis=1, norm="forward")),
        paddle.as_real(paddle.fft.fft2(x, axes=(1, 2), norm="ortho")),
        paddle.as_real(paddle.conj(y) * paddle.complex(x, x)), paddle.fft.irfft(paddle.fft.rfft(x, axis=1), axis=1),
        paddle.as_real(paddle.as_complex(paddle.stack([x, -x], -1))),
    ]  # fmt: skip


def orders(x, n):
    vector = x[0, 0]
    whole = paddle.concat([n, n[:1], n[:2]])
    return [
        *paddle.cummax(x, 1), *paddle.cummin(x), paddle.logcumsumexp(x, 1), paddle.logcumsumexp(x),
        *paddle.mode(x.round(), 2), paddle.bincount(n, minlength=7), paddle.bincount(n, vector[:3], 4),
        *paddle.unique(n, True, True, True), *paddle.unique_consecutive(whole, True, True),
        paddle.repeat_interleave(x, paddle.to_tensor([2]), 1), paddle.repeat_interleave(x, n, 0),
        paddle.index_add(x, n % 3, 0, x * 2), paddle.nextafter(x, x.flip(1)),
        paddle.i0(x), paddle.i0e(x), paddle.i1(x), paddle.i1e(x), paddle.polygamma(x.abs() + 1, 1),
        paddle.put_along_axis(x, n.reshape([3, 1, 1]) % 3, x[:, :1, :1], 0, "amax"),
        paddle.diagonal_scatter(x[0], vector[:4], 1), F.rrelu(x, training=False), paddle.equal_all(x, x).astype("int32"),
    ]  # fmt: skip


def newer(x):  # than Paddle 2.6
    return [paddle.copysign(x, x.flip(1)), paddle.copysign(x[:, :1], x)]


def labelled(x, labels):
    logs = F.log_softmax(x, -1)
    weight = paddle.to_tensor([1.0, 0.5, 2.0, 0.25, 3.0])
    return [
        F.nll_loss(logs, labels), F.nll_loss(logs, labels, weight, reduction="none"),
        F.nll_loss(logs, labels, weight, ignore_index=3), F.smooth_l1_loss(x, x * 3, "none", 0.7),
        F.cross_entropy(x, labels, weight, ignore_index=1), F.cross_entropy(x, labels, reduction="none"),
    ]  # fmt: skip


class Norms(nn.Layer):
    def __init__(self):
        super().__init__()
        self.parts = nn.LayerList(
            [nn.BatchNorm2D(4), nn.GroupNorm(2, 4), nn.InstanceNorm2D(4), nn.LayerNorm([10, 12]), nn.PReLU(4)]
        )  # fmt: skip

    def forward(self, x):
        return [part(x) for part in self.parts]


def _recurrent(cell):
    net = cell(8, 16, num_layers=2, direction="bidirect")
    net.eval()
    return (lambda x: net(x)[0]), [InputSpec([None, None, 8], "float32", "x")], [floats(3, 5, 8)]


def _vision(name, channels, size):
    net = with_statistics(getattr(paddle.vision.models, name)())
    spec = [InputSpec([None, channels, size, size], "float32", "image")]
    return net, spec, [floats(2, channels, size, size)]


def cases():
    paddle.seed(1)
    words = [InputSpec([None, None], "int64", n) for n in ("source", "target")]
    ids = np.random.default_rng(0).integers(0, 50, (2, 9))
    translator = Translator()
    translator.eval()
    norms = with_statistics(Norms())
    image = [floats(2, 4, 10, 12)]
    found = {name: (function, [X], image) for name, function in OPS.items()}
    count = [InputSpec([None, 3], "float32", "x"), InputSpec([], "int64", "n")]
    found |= {
        "transformer": (translator, words, [ids[:, :7], ids[:, :5]]),
        "lstm": _recurrent(nn.LSTM),
        "gru": _recurrent(nn.GRU),
        "rnn": _recurrent(nn.SimpleRNN),
        "causal": (causal, [InputSpec([None, None, 2, 8], "float32", n) for n in "qkv"], [floats(2, 5, 2, 8)] * 3),
        "control": (branches_and_loops, count, [floats(2, 3), np.array(4)]),
        "no_rounds": (branches_and_loops, count, [-np.abs(floats(2, 3)), np.array(0)]),
        "one_dimension": (one_dimension, [InputSpec([None, 4, 9], "float32", "x")], [floats(2, 4, 9)]),
        "three_dimensions": (three_dimensions, [InputSpec([None, 2, 4, 5, 6], "float32", "x")], [floats(2, 2, 4, 5, 6)]),
        "last_channels": (last_channels, [InputSpec([None, 8, 9, 4], "float32", "x")], [floats(2, 8, 9, 4)]),
        "sizes": (sizes, [X], image),
        "integers": (integers, [InputSpec([None, 5], "int64", "x")], [np.arange(-5, 5).reshape(2, 5)]),
        "norms": (norms, [X], image),
        "factors": (matrices, [InputSpec([2, 4, 4], "float32", "x")], [floats(2, 4, 4)]),
        "fourier": (fourier, [InputSpec([None, 8, 4], "float32", "x")], [floats(2, 8, 4)]),
        "counts": (orders, [InputSpec([3, 4, 5], "float32", "x"), InputSpec([3], "int64", "n")],
                   [floats(3, 4, 5), np.int64([1, 4, 2])]),
        "newer": (newer, [X], image),
        "labelled": (labelled, [InputSpec([None, 5], "float32", "x"), InputSpec([None], "int64", "labels")],
                     [floats(3, 5), np.int64([3, 0, 4])]),
        "LeNet": _vision("LeNet", 1, 28),
        "mobilenet_v3_small": _vision("mobilenet_v3_small", 3, 64),
        "shufflenet_v2_x0_25": _vision("shufflenet_v2_x0_25", 3, 64),
        "squeezenet1_1": _vision("squeezenet1_1", 3, 64),
    }  # fmt: skip
    return found
