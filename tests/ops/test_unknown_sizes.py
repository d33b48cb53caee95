"""Public functions and layers that compute with sizes, recorded where no size (or, for layers, no
batch size) is known: the Program must give what the eager call gives."""

import numpy as np
import pytest
from tests.ops.harness import array, dtype_of, flat, tensor

import argosy
from argosy import nn
from argosy._recorder import Recorder

F = nn.functional
RNG = np.random.default_rng(3)
X = RNG.standard_normal((4, 6)).astype("float32")
SEQUENCES = RNG.standard_normal((2, 5, 8)).astype("float32")
IMAGES = RNG.standard_normal((2, 4, 6, 6)).astype("float32")
LABELS = np.array([1, 2, 0])


def check(function, x, known=()):
    """function(x) eagerly and recorded with only the sizes of the axes `known` known."""
    t = tensor(x)
    want = flat(function(t))
    with Recorder() as r:
        shape = [n if d in known else -1 for d, n in enumerate(x.shape)]
        outputs = flat(function(r.input(shape, str(x.dtype))))
    r.verify()
    got = r.run([t], outputs)
    for said, have, expected in zip(outputs, got, want):
        assert said.ndim == expected.ndim
        assert all(a in (-1, b) for a, b in zip(said.shape, expected.shape)), said.shape
        assert dtype_of(said) == dtype_of(have) == dtype_of(expected)
        np.testing.assert_allclose(array(have), array(expected), rtol=2e-5, atol=2e-5)


def size(x, axis):
    return argosy.shape(x)[axis]


def table(*rows):
    return pytest.mark.parametrize("function, x", [r[1:] for r in rows], ids=[r[0] for r in rows])


# Sizes of one tensor as numbers for another op.
@table(
    ("reshape", lambda x: argosy.reshape(x, [size(x, 1), size(x, 0)]), X),
    ("reshape by a tensor", lambda x: argosy.reshape(x + 1, argosy.shape(x)), X),
    ("expand", lambda x: argosy.expand(x[:1], [size(x, 0), -1]), X),
    ("tile", lambda x: argosy.tile(x, [size(x, 0), 1]), X),
    ("slice", lambda x: argosy.slice(x, [0], [0], [size(x, 0) - 1]), X),
    ("index", lambda x: x[1 : size(x, 0), size(x, 0) - 1], X),
    ("split", lambda x: argosy.split(x, [size(x, 0) - 2, size(x, 0)], axis=1), X),
    ("zeros", lambda x: argosy.zeros([size(x, 0), 3]), X),
    ("full by a tensor", lambda x: argosy.full(argosy.shape(x), 2.5), X),
    ("full of a size", lambda x: argosy.full([2], size(x, 0), "int64"), X),
    ("arange", lambda x: argosy.arange(size(x, 0)), X),
    ("arange of floats", lambda x: argosy.arange(0.5, size(x, 0), 2), X),
    ("linspace", lambda x: argosy.linspace(0, 1, size(x, 0)), X),
    ("pad", lambda x: F.pad(x, [0, size(x, 0)]), X),
    ("roll", lambda x: argosy.roll(x, size(x, 0) - 3, 0), X),
    ("one_hot", lambda x: F.one_hot(x, size(x, 0)), LABELS),
    ("sequence_mask", lambda x: F.sequence_mask(x, maxlen=size(x, 0) + 1), LABELS),
    ("interpolate", lambda x: F.interpolate(x, size=argosy.shape(x)[2:] * 2), IMAGES),
    ("adaptive pool", lambda x: F.adaptive_avg_pool2d(x, [size(x, 0), 2]), IMAGES),
    ("uniform", lambda x: argosy.uniform([size(x, 0), 3]) * 0, X),
    ("topk", lambda x: argosy.topk(x, size(x, 0) - 2), X),
    ("crop", lambda x: argosy.crop(x, [2, size(x, 0)], [1, 1]), X),
)
def test_sizes_as_arguments(function, x):
    check(function, x)


