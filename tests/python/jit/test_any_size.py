"""Functions that compute with sizes: captured once for all sizes, and saved and loaded, they give at
two sizes what they give eagerly, and their gradients too."""

import types

import numpy as np
import pytest
from tests.python.jit.user_programs import PROGRAMS

import argosy as paddle
from argosy import distribution as D
from argosy import geometric as G
from argosy import incubate, nn, signal
from argosy import linalg as L
from argosy.incubate.nn import functional as IF
from argosy.static import InputSpec
from argosy.vision import ops as V
from argosy.vision._detection.suppression import multiclass_nms

F = nn.functional


def a(*shape):
    return np.random.RandomState(sum(shape) + len(shape)).randn(*shape).astype("float32")


def p(*shape):
    return np.abs(a(*shape)) % 0.8 + 0.1


def i(values, dtype="int64"):
    return np.asarray(values, dtype)


def boxes(*shape):
    low = p(*shape, 2) * 10
    return np.concatenate([low, low + p(*shape, 2)[..., ::-1] * 20 + 1], -1)


def leaves(nest):
    if isinstance(nest, (list, tuple)):
        return [leaf for part in nest for leaf in leaves(part)]
    return [nest]


def run(function, arrays, gradients):
    inputs = [paddle.to_tensor(x) for x in arrays]
    if gradients:
        for x in inputs:
            x.stop_gradient = "float" not in str(x.dtype)
    paddle.seed(3)
    outputs = leaves(function(*inputs))
    found = [y.numpy() for y in outputs]
    if gradients:
        parts = [(y * y).sum() for y in outputs if not y.stop_gradient]
        if parts:
            sum(parts).backward()
            found += [x.grad.numpy() for x in inputs if x.grad is not None]
    return found


def equal(got, want):
    assert [x.shape for x in got] == [x.shape for x in want]
    for x, y in zip(got, want):
        assert x.dtype == y.dtype
        np.testing.assert_allclose(x, y, rtol=1e-4, atol=1e-5)


def check(tmp_path, function, *sets, known=(), gradients=True, specs=None):
    """known: {operand: axes} whose sizes are given."""
    known = dict(known)
    specs = specs or [
        InputSpec(
            [n if d in known.get(k, ()) else None for d, n in enumerate(x.shape)], str(x.dtype)
        )
        for k, x in enumerate(sets[0])
    ]
    wants = [run(function, arrays, gradients) for arrays in sets]
    open_sizes = paddle.jit.to_static(function, input_spec=specs, full_graph=True)
    for arrays, want in zip(sets, wants):
        equal(run(open_sizes, arrays, gradients), want)
    paddle.jit.save(open_sizes, str(tmp_path / "function"), input_spec=specs)
    loaded = paddle.jit.load(str(tmp_path / "function"))
    for arrays in sets:
        equal(run(loaded, arrays, False), run(function, arrays, False))


EDGES = i([0, 1, 2, 0]), i([1, 2, 1, 0])
MORE = i([0, 1, 2, 3, 4, 0]), i([1, 4, 1, 0, 2, 3])
REDUCE = pytest.mark.parametrize("reduce_op", ["sum", "mean", "max", "min"])


@REDUCE
@pytest.mark.parametrize("out_size", [None, 6])
def test_messages(tmp_path, reduce_op, out_size):
    def function(x, y, source, target):
        plain = G.send_u_recv(x, source, target, reduce_op, out_size)
        return plain, G.send_ue_recv(x, y, source, target, "mul", reduce_op, out_size)

    check(tmp_path, function, [a(3, 4), a(4, 4), *EDGES], [a(5, 2), a(6, 2), *MORE])


def test_messages_into_a_size_that_a_tensor_gives(tmp_path):
    def function(x, source, target, size):
        return G.send_u_recv(x, source, target, "sum", size)

    check(tmp_path, function, [a(3, 4), *EDGES, i(0)], [a(5, 4), *MORE, i(7)])


@REDUCE
def test_segments(tmp_path, reduce_op):
    def function(x, ids):
        return getattr(G, f"segment_{reduce_op}")(x, ids)

    check(tmp_path, function, [a(4, 3), i([0, 0, 1, 2])], [a(6, 2), i([0, 1, 1, 1, 3, 3])])


