"""Passes of the predictor: what they make of a net, and that its answers stay."""

import re

import numpy as np
import pytest

import argosy as paddle
from argosy import _core, nn, static
from argosy.inference import Config, create_predictor


def ops_of(text):
    """Names of the ops of a Program's or a plan's text, in order."""
    return re.findall(r"= (\w+)\(", text)


def load(net, folder, shape, optimize=True):
    net.eval()
    for name, buffer in net.named_buffers():
        if name.endswith("_mean"):
            buffer.set_value(np.random.uniform(-0.2, 0.2, buffer.shape).astype("float32"))
        elif name.endswith("_variance"):
            buffer.set_value(np.random.uniform(0.5, 1.5, buffer.shape).astype("float32"))
    prefix = str(folder / "net")
    paddle.jit.save(net, prefix, input_spec=[static.InputSpec(shape, "float32", "x")])
    config = Config(prefix)
    config.switch_ir_optim(optimize)
    return create_predictor(config)


def check(net, folder, shape, sizes, tolerance=1e-4):
    """The ops of the rewritten net, whose answers are those of the net itself."""
    predictor = load(net, folder, shape)
    for size in sizes:
        x = np.random.uniform(-1, 1, size).astype("float32")
        predictor.get_input_handle("x").copy_from_cpu(x)
        predictor.run()
        got = predictor.get_output_handle("output_0").copy_to_cpu()
        wanted = net(paddle.to_tensor(x)).numpy()
        scale = np.abs(wanted).max()
        np.testing.assert_allclose(got, wanted, tolerance, tolerance * scale)
    plan = _core.infer_plan(predictor._handle)
    return re.findall(r"(?:kernel|dispatch|view) (\w+):", plan)


class Residual(nn.Layer):
    def __init__(self, channels=32):
        super().__init__()
        self.a = nn.Conv2D(channels, channels, 3, padding=1, bias_attr=False)
        self.na = nn.BatchNorm2D(channels)
        self.b = nn.Conv2D(channels, channels, 1, bias_attr=False)
        self.nb = nn.BatchNorm2D(channels)

    def forward(self, x):
        y = nn.functional.relu(self.na(self.a(x)))
        return nn.functional.relu(self.nb(self.b(y)) + x)


class SharedWeight(nn.Layer):
    """Two convolutions with one weight, each with a normalization, and somebody else who reads it."""

    def __init__(self, channels=32, also_read=False):
        super().__init__()
        self.conv = nn.Conv2D(channels, channels, 3, padding=1, bias_attr=False)
        self.na, self.nb = nn.BatchNorm2D(channels), nn.BatchNorm2D(channels)
        self.also_read = also_read

    def forward(self, x):
        y = self.na(self.conv(x)) + self.nb(self.conv(nn.functional.relu(x)))
        return y * self.conv.weight.sum() if self.also_read else y


@pytest.mark.parametrize("also_read", [False, True])
def test_a_weight_that_others_read_is_not_scaled_for_them(tmp_path, also_read):
    ops = check(SharedWeight(also_read=also_read), tmp_path, [None, 32, 9, 9], [[2, 32, 9, 9]])
    assert "batch_norm" not in ops


def test_residual_block(tmp_path):
    net = nn.Sequential(nn.Conv2D(3, 64, 7, stride=2, padding=3), nn.ReLU(), nn.MaxPool2D(3, 2, 1),
                        Residual(64), Residual(64), nn.AdaptiveAvgPool2D(1), nn.Flatten(), nn.Linear(64, 80))  # fmt: skip
    ops = check(net, tmp_path, [None, 3, None, None], [(1, 3, 64, 64), (3, 3, 50, 34)])
    assert ops.count("packed_conv2d") == 3 and ops.count("packed_linear") == 3
    assert not {"conv2d", "batch_norm", "relu", "add", "linear"} & set(ops)
    assert ops.count("transpose") == 1  # of the input alone


