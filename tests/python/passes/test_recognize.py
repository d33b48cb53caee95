"""recognize_activations, recognize_norms, fold_affine, fuse_attention: what was said in several
operations is found however it is written, and only then."""

import math

import numpy as np
import pytest
from tests.python.passes.helpers import Recorded, ops

import argosy
from argosy import nn
from argosy.nn import functional as F

X = np.linspace(-5, 5, 60).reshape(3, 4, 5)


def held(array, dtype="float64"):
    """A tensor whose value freeze_state makes a constant."""
    t = argosy.to_tensor(np.asarray(array, dtype))
    t.persistable = True
    return t


def number(value, rank=0):
    """A number, as files of other formats have it."""
    return held(np.full([1] * rank, value))


def check(function, names, arrays=(X,), shapes=(None,), tolerance=1e-5, wanted=None):
    """The operations after the passes; results stay, and are those of `wanted`."""
    shapes = list(shapes) + [None] * (len(arrays) - len(shapes))
    with Recorded() as r:
        values = [r.input(np.asarray(a), s) for a, s in zip(arrays, shapes)]
        r.fetch(function(*values))
    after = r.rewrite(["freeze_state", *names, "dead_code"], verify=True)
    got = after.run(r.feeds)[0].numpy()
    plain = r.run()[0].numpy()
    np.testing.assert_allclose(got, plain, tolerance, tolerance)
    if wanted is not None:
        np.testing.assert_allclose(got, wanted, tolerance, tolerance)
    return ops(after)


erf = np.vectorize(math.erf)
SQRT2, SLOPE = math.sqrt(2), math.sqrt(2 / math.pi)
FORMULAS = {
    "hardsigmoid": [
        lambda x: argosy.clip(x * 0.2 + 0.5, 0.0, 1.0),
        lambda x: argosy.clip(x + number(3), 0.0, 6.0) / number(6),
        lambda x: F.relu6(number(3.0) + x) * number(1 / 6, 3),
        lambda x: number(1.0) - argosy.clip(number(0.5) - x / number(4.0), 0.0, 1.0),
    ],
    "hardswish": [
        lambda x: x * argosy.clip(x + number(3), 0.0, 6.0) / number(6),
        lambda x: x * (argosy.clip(x + 3, 0.0, 6.0) / 6),
        lambda x: (x / 6) * F.relu6(x + 3.0),
        lambda x: F.hardsigmoid(x) * x,
        lambda x: F.hardsigmoid(x, slope=float(np.float32(1 / 6)), offset=0.5) * x,
        lambda x: number(np.float32(1 / 6)) * (F.hardtanh(x + 3, 0.0, 6.0) * x),
    ],
    "silu": [
        lambda x: x * F.sigmoid(x),
        lambda x: F.sigmoid(x * number(1.0)) * x,
    ],
    "gelu": [
        lambda x: 0.5 * x * (1 + argosy.erf(x / SQRT2)),
        lambda x: x * ((argosy.erf(x * number(1 / SQRT2)) + number(1.0)) * number(0.5)),
        lambda x: (x * number(0.5)) * (number(1.0) + argosy.erf(x / number(np.float32(SQRT2)))),
        lambda x: x * (argosy.erf(x / SQRT2) * 0.5 + 0.5),
        lambda x: 0.5 * x * (1 + argosy.tanh(SLOPE * (x + 0.044715 * argosy.pow(x, 3.0)))),
        lambda x: 0.5 * (x * (1 + argosy.tanh(SLOPE * (x + 0.044715 * x * x * x)))),
        lambda x: x * (number(0.5) * (number(1.0) + argosy.tanh(
            number(np.float32(SLOPE)) * (x + x * (x * (number(np.float32(0.044715)) * x)))))),
        lambda x: x * 0.5 * (argosy.tanh(x * SLOPE * (1 + 0.044715 * x * x)) + 1),
    ],
}  # fmt: skip
CASES = [(name, i) for name, list_ in FORMULAS.items() for i in range(len(list_))]


@pytest.mark.parametrize("name, i", CASES)
@pytest.mark.parametrize("shape", [None, [-1, 4, -1]])
def test_activations(name, i, shape):
    assert check(FORMULAS[name][i], ["recognize_activations"], shapes=[shape]) == [name]