def test_reindexed_graph(tmp_path):
    def function(x, neighbors, count):
        return G.reindex_graph(x, neighbors, count)

    check(
        tmp_path, function,
        [i([0, 1, 2]), i([8, 9, 0, 4, 7, 6, 7]), i([2, 3, 2], "int32")],
        [i([0, 5]), i([8, 9, 0]), i([2, 1], "int32")],
    )  # fmt: skip


SCALE = {"q": np.eye(8, dtype="float32")[:, ::-1].copy()}
# name: function, two sets of operands, axes of known size
TABLE = {
    "frame": (lambda x: signal.frame(x, 4, 2), [a(2, 12)], [a(3, 17)]),
    "frame, first axis": (lambda x: signal.frame(x, 4, 2, axis=0), [a(12)], [a(17)]),
    "overlap_add": (lambda x: signal.overlap_add(x, 2), [a(2, 4, 5)], [a(3, 6, 7)]),
    "stft": (lambda x: paddle.as_real(signal.stft(x, 8, 3)), [a(2, 32)], [a(3, 48)]),
    "stft, constant": (
        lambda x: paddle.as_real(signal.stft(x, 8, pad_mode="constant")), [a(2, 32)], [a(3, 48)],
    ),
    "istft": (
        lambda x: signal.istft(paddle.as_complex(x), 8, 4), [a(2, 5, 6, 2)], [a(3, 5, 9, 2)],
        {0: [3]},
    ),
    "istft, length": (
        lambda x: signal.istft(paddle.as_complex(x), 8, 4, length=22), [a(2, 5, 6, 2)],
        [a(3, 5, 9, 2)], {0: [3]},
    ),
    "fftshift": (paddle.fft.fftshift, [a(2, 8)], [a(3, 9)]),
    "ifftshift": (paddle.fft.ifftshift, [a(2, 8)], [a(3, 9)]),
    "nms of categories": (
        lambda b, s, c: V.nms(b, 0.3, s, c, [0, 1, 2], top_k=2),
        [boxes(6), p(6), i([0, 1, 2, 0, 1, 2])], [boxes(9), p(9), i([0, 0, 0, 1, 1, 1, 2, 2, 2])],
    ),
    "matrix_nms": (
        lambda b, s: V.matrix_nms(b, s, 0.1, 0.05, 10, 5, return_index=True),
        [boxes(2, 6), p(2, 3, 6)], [boxes(3, 9), p(3, 3, 9)],
    ),
    "multiclass_nms": (
        lambda b, s: multiclass_nms(b, s), [boxes(2, 6), p(2, 3, 6)], [boxes(3, 9), p(3, 4, 9)],
    ),
    "yolo_box": (
        lambda x, s: V.yolo_box(x, s, [10, 13, 16, 30], 3, 0.01, 32),
        [a(2, 16, 4, 4), i([[64, 64], [32, 64]], "int32")],
        [a(3, 16, 5, 6), i([[64, 64], [32, 64], [64, 32]], "int32")],
    ),
    "prior_box": (
        lambda x, image: V.prior_box(x, image, [20.0], [40.0], [1.0, 2.0], flip=True),
        [a(1, 3, 4, 4), a(1, 3, 32, 32)], [a(1, 3, 5, 6), a(1, 3, 40, 48)],
    ),
    "roi_align": (
        lambda x, b, n: V.roi_align(x, b, n, 3), [a(2, 4, 8, 8), boxes(4), i([2, 2], "int32")],
        [a(3, 5, 9, 8), boxes(5), i([2, 1, 2], "int32")],
    ),
    "deform_conv2d": (
        lambda x, o, m: V.deform_conv2d(x, o, paddle.ones([6, 4, 3, 3]), mask=m, padding=1),
        [a(2, 4, 6, 6), a(2, 18, 6, 6), p(2, 9, 6, 6)],
        [a(3, 4, 7, 5), a(3, 18, 7, 5), p(3, 9, 7, 5)],
    ),
    "distribute_fpn_proposals": (
        lambda b, n: V.distribute_fpn_proposals(b, 2, 5, 4, 224, rois_num=n),
        [boxes(4) * 10, i([2, 2], "int32")], [boxes(7) * 10, i([3, 0, 4], "int32")],
    ),
    "generate_proposals": (
        lambda s, d, size, anchors: V.generate_proposals(
            s, d, size, anchors, paddle.ones_like(anchors), 100, 5, 0.5, 1.0, return_rois_num=True
        ),
        [p(2, 3, 4, 4), a(2, 12, 4, 4) / 9, p(2, 2) + 60, boxes(4, 4, 3)],
        [p(3, 3, 5, 4), a(3, 12, 5, 4) / 9, p(3, 2) + 60, boxes(5, 4, 3)],
    ),
    "flash_attn_unpadded": (
        lambda q, k, v, s: F.flash_attention.flash_attn_unpadded(
            q, k, v, s, s, 8, 8, 0.5, causal=True
        )[0],
        [a(7, 2, 3), a(7, 2, 3) + 1, a(7, 2, 3) - 1, i([0, 3, 7], "int32")],
        [a(9, 2, 3), a(9, 2, 3) + 1, a(9, 2, 3) - 1, i([0, 2, 5, 9], "int32")],
    ),
    "flash_attn_varlen_qkvpacked": (
        lambda x, s: F.flash_attention.flash_attn_varlen_qkvpacked(x, s, s, 8, 8, 0.5)[0],
        [a(7, 3, 2, 3), i([0, 3, 7], "int32")], [a(9, 3, 2, 3), i([0, 2, 9], "int32")],
        {0: [1, 2]},
    ),
    "variable lengths": (
        lambda q, k, v, n: IF.variable_length_memory_efficient_attention(q, k, v, n, n, causal=True),
        [a(2, 2, 5, 4)] * 3 + [i([[3], [5]], "int32")], [a(1, 2, 7, 4)] * 3 + [i([[6]], "int32")],
    ),
    "fused_multi_head_attention": (
        lambda x: IF.fused_multi_head_attention(
            x, paddle.ones([3, 2, 4, 8]) / 8, paddle.to_tensor(SCALE["q"]), dropout_rate=0.0,
            attn_dropout_rate=0.0,
        ),
        [a(2, 5, 8)], [a(3, 7, 8)], {0: [2]},
    ),
    "rotary": (
        lambda q, k: IF.fused_rotary_position_embedding(q, k)[:2], [a(2, 5, 2, 4)] * 2,
        [a(3, 7, 2, 6)] * 2,
    ),
    "rotary, positions": (
        lambda q, at: IF.fused_rotary_position_embedding(q, position_ids=at)[0],
        [a(2, 3, 2, 4), i([[0, 4, 1], [2, 2, 0]])], [a(1, 2, 2, 4), i([[9, 3]])],
    ),
    "softmax under the diagonal": (
        incubate.softmax_mask_fuse_upper_triangle, [a(2, 1, 8, 8)], [a(3, 1, 9, 9)],
    ),
    "isin": (paddle.isin, [i([[1, 2, 3], [4, 5, 6]]), i([2, 5])], [i([[1], [4]]), i([4, 5, 1])]),
    "matrix_exp": (L.matrix_exp, [a(2, 3, 3)], [a(3, 4, 4)]),
    "svd_lowrank": (
        lambda x: L.svd_lowrank(x.detach(), q=2)[1], [a(5, 2) @ a(2, 6)], [a(7, 2) @ a(2, 4)],
    ),
    "householder_product": (
        L.householder_product, [a(4, 3), p(3)], [a(5, 3), p(3)], {1: [0]},
    ),
    "combinations": (lambda x: paddle.combinations(x, 2), [a(4)], [a(6)]),
    "combinations of three": (
        lambda x: paddle.combinations(x, 3, with_replacement=True), [a(4)], [a(5)],
    ),
    "viterbi_decode": (
        lambda x, t, n: paddle.text.viterbi_decode(x.detach(), t.detach(), n),
        [a(2, 4, 5), a(5, 5), i([4, 3])], [a(3, 6, 5), a(5, 5), i([4, 1, 6])],
    ),
    "an op without gradient": (
        lambda x: paddle.standard_gamma(x) * 0 + paddle.linspace(0, x.max(), 4).sum() + x,
        [p(3, 4)], [p(2, 3)],
    ),
    "fractional_max_pool2d": (
        lambda x: F.fractional_max_pool2d(x, 3, random_u=0.4, return_mask=True), [a(2, 3, 7, 8)],
        [a(1, 2, 9, 5)],
    ),
    "fractional_max_pool2d, one axis": (
        lambda x: F.fractional_max_pool2d(x, [None, 2], [1, 2], 0.4), [a(2, 3, 7, 8)], [a(1, 2, 9, 5)],
    ),
    "written elements": (
        lambda x: paddle.zeros_like(x).index_fill(paddle.to_tensor([0]), 0, 1.0) * x, [a(3, 4)],
        [a(2, 5)],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", TABLE)
def test_functions(tmp_path, name):
    function, first, second, *known = TABLE[name]
    check(tmp_path, function, first, second, known=known[0] if known else ())


def test_elements_written_into_zeros_carry_gradients():
    def function(x):
        y = paddle.zeros_like(x)
        for k in range(x.shape[0]):
            y[k] = x[k] * k
        return y

    equal(run(paddle.jit.to_static(function), [a(3, 2)], True), run(function, [a(3, 2)], True))


def simplex(*shape):
    x = p(*shape)
    return x / x.sum(-1, keepdims=True)


def spread(n):
    x = a(n, n)
    return np.stack([x @ x.T + np.eye(n, dtype="float32")] * 4)


# Name: distribution of parameters, their maker, a maker of values; None: no density.
DISTRIBUTIONS = {
    "Normal": (D.Normal, lambda *s: [a(*s), p(*s)], a),
    "LogNormal": (D.LogNormal, lambda *s: [a(*s), p(*s)], p),
    "Uniform": (lambda x, y: D.Uniform(x, x + y), lambda *s: [p(*s) - 1, p(*s) + 2], p),
    "Bernoulli": (D.Bernoulli, lambda *s: [p(*s)], lambda *s: (p(*s) > 0.5).astype("float32")),
    "ContinuousBernoulli": (D.ContinuousBernoulli, lambda *s: [p(*s)], p),
    "Beta": (D.Beta, lambda *s: [p(*s), p(*s) + 1], p),
    "Binomial": (
        D.Binomial, lambda *s: [np.full(s, 5, "float32"), p(*s)], lambda *s: np.floor(p(*s) * 5),
    ),
    "Categorical": (D.Categorical, lambda *s: [p(*s)], lambda *s: np.zeros(s[:-1], "int64")),
    "Cauchy": (D.Cauchy, lambda *s: [a(*s), p(*s)], a),
    "Chi2": (D.Chi2, lambda *s: [p(*s)], p),
    "Dirichlet": (D.Dirichlet, lambda *s: [p(*s) + 1], simplex),
    "Exponential": (D.Exponential, lambda *s: [p(*s)], p),
    "Gamma": (D.Gamma, lambda *s: [p(*s), p(*s) + 1], p),
    "Geometric": (D.Geometric, lambda *s: [p(*s)], lambda *s: np.floor(p(*s) * 4)),
    "Gumbel": (D.Gumbel, lambda *s: [a(*s), p(*s)], a),
    "Laplace": (D.Laplace, lambda *s: [a(*s), p(*s)], a),
    "MultivariateNormal": (D.MultivariateNormal, lambda *s: [a(*s), spread(s[-1])[: s[0]]], a),
    "Poisson": (D.Poisson, lambda *s: [p(*s) + 1], lambda *s: np.floor(p(*s) * 4)),
    "StudentT": (D.StudentT, lambda *s: [p(*s) + 3, a(*s), p(*s)], a),
    "Independent": (
        lambda x, y: D.Independent(D.Normal(x, y), 1), lambda *s: [a(*s), p(*s)], a,
    ),
    "Transformed": (
        lambda x, y: D.TransformedDistribution(
            D.Normal(x, y), [D.AffineTransform(x, y), D.SigmoidTransform()]
        ),
        lambda *s: [a(*s), p(*s)], p,
    ),
    "Transformed to a simplex": (
        lambda x, y: D.TransformedDistribution(
            D.Normal(x, y), [D.ReshapeTransform((2, 3), (6,)), D.ReshapeTransform((6,), (2, 3))]
        ),
        lambda *s: [a(s[0], 2, 3), p(s[0], 2, 3)], lambda *s: a(s[0], 2, 3),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", DISTRIBUTIONS)
def test_distributions(tmp_path, name):
    make, parameters, values = DISTRIBUTIONS[name]
    has_divergence = name.split()[0] not in (
        "Cauchy", "Gumbel", "StudentT", "Independent", "Transformed", "Chi2",
    )  # fmt: skip

    def function(value, *given):
        d = make(*given)
        found = [d.log_prob(value), d.prob(value)]
        for what in ("mean", "variance", "entropy"):
            try:
                part = getattr(d, what)
                found.append(part() if callable(part) else part)
            except (NotImplementedError, ValueError):
                pass  # it has none
        if hasattr(d, "cdf"):
            found.append(d.cdf(value))
        if has_divergence:
            found.append(d.kl_divergence(d))
        return [*found, d.sample([5]) * 0]

    known = {k: [1, 2] for k in range(3)} if "simplex" in name else {}
    sets = [[values(*s), *parameters(*s)] for s in ((4, 3), (3, 2))]
    check(tmp_path, function, *sets, known=known, gradients=False)


TRANSFORMS = {
    "Affine": (lambda: D.AffineTransform(paddle.ones([]), paddle.full([3], 2.0)), a, a),
    "Chain": (
        lambda: D.ChainTransform([D.PowerTransform(paddle.full([], 2.0)), D.ExpTransform()]), p,
        lambda *s: p(*s) + 1,
    ),
    "Independent": (lambda: D.IndependentTransform(D.SigmoidTransform(), 1), a, p),
    "Reshape": (lambda: D.ReshapeTransform((3,), (1, 3)), a, lambda *s: a(s[0], 1, 3)),
    "Stack": (lambda: D.StackTransform([D.ExpTransform()] * 3, 1), a, p),
    "StickBreaking": (D.StickBreakingTransform, a, lambda n, k: simplex(n, k + 1)),
    "Tanh": (D.TanhTransform, a, p),
}  # fmt: skip


@pytest.mark.parametrize("name", TRANSFORMS)
def test_transforms(tmp_path, name):
    make, values, results = TRANSFORMS[name]

    def function(x, y):
        transform = make()
        return (
            transform.forward(x),
            transform.inverse(y),
            transform.forward_log_det_jacobian(x),
            transform.inverse_log_det_jacobian(y),
        )

    known = {0: [1], 1: [1, 2]} if name == "Reshape" else {}
    check(tmp_path, function, *[[values(n, 3), results(n, 3)] for n in (4, 2)], known=known)


@pytest.mark.parametrize("method", ["onion", "cvine"])
def test_correlation_matrices(tmp_path, method):
    def function(x):
        return D.LKJCholesky(3, x, method).sample([2]) * 0

    check(tmp_path, function, [p(2)], [p(5)], gradients=False)


# --- layers ---


def layers_check(tmp_path, layer, *sets, specs):
    """Forward and gradients of training, forward of evaluation, saved and loaded."""
    layer.train()
    state = {k: v.numpy().copy() for k, v in layer.state_dict().items()}

    def trained(function, arrays):
        layer.set_state_dict({k: paddle.to_tensor(v) for k, v in state.items()})
        outputs = leaves(function(*map(paddle.to_tensor, arrays)))
        sum((y * y).mean() for y in outputs).backward()
        found = [y.numpy() for y in outputs]
        found += [w.grad.numpy() for w in layer.parameters() if not w.stop_gradient]
        found += [v.numpy() for v in layer.state_dict().values()]
        layer.clear_gradients()
        return found

    wants = [trained(layer, arrays) for arrays in sets]
    forward = types.MethodType(type(layer).forward, layer)
    captured = paddle.jit.to_static(forward, input_spec=specs, full_graph=True)
    for arrays, want in zip(sets, wants):
        for got, expected in zip(trained(captured, arrays), want, strict=True):
            np.testing.assert_allclose(got, expected, rtol=2e-4, atol=2e-5)
    layer.eval()
    paddle.jit.save(layer, str(tmp_path / "layer"), input_spec=specs)
    loaded = paddle.jit.load(str(tmp_path / "layer"))
    loaded.eval()
    for arrays in sets:
        equal(run(loaded, arrays, False), run(layer, arrays, False))


def block(channels, filters, size=3, stride=1, dilation=1):
    return nn.Sequential(
        nn.Conv2D(channels, filters, size, stride, size // 2 * dilation, dilation, bias_attr=False),
        nn.BatchNorm2D(filters),
        nn.ReLU(),
    )


class Pyramid(nn.Layer):
    """Pools of several sizes, brought back to the size of the features; two strides below."""

    def __init__(self, align_corners):
        super().__init__()
        self.first, self.second = block(3, 8, 3, 2), block(8, 8, 3, 2)
        self.pools = nn.LayerList(
            [nn.Sequential(nn.AdaptiveAvgPool2D(n), block(8, 4, 1)) for n in (1, 2, 3)]
        )
        self.dilated = nn.LayerList([block(8, 4, 3, 1, d) for d in (2, 4)])
        self.mixed, self.low = block(28, 8, 1), block(8, 4, 1)
        self.out, self.align_corners = nn.Conv2D(12, 5, 1), align_corners

    def forward(self, x):
        low = self.first(x)
        high = self.second(low)
        size = paddle.shape(high)[2:]
        parts = [
            F.interpolate(pool(high), size, mode="bilinear", align_corners=self.align_corners)
            for pool in self.pools
        ]
        high = self.mixed(paddle.concat([high, *parts, *[d(high) for d in self.dilated]], 1))
        high = F.interpolate(high, low.shape[2:], mode="bilinear", align_corners=self.align_corners)
        y = self.out(paddle.concat([high, self.low(low)], 1))
        return F.interpolate(y, x.shape[2:], mode="bilinear", align_corners=self.align_corners)


class Ladder(nn.Layer):
    """Down and up again, with what is lost at odd sizes padded; a neck over three levels."""

    def __init__(self):
        super().__init__()
        self.down = nn.LayerList([block(3, 4), block(4, 4), block(4, 4)])
        self.up = nn.LayerList([nn.Conv2DTranspose(4, 4, 2, 2) for _ in range(2)])
        self.join = nn.LayerList([block(8, 4), block(8, 4)])
        self.pool, self.head = nn.MaxPool2D(2, 2), nn.Conv2D(4, 6, 1)

    def forward(self, x):
        levels = []
        for k, down in enumerate(self.down):
            x = down(x if k == 0 else self.pool(x))
            levels.append(x)
        found = []
        for k in range(2):
            other = levels[1 - k]
            x = self.up[k](x)
            rows, columns = other.shape[2] - x.shape[2], other.shape[3] - x.shape[3]
            x = F.pad(x, [columns // 2, columns - columns // 2, rows // 2, rows - rows // 2])
            x = self.join[k](paddle.concat([other, x], 1))
            y = self.head(x)
            n, _, h, w = y.shape
            grid = paddle.stack(paddle.meshgrid(paddle.arange(h), paddle.arange(w)), -1)
            y = y.transpose([0, 2, 3, 1]).reshape([n, h * w, 6])
            found.append(y + grid.reshape([1, -1, 2]).astype("float32").tile([1, 1, 3]))
        return paddle.concat(found, 1)


class Tokens(nn.Layer):
    """Attention over the pixels of a feature map whose keys are reduced."""

    def __init__(self):
        super().__init__()
        self.embed, self.reduce = nn.Conv2D(3, 8, 7, 4, padding=3), nn.Conv2D(8, 8, 2, 2)
        self.norm, self.query = nn.LayerNorm(8), nn.Linear(8, 8)
        self.both, self.local = nn.Linear(8, 16), nn.Conv2D(8, 8, 3, 1, 1, groups=8)

    def forward(self, x):
        y = self.embed(x)
        n, c, h, w = y.shape
        tokens = self.norm(y.flatten(2).transpose([0, 2, 1]))
        query = self.query(tokens).reshape([n, h * w, 2, c // 2]).transpose([0, 2, 1, 3])
        reduced = self.reduce(tokens.transpose([0, 2, 1]).reshape([n, c, h, w])).flatten(2)
        both = self.both(reduced.transpose([0, 2, 1])).reshape([n, -1, 2, 2, c // 2])
        key, value = both.transpose([2, 0, 3, 1, 4])
        weights = F.softmax(paddle.matmul(query, key, transpose_y=True), -1)
        tokens = tokens + paddle.matmul(weights, value).transpose([0, 2, 1, 3]).flatten(2)
        y = self.local(tokens.transpose([0, 2, 1]).reshape([n, c, h, w]))
        return F.interpolate(y, size=x.shape[2:], mode="bilinear")


@pytest.mark.parametrize(
    "make", [lambda: Pyramid(False), lambda: Pyramid(True), Ladder, Tokens],
    ids=["pyramid", "aligned", "ladder", "tokens"],
)  # fmt: skip
def test_images(tmp_path, make):
    specs = [InputSpec([None, 3, None, None], "float32")]
    layers_check(tmp_path, make(), [a(2, 3, 32, 32)], [a(1, 3, 37, 45)], specs=specs)


class Sequences(nn.Layer):
    def __init__(self, layer):
        super().__init__()
        self.layer = layer

    def forward(self, x, lengths):
        plain, some = self.layer(x), self.layer(x, sequence_length=lengths)
        return leaves([plain, some])


class Twice(nn.RNNCellBase):
    """A cell of one's own, with two states."""

    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(9, 5)

    @property
    def state_shape(self):
        return ((5,), (5,))

    def forward(self, x, states=None):
        h, total = self.get_initial_states(x, self.state_shape) if states is None else states
        h = paddle.tanh(self.linear(paddle.concat([x, h], -1)))
        return (h, h.sum(-1, keepdim=True)), (h, total + h)


SEQUENCES = {
    "LSTM": lambda: nn.LSTM(4, 5, num_layers=2, direction="bidirect"),
    "GRU": lambda: nn.GRU(4, 5),
    "SimpleRNN": lambda: nn.SimpleRNN(4, 5, num_layers=2),
    "LSTMCell": lambda: nn.RNN(nn.LSTMCell(4, 5)),
    "GRUCell, reversed": lambda: nn.RNN(nn.GRUCell(4, 5), is_reverse=True),
    "two directions": lambda: nn.BiRNN(nn.GRUCell(4, 5), nn.GRUCell(4, 5)),
    "own cell": lambda: nn.RNN(Twice()),
}


@pytest.mark.parametrize("name", SEQUENCES)
def test_sequences_of_any_length(tmp_path, name):
    specs = [InputSpec([None, None, 4], "float32"), InputSpec([None], "int64")]
    layer = Sequences(SEQUENCES[name]())
    sets = [a(2, 5, 4), i([5, 3])], [a(3, 7, 4), i([2, 7, 4])]
    layers_check(tmp_path, layer, *sets, specs=specs)


def test_beam_search_of_any_batch(tmp_path):
    class Search(nn.Layer):
        def __init__(self):
            super().__init__()
            self.embedding, self.out = nn.Embedding(7, 4), nn.Linear(5, 7)
            self.decoder = nn.BeamSearchDecoder(nn.GRUCell(4, 5), 0, 1, 3, self.embedding, self.out)

        def forward(self, state):
            ids, _, lengths = nn.dynamic_decode(
                self.decoder, state, max_step_num=6, return_length=True
            )
            return ids, lengths

    layer = Search()
    layer.eval()
    specs = [InputSpec([None, 5], "float32")]
    paddle.jit.save(layer, str(tmp_path / "search"), input_spec=specs)
    loaded = paddle.jit.load(str(tmp_path / "search"))
    for batch in (2, 5):
        state = 3 * a(batch, 5)
        equal(run(loaded, [state], False), run(layer, [state], False))


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p[0].__name__)
def test_programs(tmp_path, program):
    function, sets, gradients = program
    specs = [
        InputSpec([None] * (x.ndim - 1) + [x.shape[-1] if x.ndim > 1 else None], str(x.dtype))
        if x.ndim
        else InputSpec([], str(x.dtype))
        for x in sets[0]
    ]
    check(tmp_path, function, *sets, gradients=gradients, specs=specs)