@table(
    ("meshgrid", lambda x: argosy.meshgrid(x[0], x[:, 0]), X),
    ("broadcast_tensors", lambda x: argosy.broadcast_tensors([x, x[:1]]), X),
    ("tensor_split", lambda x: argosy.tensor_split(x, 4, 1), X),
    ("tensor_split at", lambda x: argosy.tensor_split(x, [1, 3]), X),
    ("hsplit", lambda x: argosy.hsplit(x, 2), X),
    ("unstack", lambda x: argosy.unstack(x, 0, 4), X),
    ("unflatten", lambda x: argosy.unflatten(x, 1, [2, 2]), IMAGES),
    ("narrow", lambda x: argosy.narrow(x, 1, -3, 3), X),
    ("unfold", lambda x: x.unfold(1, 3, 2), X),
    ("crop to the end", lambda x: argosy.crop(x, [2, -1], [1, 1]), X),
    ("diag", lambda x: argosy.diag(x[0], 1, padding_value=2), X),
    ("fill_diagonal_", lambda x: (x * 1).fill_diagonal_(9.0), X),
    ("block_diag", lambda x: argosy.block_diag([x, x + 1]), X),
    ("cartesian_prod", lambda x: argosy.cartesian_prod([x[0], x[1]]), X),
    ("pdist", lambda x: argosy.pdist(x), X),
    ("repeat_interleave", lambda x: argosy.repeat_interleave(x, 3, -2), X),
    ("take wrap", lambda x: argosy.take(x, argosy.to_tensor([7, -26, 23]), mode="wrap"), X),
    ("take clip", lambda x: argosy.take(x, argosy.to_tensor([7, -26, 99]), mode="clip"), X),
    ("x[...]", lambda x: x[...], X),
    ("Dirichlet entropy", lambda x: argosy.distribution.Dirichlet(x * x + 1).entropy(), X),
    ("take_along_axis", lambda x: argosy.take_along_axis(x[:1], argosy.argsort(x, 1), 1), X),
    (
        "put_along_axis",
        lambda x: argosy.put_along_axis(x, argosy.argsort(x, 1)[:1, :2], x, 1),
        X,
    ),
    (
        "masked_scatter",
        lambda x: argosy.masked_scatter(x, x > 0, argosy.arange(24, dtype="float32")),
        X,
    ),
    ("masked_select", lambda x: argosy.masked_select(x, x[0] > 0), X),
    ("matrix_rank", lambda x: argosy.linalg.matrix_rank(x), X),
    ("matrix_power", lambda x: argosy.linalg.matrix_power(x[:, :4], 3), X),
    ("einsum", lambda x: argosy.einsum("ij,kl->ikjl", x, x), X),
    ("rand_like", lambda x: argosy.rand_like(x) * 0, X),
    ("normal of tensors", lambda x: argosy.normal(x, argosy.zeros_like(x)), X),
    ("layer_norm", lambda x: F.layer_norm(x, 6), X),
    ("max_unpool2d", lambda x: F.max_unpool2d(*F.max_pool2d(x, 2, return_mask=True), 2), IMAGES),
    (
        "interpolate by a factor",
        lambda x: F.interpolate(x, scale_factor=1.6, recompute_scale_factor=True),
        IMAGES,
    ),
)
def test_functions_that_compute_with_sizes(function, x):
    check(function, x)


@table(
    ("LSTM", lambda: nn.LSTM(8, 3, 2, direction="bidirect"), SEQUENCES),
    ("LSTM proj", lambda: nn.LSTM(8, 3, proj_size=2), SEQUENCES),
    ("GRU", lambda: nn.GRU(8, 3, time_major=True), SEQUENCES),
    ("RNN", lambda: nn.RNN(nn.SimpleRNNCell(8, 3)), SEQUENCES),
    ("LSTMCell", lambda: nn.LSTMCell(6, 3), X),
    ("MultiHeadAttention", lambda: nn.MultiHeadAttention(8, 2), SEQUENCES),
    ("encoder layer", lambda: nn.TransformerEncoderLayer(8, 2, 16, 0.0), SEQUENCES),
    ("InstanceNorm2D", lambda: nn.InstanceNorm2D(4), IMAGES),
    ("GroupNorm", lambda: nn.GroupNorm(2, 4), IMAGES),
    ("Flatten", lambda: nn.Flatten(), IMAGES),
)
def test_layers_of_any_batch(function, x):
    layer = function()
    layer.eval()
    batch = 1 if getattr(layer, "time_major", False) else 0
    check(layer, x, known=[d for d in range(x.ndim) if d != batch])


def test_what_a_program_cannot_know_is_an_error():
    with Recorder() as r:
        x = r.input([-1, 3], "float32")
        with pytest.raises(ValueError, match="needs to know the size"):
            argosy.unbind(x, 0)
        with pytest.raises(TypeError, match="num_or_sections: expected an int or a list"):
            argosy.split(x, size(x, 0))
        with pytest.raises(NotImplementedError, match="how many sizes"):
            argosy.full(argosy.shape(x)[: size(x, 0)], 0.0)


def test_a_number_of_repeats_gives_known_sizes():
    with Recorder() as r:
        x = r.input([4, 6], "float32")
        assert argosy.repeat_interleave(x, 2, 1).shape == [4, 12]
        assert argosy.repeat_interleave(x, 2).shape == [48]
