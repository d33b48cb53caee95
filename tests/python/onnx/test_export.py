"""argosy.onnx.export: what is written is read back by our importer, and by ONNX Runtime where it is
installed, and gives what the layer gives."""

import importlib.util

import numpy as np
import pytest

import argosy as paddle
from argosy.static import InputSpec

nn = paddle.nn
F = nn.functional
RUNTIME = importlib.util.find_spec("onnxruntime") is not None


def floats(*shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape).astype("float32")


def flat(values):
    if isinstance(values, (list, tuple)):
        return [v for value in values for v in flat(value)]
    return [values]


def in_runtime(data, feeds):
    import onnxruntime

    session = onnxruntime.InferenceSession(data, providers=["CPUExecutionProvider"])
    return session.run(None, {i.name: f for i, f in zip(session.get_inputs(), feeds)})


def check(layer, specs, *calls, tolerance=1e-5, opset=17):
    data = paddle.onnx.export(layer, None, specs, opset)
    net = paddle.onnx.load(data)
    for feeds in calls:
        expected = [v.numpy() for v in flat(layer(*map(paddle.to_tensor, feeds)))]
        ways = [[v.numpy() for v in flat(net(*feeds))]]
        if RUNTIME:
            ways.append(in_runtime(data, feeds))
        for got in ways:
            assert len(got) == len(expected)
            for a, b in zip(got, expected):
                assert a.dtype == b.dtype and a.shape == b.shape
                scale = max(np.abs(b).max(initial=0), 1e-30)
                np.testing.assert_allclose(a / scale, b / scale, rtol=0, atol=tolerance)
    return net


def with_statistics(net):
    """net in evaluation mode, whose batch norms have statistics of their own."""
    for i, layer in enumerate(net.sublayers()):
        if isinstance(layer, nn.BatchNorm2D):
            size = layer._mean.shape[0]
            layer._mean.set_value(floats(size, seed=i) * 0.1)
            layer._variance.set_value(np.abs(floats(size, seed=i + 1)) * 0.5 + 0.3)
    net.eval()
    return net


X = InputSpec([None, 4, 10, 12], "float32", "x")


@pytest.mark.parametrize(
    "name", ["LeNet", "mobilenet_v3_small", "shufflenet_v2_x0_25", "squeezenet1_1"]
)
def test_vision_models(name):
    paddle.seed(1)
    net = with_statistics(getattr(paddle.vision.models, name)())
    channels, size = (1, 28) if name == "LeNet" else (3, 64)
    spec = [InputSpec([None, channels, size, size], "float32", "image")]
    check(net, spec, [floats(2, channels, size, size)], [floats(1, channels, size, size)])


class Translator(nn.Layer):
    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(50, 32, padding_idx=0)
        self.net = nn.Transformer(32, 4, 2, 2, 64)
        self.out = nn.Linear(32, 50)

    def forward(self, source, target):
        return self.out(self.net(self.words(source), self.words(target)))


def test_transformer_of_any_lengths():
    paddle.seed(1)
    net = Translator()
    net.eval()
    specs = [InputSpec([None, None], "int64", n) for n in ("source", "target")]
    ids = np.random.default_rng(0).integers(0, 50, (2, 9))
    check(net, specs, [ids[:, :7], ids[:, :5]], [ids[:1, :3], ids[1:, :9]])


@pytest.mark.parametrize("cell", [nn.LSTM, nn.GRU, nn.SimpleRNN])
def test_recurrent_layers(cell):
    paddle.seed(1)
    net = cell(8, 16, num_layers=2, direction="bidirect")
    net.eval()
    check(lambda x: net(x)[0], [InputSpec([None, None, 8], "float32", "x")], [floats(3, 5, 8)])


def test_causal_attention():
    def attend(q, k, v):
        return F.scaled_dot_product_attention(q, k, v, is_causal=True)

    specs = [InputSpec([None, None, 2, 8], "float32", n) for n in "qkv"]
    check(attend, specs, [floats(2, 5, 2, 8)] * 3)