OTHERS = [
    lambda x: x * argosy.clip(x + 3, 0.0, 6.0) / 5,
    lambda x: x * argosy.clip(x + 2, 0.0, 6.0) / 6,
    lambda x: argosy.abs(x) * argosy.clip(x + 3, 0.0, 6.0) / 6,
    lambda x: x * F.sigmoid(x * 1.702),
    lambda x: x * F.sigmoid(argosy.abs(x)),
    lambda x: x * F.sigmoid(x) * 2,
    lambda x: 0.5 * x * (1 + argosy.erf(x)),
    lambda x: 0.5 * x * (2 + argosy.erf(x / SQRT2)),
    lambda x: 0.5 * x * (1 + argosy.tanh(SLOPE * (x + 0.04 * argosy.pow(x, 3.0)))),
    lambda x: argosy.clip(x, 0.0, 1.0),
    lambda x: argosy.clip(x + 3, 0.0, 6.0) / 3,
    lambda x: x * argosy.clip(-x + 3, 0.0, 6.0) / 6,
]


@pytest.mark.parametrize("i", range(len(OTHERS)))
def test_other_formulas_stay(i):
    found = check(OTHERS[i], ["recognize_activations"])
    assert not {"gelu", "silu", "hardswish"} & set(found) or i == 5  # silu, then times 2


def test_a_part_that_is_read_otherwise_stays_right():
    def both(x):
        shifted = x + 3
        gate = argosy.clip(shifted, 0.0, 6.0)
        return x * gate / 6 + shifted * gate

    assert "hardswish" in check(both, ["recognize_activations"])


def test_activations_of_16_bits():
    x = argosy.to_tensor(X).astype("bfloat16")
    with Recorded() as r:
        y = r.input(x)
        r.fetch(y * F.sigmoid(y))
    after = r.rewrite(["recognize_activations", "dead_code"], verify=True)
    assert ops(after) == ["silu"]
    want = r.run()[0].astype("float32").numpy()
    got = after.run(r.feeds)[0].astype("float32").numpy()
    np.testing.assert_allclose(got, want, 2e-2, 2e-2)


# --- normalizations ---

W, B = np.linspace(0.5, 2, 5), np.linspace(-1, 1, 5)


def parts(x, axes=-1):
    mean = argosy.mean(x, axes, keepdim=True)
    d = x - mean
    return d, argosy.mean(d * d, axes, keepdim=True)


def by_division(x, w, b):
    d, variance = parts(x)
    return d / argosy.sqrt(variance + number(1e-5)) * w + b


def by_rsqrt(x, w, b):
    d, variance = parts(x)
    return b + d * (argosy.rsqrt(variance + 1e-5) * w)


def by_power(x, w, b):
    d = x - argosy.mean(x, [2], keepdim=True)
    variance = argosy.mean(argosy.pow(d, 2.0), [2], keepdim=True)
    return w * (d * argosy.pow(variance + 1e-5, -0.5)) + b


def by_variance(x, w, b):
    d = x - argosy.mean(x, -1, keepdim=True)
    variance = argosy.var(x, -1, unbiased=False, keepdim=True)
    return d * argosy.reciprocal(argosy.sqrt(variance + 1e-5)) * w + b


def by_sums(x, w, b):
    d = x - argosy.sum(x, -1, keepdim=True) * 0.2
    variance = argosy.sum(argosy.square(d), -1, keepdim=True) / 5
    return d / argosy.sqrt(variance + 1e-5) * w + b


@pytest.mark.parametrize("form", [by_division, by_rsqrt, by_power, by_variance, by_sums])
@pytest.mark.parametrize("rank", [1, 3])
def test_layer_norm(form, rank):
    w, b = (held(v.reshape([1] * (rank - 1) + [5])) for v in (W, B))
    wanted = (X - X.mean(-1, keepdims=True)) / np.sqrt(X.var(-1, keepdims=True) + 1e-5) * W + B
    names = ["recognize_norms"]
    assert check(lambda x: form(x, w, b), names, wanted=wanted) == ["layer_norm"]
    assert check(lambda x: form(x, w, b), names, shapes=[[-1, -1, 5]]) == ["layer_norm"]


def test_layer_norm_over_several_axes_and_of_unknown_size():
    def plain(x, axes):
        d, variance = parts(x, axes)
        return d / argosy.sqrt(variance + 1e-3)

    names = ["recognize_norms"]
    assert check(lambda x: plain(x, [1, 2]), names, shapes=[[-1, -1, -1]]) == ["layer_norm"]
    assert "layer_norm" not in check(lambda x: plain(x, [1]), names)  # not the last axis