@pytest.mark.parametrize("activation", [nn.ReLU6, nn.Hardswish, nn.Silu, nn.GELU, nn.LeakyReLU, nn.ELU, nn.Sigmoid, nn.Tanh, nn.Hardsigmoid])  # fmt: skip
def test_activations(tmp_path, activation):
    net = nn.Sequential(
        nn.Conv2D(8, 16, 3), activation(), nn.Flatten(), nn.Linear(16 * 36, 70), activation()
    )
    ops = check(net, tmp_path, [None, 8, 8, 8], [(2, 8, 8, 8)])
    assert [o for o in ops if o.startswith("packed")] == ["packed_conv2d", "packed_linear"]
    assert not [
        o
        for o in ops
        if o not in ("packed_conv2d", "packed_linear", "transpose", "flatten", "reshape", "assign")
    ]


class Branches(nn.Layer):
    """Concat, squeeze and excitation, an average pool, a grouped and a dilated convolution."""

    def __init__(self):
        super().__init__()
        self.a = nn.Conv2D(8, 16, 3, padding=1)
        self.b = nn.Conv2D(8, 16, 3, padding=2, dilation=2)
        self.depth = nn.Conv2D(32, 32, 3, padding=1, groups=32)
        self.squeeze, self.excite = nn.Conv2D(32, 8, 1), nn.Conv2D(8, 32, 1)

    def forward(self, x):
        y = paddle.concat([self.a(x), self.b(x)], axis=1)
        y = nn.functional.relu6(self.depth(y))
        s = nn.functional.adaptive_avg_pool2d(y, 1)
        y = y * nn.functional.hardsigmoid(self.excite(nn.functional.relu(self.squeeze(s))))
        y = nn.functional.avg_pool2d(y, 2)
        return y.mean([2, 3])


def test_branches_stay_channels_last(tmp_path):
    ops = check(Branches(), tmp_path, [None, 8, None, None], [(1, 8, 16, 16), (2, 8, 10, 12)])
    assert ops.count("transpose") == 1 and "conv2d" not in ops


def test_normalization_that_follows_no_convolution(tmp_path):
    net = nn.Sequential(nn.Conv2D(4, 16, 3), nn.ReLU(), nn.BatchNorm2D(16), nn.ReLU(), nn.Conv2D(16, 8, 1))  # fmt: skip
    ops = check(net, tmp_path, [None, 4, None, None], [(2, 4, 7, 9)])
    assert ops.count("batch_norm") == 1 and ops.count("transpose") == 2


class Slopes(nn.Layer):
    """PReLU and a choice of elements between convolutions and a pool."""

    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Conv2D(16, 32, 3), nn.Conv2D(32, 32, 3)
        self.slopes = nn.PReLU(32, init=0.3)

    def forward(self, x):
        y = self.slopes(self.a(x))
        y = nn.functional.max_pool2d(paddle.where(y > 0.5, y * 2, y), 2)
        return self.slopes(self.b(y))


def test_slopes_stay_channels_last(tmp_path):
    ops = check(Slopes(), tmp_path, [None, 16, 18, 18], [(2, 16, 18, 18), (1, 16, 18, 18)])
    assert ops.count("packed_conv2d") == 2 and ops.count("prelu") == 2
    first, last = ops.index("packed_conv2d"), ops.index("prelu", ops.index("prelu") + 1)
    assert "transpose" not in ops[first : last + 1]


class OneRow(nn.Layer):
    """A convolution of one dimension as Keras has it: of images with one row, and back."""

    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2D(32, 48, [1, 5], bias_attr=False)
        self.bias = self.create_parameter([1, 48, 1])
        self.bias.set_value(paddle.randn([1, 48, 1]))

    def forward(self, x):
        y = self.conv(x.transpose([0, 2, 1]).unsqueeze(2)).squeeze(2)
        y = nn.functional.relu(y + self.bias)
        y = (y * 2).unsqueeze(-2).squeeze(-2)
        return y.transpose([0, 2, 1]).reshape([-1, 48])