def test_branches_and_loops():
    def f(x, n):
        if x.sum() > 0:
            y = x * 2
        else:
            y = x - 1
        i = paddle.zeros([], "int64")
        while i < n:
            y = y + x
            i = i + 1
        return y

    specs = [InputSpec([None, 3], "float32", "x"), InputSpec([], "int64", "n")]
    positive = np.abs(floats(2, 3))
    calls = [[sign * positive, np.array(n)] for sign in (1, -1) for n in (0, 4)]
    check(f, specs, *calls)


def assigned(x):
    y = x.clone()
    y[:, -1] = 1.0
    y[:, :, 2:4] = x[:, :, :2]
    return y


def with_nan(x):
    return paddle.where(x > 1, paddle.full([1], float("nan")), x)


OPS = {
    "activations": lambda x: [
        F.relu(x), F.gelu(x), F.gelu(x, True), F.silu(x), F.mish(x), F.hardswish(x), F.hardsigmoid(x),
        F.elu(x, 0.5), F.selu(x), F.celu(x, 0.7), F.softplus(x, 2), F.leaky_relu(x, 0.2), F.relu6(x),
        F.softsign(x), F.log_sigmoid(x), F.tanh(x), F.hardtanh(x), F.softmax(x, 1), F.log_softmax(x, -1),
    ],
    "arithmetic": lambda x: [
        x + 1, 2 - x, x * x, x / 3, x**2, -x, abs(x), x // 2, x % 3, paddle.square(x), paddle.exp(x),
        paddle.log(x.abs() + 1), paddle.log1p(x.abs()), paddle.sqrt(x.abs()), paddle.rsqrt(x.abs() + 1),
        paddle.sin(x), paddle.atan(x), paddle.erf(x), paddle.floor(x), paddle.ceil(x), paddle.round(x),
        paddle.trunc(x), paddle.sign(x), paddle.clip(x, -0.5, 0.5), paddle.maximum(x, -x), x.scale(2, 3),
    ],
    "comparison": lambda x: [
        v.astype("float32")
        for v in (x > 0, x >= 0, x < 0, x <= 0, x == x, x != 0, (x > 0) & (x < 1), ~(x > 0),
                  paddle.isnan(x), paddle.isfinite(x), (x > 0).any(1), (x > 9).all())
    ],
    "reductions": lambda x: [
        x.sum(), x.mean([2, 3]), x.max(1), x.min(1, keepdim=True), x.prod(3), x.var(1), x.std(),
        paddle.logsumexp(x, 1), x.norm(), x.norm(p=1, axis=1), x.argmax(1), x.argmin(-1), x.argmax(),
        paddle.cumsum(x, 1), paddle.topk(x, 3)[0], paddle.sort(x, -1), paddle.argsort(x, -1, True),
    ],
    "shapes": lambda x: [
        x.flatten(1), x.flatten(), x.transpose([0, 2, 3, 1]), x.reshape([0, -1, 4]), x.unsqueeze([0, 2]),
        x.unsqueeze(0).squeeze(0), paddle.tile(x, [1, 2, 1, 1]), x[:, 1:, ::2, -3:], x[:, 0], x.flip(2),
        paddle.concat([x, x], 1), paddle.stack([x, x], 1), *paddle.split(x, [1, 3], 1), *paddle.split(x, 2, 1), *paddle.split(x, [1, -1], 2),
        *paddle.unbind(x, 1)[:2], F.pad(x, [1, 2, 3, 4]), F.pad(x, [1, 2, 3, 4], "reflect"),
        paddle.gather(x, paddle.to_tensor([0, 2]), 1), paddle.tril(x), paddle.triu(x, 1),
        paddle.expand(x[:, :1], [-1, 4, -1, -1]), paddle.roll(x, [1, -3], [2, 3]), paddle.roll(x[0, 0], 5), paddle.shape(x)[0] * x, assigned(x),
        paddle.nonzero(x > 0), x[x > 0], paddle.take_along_axis(x, (x > 0).astype("int64"), 1),
        paddle.put_along_axis(x, (x[:, :1] > 0).astype("int64"), 7.0, 1),
        paddle.where(x > 0, x, -x), F.one_hot((x[:, 0, 0] > 0).astype("int64"), 3),
        F.pixel_shuffle(x, 2), F.channel_shuffle(x, 2), paddle.einsum("bchw,bdhw->bcd", x, x),
    ],
    "sums": lambda x: [
        F.softplus(x, threshold=0.5), F.softplus(x, 2, 0.2), F.softplus(x, threshold=-1),
        x.norm(p=float("inf"), axis=1), x.norm(p=-float("inf"), axis=[2, 3]), x.norm(p=3, axis=1),
        F.relu(x).norm(p=0, axis=-1), F.pairwise_distance(x, -x, p=float("inf")), paddle.flip(x, []),
        paddle.nansum(with_nan(x), 1), paddle.nanmean(with_nan(x), [1, 2]),
    ],
    "windows": lambda x: [
        F.max_pool2d(x, 3, 2, 1), F.avg_pool2d(x, 3, 2, 1), F.avg_pool2d(x, 3, 2, 1, exclusive=False),
        F.adaptive_avg_pool2d(x, 1), F.adaptive_avg_pool2d(x, [3, 5]), F.adaptive_max_pool2d(x, [5, 1]),
        F.interpolate(x, scale_factor=2, mode="bilinear"), F.interpolate(x, [7, 9], mode="nearest"),
        F.interpolate(x, [20, 9], mode="bilinear", align_corners=True), F.normalize(x),
        F.conv2d(x, paddle.ones([6, 2, 3, 3]), groups=2, padding="SAME"),
        F.conv2d_transpose(x, paddle.ones([4, 2, 3, 3]), stride=2, padding=1, output_padding=1),
        F.group_norm(x, 2), F.instance_norm(x), F.layer_norm(x, [10, 12]),
    ],
}  # fmt: skip