def test_rms_norm():
    w = held(W)
    wanted = X / np.sqrt((X * X).mean(-1, keepdims=True) + 1e-6) * W
    names = ["recognize_norms"]

    def first(x):
        return w * (x * argosy.rsqrt(argosy.mean(argosy.pow(x, 2.0), -1, keepdim=True) + 1e-6))

    def second(x):
        return x / argosy.sqrt(argosy.mean(x * x, -1, keepdim=True) + 1e-6) * w

    for form in (first, second):
        assert check(form, names, wanted=wanted) == ["rms_norm"]


def test_what_is_no_normalization():
    w = held(W)

    def other_mean(x):
        d = x - argosy.mean(x + 1, -1, keepdim=True)
        return d / argosy.sqrt(argosy.mean(d * d, -1, keepdim=True) + 1e-5)

    def unbiased(x):
        d = x - argosy.mean(x, -1, keepdim=True)
        return d / argosy.sqrt(argosy.var(x, -1, unbiased=True, keepdim=True) + 1e-5)

    def twice(x):
        d, variance = parts(x)
        return 2 * d / argosy.sqrt(variance + 1e-5)

    def other_axis(x):
        d = x - argosy.mean(x, -1, keepdim=True)
        return d / argosy.sqrt(argosy.mean(d * d, [1, 2], keepdim=True) + 1e-5)

    def weight_that_is_fed(x, w):
        d, variance = parts(x)
        return d / argosy.sqrt(variance + 1e-5) * w

    names = ["recognize_norms"]
    for form in (unbiased, twice):
        assert not {"layer_norm", "rms_norm"} & set(check(form, names))
    # Without the mean that is taken off, what follows is the other normalization.
    assert check(other_mean, names) == ["add", "mean", "subtract", "rms_norm"]
    assert check(other_axis, names) == ["mean", "subtract", "rms_norm"]
    assert check(weight_that_is_fed, names, (X, W)) == ["layer_norm", "multiply"]
    # A weight for another axis.
    column = held(W[:4].reshape(4, 1))
    assert check(lambda x: weight_that_is_fed(x, column), names) == ["layer_norm", "multiply"]
    assert check(lambda x: weight_that_is_fed(x, w), names) == ["layer_norm"]


# --- factors and summands of channels ---


def images(*shape, seed=0):
    return np.random.default_rng(seed).uniform(-1, 1, shape).astype("float32")


def constant(array):
    return held(array, "float32")


def channels(rank):
    return constant(images(6, seed=3).reshape([6] + [1] * rank))


AFTER = {
    "number": lambda y: y * constant(1.5) + constant([[[-0.25]]]),
    "channels": lambda y: y * channels(2) + channels(2),
    "all": lambda y: (channels(2) - 1 + y) / constant(images(1, 6, 1, 1) + 2) - channels(2),
    "negative": lambda y: -y,
}


@pytest.mark.parametrize("after", AFTER)
@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("groups", [1, 2])
def test_affine_after_convolutions(after, bias, groups):
    net = nn.Conv2D(4, 6, 3, padding=1, groups=groups, bias_attr=None if bias else False)
    with argosy.no_grad():
        found = check(
            lambda x: AFTER[after](net(x)),
            ["constant_folding", "fold_affine"],
            (images(2, 4, 5, 7),),
        )
    assert found == ["conv2d"]


def test_affine_after_other_convolutions():
    for net, size in ((nn.Conv1D(4, 6, 3), (2, 4, 9)), (nn.Conv3D(4, 6, 2), (1, 4, 3, 4, 5))):
        for after in (channels(len(size) - 2), constant(0.5)):
            with argosy.no_grad():
                found = check(lambda x: net(x) * after + after,  # noqa: B023
                              ["constant_folding", "fold_affine"], (images(*size),))  # fmt: skip
            assert found == ["conv1d" if len(size) == 3 else "conv3d"]
    net = nn.Conv2D(4, 6, 3, data_format="NHWC")
    with argosy.no_grad():
        found = check(lambda x: net(x) * channels(0), ["constant_folding", "fold_affine"],
                      (images(2, 5, 5, 4),))  # fmt: skip
    assert found == ["conv2d"]


def test_affine_after_products():
    w = constant(images(4, 6))
    after = lambda y: (y + channels(0)) * constant(0.5) - channels(0)  # noqa: E731
    names = ["constant_folding", "fold_affine"]
    assert check(lambda x: after(argosy.matmul(x, w)), names, (images(3, 4),)) == ["linear"]
    net = nn.Linear(4, 6)
    with argosy.no_grad():
        assert check(lambda x: after(net(x)), names, (images(2, 3, 4),)) == ["linear"]