def test_images_of_one_row_stay_channels_last(tmp_path):
    ops = check(OneRow(), tmp_path, [None, 20, 32], [(2, 20, 32), (3, 20, 32)])
    assert ops[:5] == ["unsqueeze", "packed_conv2d", "squeeze", "add", "relu"]


def test_one_dimension_stays_channels_last(tmp_path):
    net = nn.Sequential(
        nn.Conv1D(4, 16, 5, padding=2, dilation=1), nn.BatchNorm1D(16), nn.Hardswish(),
        nn.Conv1D(16, 16, 3, groups=16, stride=2), nn.ReLU(), nn.Conv1D(16, 24, 1), nn.Sigmoid(),
        nn.Conv1D(24, 8, 3, padding="VALID", dilation=2),
    )  # fmt: skip
    ops = check(net, tmp_path, [None, 4, None], [(2, 4, 40), (1, 4, 23)])
    assert ops.count("packed_conv2d") == 3 and ops.count("packed_linear") == 1 and len(ops) == 6
    assert ops.count("transpose") == 2  # of what is fed and fetched


def test_what_is_fetched_has_its_form(tmp_path):
    ops = check(
        nn.Sequential(nn.Conv2D(4, 16, 3), nn.ReLU()), tmp_path, [None, 4, 9, 9], [(2, 4, 9, 9)]
    )
    assert ops.count("transpose") == 2


def test_transformer_layer(tmp_path):
    net = nn.TransformerEncoderLayer(64, 4, 256, activation="gelu")
    ops = check(net, tmp_path, [None, None, 64], [(1, 7, 64), (3, 16, 64)])
    assert ops.count("packed_linear") == 6 and not {"linear", "gelu", "add", "dropout"} & set(ops)


def test_weights_are_packed_once_for_all_shapes_and_clones(tmp_path):
    predictor = load(nn.Linear(256, 256), tmp_path, [None, 256])
    text = _core.program_print(_core.infer_program(predictor._handle))
    assert ops_of(text) == ["packed_linear"] and text.count("constant") == 2  # packed weights, bias


def test_one_weight_for_two_products(tmp_path):
    class Twice(nn.Layer):
        def __init__(self):
            super().__init__()
            self.w = self.create_parameter([64, 64])

        def forward(self, x):
            return paddle.matmul(paddle.matmul(x, self.w), self.w) + paddle.matmul(
                x, self.w, transpose_y=True
            )

    predictor = load(Twice(), tmp_path, [None, 64])
    text = _core.program_print(_core.infer_program(predictor._handle))
    assert text.count("constant") == 2  # as it is, and transposed
    check(Twice(), tmp_path, [None, 64], [(5, 64)])


def test_passes_can_be_left_out(tmp_path):
    net = nn.Sequential(nn.Conv2D(8, 16, 3), nn.BatchNorm2D(16))
    load(net, tmp_path, [None, 8, 8, 8])
    config = Config(str(tmp_path / "net"))
    config.delete_pass("channels_last")
    config.delete_pass("conv_batch_norm")
    text = _core.program_print(_core.infer_program(create_predictor(config)._handle))
    assert ops_of(text) == ["conv2d", "batch_norm"]


def test_what_runs_write_is_kept(tmp_path):
    class Counter(nn.Layer):
        def __init__(self):
            super().__init__()
            self.register_buffer("count", paddle.zeros([1]))

        def forward(self, x):
            self.count.add_(paddle.ones([1]))
            return x + self.count

    predictor = load(Counter(), tmp_path, [None, 1])
    predictor.get_input_handle("x").copy_from_cpu(np.zeros((1, 1), "float32"))
    clone = predictor.clone()
    clone.get_input_handle("x").copy_from_cpu(np.zeros((1, 1), "float32"))
    seen = []
    for p in (predictor, predictor, clone):
        p.run()
        seen.append(float(p.get_output_handle("output_0").copy_to_cpu()[0, 0]))
    assert seen == [1, 2, 3]