# What files of Paddle do not have.
SUMS_OF_WINDOWS = {
    "sums of windows": lambda x: [
        F.local_response_norm(x, 3), F.local_response_norm(x, 4, 0.5, 0.6, 2.0),
        F.local_response_norm(x, 5, data_format="NHWC"),
        F.lp_pool2d(x.abs(), 2, 3, 2), F.lp_pool2d(x.abs(), 3, [2, 3], padding=1), F.lp_pool1d(x[:, 0].abs(), 1, 2),
    ],
}  # fmt: skip


@pytest.mark.parametrize("name", [*OPS, *SUMS_OF_WINDOWS])
def test_ops(name):
    check(
        {**OPS, **SUMS_OF_WINDOWS}[name],
        [X],
        [floats(2, 4, 10, 12)],
        [floats(1, 4, 10, 12, seed=3)],
    )


def written_by_parts(x, labels):
    """Ops that ONNX has by other ops: of [n, 4, 10, 12] and [n]."""
    square, three = x[:, :, :4, :4], x[:, :3]
    rows = x[:, :, 0, 0]
    weight = paddle.to_tensor([1.0, 0.5, 2.0, 3.0])
    return [
        F.unfold(x, [2, 3], strides=[2, 1], paddings=[1, 0, 0, 2], dilations=[1, 2]),
        F.hardshrink(x, 0.3), F.softshrink(x, 0.4), F.tanhshrink(x), F.thresholded_relu(x, 0.2),
        F.thresholded_relu(x, 0.2, -3.0),
        paddle.diagonal(x, axis1=2, axis2=3), paddle.diagonal(x, 2, 2, 1), paddle.diagonal(x, -3, 1, 2),
        paddle.linalg.det(square), paddle.cross(three, three.flip(2), 1), paddle.cross(three, three * three),
        paddle.atan2(x, x.flip(1)), paddle.atan2(x * 0, x), paddle.atan2(x, x * 0),
        square + paddle.eye(4), paddle.eye(3, 5, dtype="int64") * labels.sum(),
        F.nll_loss(rows, labels), F.nll_loss(rows, labels, weight, ignore_index=2),
        F.nll_loss(rows, labels, weight, reduction="none"), F.smooth_l1_loss(rows, rows * 2, "none", 0.7),
        F.cross_entropy(rows, labels, reduction="none"),
        paddle.index_add(x, paddle.to_tensor([2, 0, 2]), 1, x[:, :3]),
        paddle.index_add(x, paddle.to_tensor([0, 0]), 0, x[:2]),
        paddle.equal_all(square, square).astype("int32"), paddle.equal_all(square, -square).astype("int32"),
    ]  # fmt: skip