def test_what_is_not_folded():
    names = ["constant_folding", "fold_affine"]
    net = nn.Conv2D(4, 6, 3)
    with argosy.no_grad():
        x = images(2, 4, 5, 6)
        # Of rows of the image, not of channels; a feed; what somebody else reads.
        assert "multiply" in check(lambda x: net(x) * constant(images(3, 1)), names, (x,))
        assert "multiply" in check(lambda x, y: net(x) * y, names, (x, images(6, 1, 1)))

        def read_twice(x):
            y = net(x)
            return y * constant(2.0) + F.relu(y)

        assert len(check(read_twice, names, (x,))) > 2
    # A summand that makes the result larger.
    linear = nn.Linear(4, 6)
    with argosy.no_grad():
        wide = lambda x: linear(x) + constant(images(2, 1, 6))  # noqa: E731
        assert check(wide, names, (images(3, 4),)) == ["linear", "add"]


# --- attention ---


def heads(*shape, seed):
    return np.random.default_rng(seed).standard_normal(shape)


def attend(q, k, v, scale=1.0, mask=None, columns=True):
    scores = argosy.matmul(q, k if columns else argosy.transpose(k, [0, 1, 3, 2]))
    scores = scores * scale
    if mask is not None:
        scores = scores + mask
    return argosy.matmul(F.softmax(scores, -1), v)


Q, K, V = heads(2, 3, 5, 4, seed=0), heads(2, 3, 7, 4, seed=1), heads(2, 3, 7, 6, seed=2)
MASKS = [None, (7,), (5, 7), (2, 1, 1, 7), (1, 3, 5, 1), (2, 3, 5, 7)]
NAMES = ["fuse_attention", "algebraic", "dead_code"]


@pytest.mark.parametrize("mask", MASKS)
@pytest.mark.parametrize("scale", [1.0, 0.5])
def test_attention(mask, scale):
    arrays = [Q, K.transpose(0, 1, 3, 2), V] + ([heads(*mask, seed=3)] if mask else [])
    found = check(lambda q, k, v, *m: attend(q, k, v, scale, *m), NAMES, arrays)
    assert "tiled_attention" in found and not {"softmax", "matmul"} & set(found)


def test_attention_between_transposes():
    rows = [np.ascontiguousarray(a.transpose(0, 2, 1, 3)) for a in (Q, K, V)]

    def whole(q, k, v):
        q, v = (argosy.transpose(t, [0, 2, 1, 3]) for t in (q, v))
        k = argosy.transpose(k, [0, 2, 3, 1])
        return F.relu(argosy.transpose(attend(q, k, v, 0.5), [0, 2, 1, 3]))

    assert [o for o in check(whole, NAMES, rows) if o != "transpose"] == ["tiled_attention", "relu"]


def test_attention_without_heads():
    def whole(q, k, v):
        scores = argosy.matmul(q, k, transpose_y=True) / 2.0
        return argosy.matmul(F.softmax(scores), v)

    found = check(whole, NAMES, [Q[0], K[0], V[0]])
    assert "tiled_attention" in found


def test_what_is_no_attention():
    def other_axis(q, k, v):
        return argosy.matmul(F.softmax(argosy.matmul(q, k), 1), v)

    def scores_that_are_read(q, k, v):
        scores = argosy.matmul(q, k)
        return argosy.matmul(F.softmax(scores), v) + argosy.sum(scores)

    def larger_mask(q, k, v, mask):
        return attend(q, k, v, 1.0, mask)

    arrays = [Q, K.transpose(0, 1, 3, 2), V]
    for form in (other_axis, scores_that_are_read):
        assert "tiled_attention" not in check(form, NAMES, arrays)
    one = [a[:1] for a in arrays]
    assert "tiled_attention" not in check(larger_mask, NAMES, [*one, heads(4, 1, 5, 7, seed=3)])
    # A head of keys for several of queries.
    few = [arrays[0], arrays[1][:, :1], arrays[2][:, :1]]
    assert "tiled_attention" not in check(attend, NAMES, few)
    # Sizes that are not known yet.
    unknown = check(attend, NAMES, arrays, shapes=[[2, 3, -1, 4], [2, 3, 4, -1], [2, 3, -1, 6]])
    assert "tiled_attention" not in unknown