def test_ops_written_by_parts():
    spec = [InputSpec([3, 4, 10, 12], "float32", "x"), InputSpec([3], "int64", "labels")]
    labels = np.int64([2, 0, 3])
    check(
        written_by_parts,
        spec,
        [floats(3, 4, 10, 12), labels],
        [floats(3, 4, 10, 12, seed=1), labels],
    )


def test_sizes_of_parts_may_be_open():
    def f(x, labels):
        rows = x[:, :, 0, 0]
        return [
            F.unfold(x, 3), paddle.diagonal(x, 1, 2, 3), F.nll_loss(rows, labels, ignore_index=1),
            paddle.index_add(x, labels, 0, x),
        ]  # fmt: skip

    specs = [InputSpec([None, 4, 6, 5], "float32", "x"), InputSpec([None], "int64", "labels")]
    check(
        f, specs, [floats(3, 4, 6, 5), np.int64([1, 0, 2])], [floats(2, 4, 6, 5), np.int64([0, 1])]
    )


def test_newest_version():
    check(OPS["reductions"], [X], [floats(2, 4, 10, 12)], opset=23)


def opset_of(data):
    """The version in opset_import, field 8: {domain: "", version}."""
    at = data.index(b"\x42\x04\x0a\x00\x10")
    return data[at + 5]


def test_a_lower_version_than_is_written_warns(recwarn):
    with pytest.warns(UserWarning, match="of opset 17, .* not of opset_version=9. Do this: pass"):
        data = paddle.onnx.export(nn.ReLU(), None, [X])
    assert opset_of(data) == 17
    recwarn.clear()
    assert opset_of(paddle.onnx.export(nn.ReLU(), None, [X], 17)) == 17
    assert opset_of(paddle.onnx.export(nn.ReLU(), None, [X], 18)) == 18
    assert not recwarn.list


def test_training_mode_is_put_back():
    net = nn.Sequential(nn.Linear(4, 4), nn.Dropout(0.5))
    data = paddle.onnx.export(net, None, [InputSpec([None, 4], "float32", "x")])
    assert net.training and net[1].training
    x = floats(3, 4)
    np.testing.assert_allclose(
        paddle.onnx.load(data)(x).numpy(), net[0](paddle.to_tensor(x)).numpy(), rtol=1e-5
    )


def test_files_and_names(tmp_path):
    net = nn.Linear(4, 2)
    path = paddle.onnx.export(
        net, str(tmp_path / "deep" / "net"), [InputSpec([None, 4], "float32", "in")]
    )
    assert path == str(tmp_path / "deep" / "net.onnx")
    model = paddle.onnx.load(path)
    assert [p.name for p in model.inputs] == ["in"] and model.inputs[0].shape == [-1, 4]
    assert [p.name for p in model.outputs] == ["output_0"]


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (
            lambda: paddle.onnx.export(nn.ReLU(), None),
            ValueError,
            "inputs of the layer are not known",
        ),
        (
            lambda: paddle.onnx.export(3, None, [X]),
            TypeError,
            "expected a Layer or a function, got int",
        ),
        (lambda: paddle.onnx.export(nn.ReLU(), 3, [X]), TypeError, "path: expected a str, got int"),
        (
            lambda: paddle.onnx.export(nn.ReLU(), None, [X], 0),
            ValueError,
            "opset_version: expected",
        ),
        (
            lambda: paddle.onnx.export(nn.ReLU(), None, [X], 99),
            NotImplementedError,
            "23 is the newest",
        ),
        (lambda: paddle.onnx.export(nn.ReLU(), None, [X], fast=True), ValueError, "fast"),
        (
            lambda: paddle.onnx.export(lambda x: paddle.lgamma(x) + paddle.i0(x), None, [X]),
            NotImplementedError,
            "ops without a counterpart in ONNX: i0, lgamma",
        ),
        (
            lambda: paddle.onnx.export(
                lambda x: F.avg_pool2d(x, 2, padding=[0, 1, 0, 0], exclusive=False), None, [X]
            ),
            NotImplementedError,
            "avg_pool2d: more padding behind than before with exclusive=False",
        ),
    ],
)
def test_errors(call, error, text):
    with pytest.raises(error, match=text):
        call()
