"""Dropout, embedding and other functions of neural networks against NumPy."""

import numpy as np
import pytest
from tests.ops.harness import A, Case, array, table_tests, tensor

import argosy
from argosy import _core

ops = _core.ops
WIDE = ("float32", "float64")
IDS = np.array([[0, 3, 3], [2, 1, 0]])


def shuffled(x, upscale_factor, data_format="NCHW"):
    if data_format == "NHWC":
        return np.moveaxis(shuffled(np.moveaxis(x, -1, 1), upscale_factor), 1, -1)
    r, (n, c, h, w) = upscale_factor, x.shape
    y = x.reshape(n, c // r**2, r, r, h, w).transpose(0, 1, 4, 2, 5, 3)
    return y.reshape(n, c // r**2, h * r, w * r)


def unshuffled(x, downscale_factor, data_format="NCHW"):
    if data_format == "NHWC":
        return np.moveaxis(unshuffled(np.moveaxis(x, -1, 1), downscale_factor), 1, -1)
    r, (n, c, h, w) = downscale_factor, x.shape
    y = x.reshape(n, c, h // r, r, w // r, r).transpose(0, 1, 3, 5, 2, 4)
    return y.reshape(n, c * r**2, h // r, w // r)


def channel_shuffle(x, groups, data_format="NCHW"):
    axis = 1 if data_format == "NCHW" else 3
    c = x.shape[axis]
    return x.take(np.arange(c).reshape(groups, c // groups).T.reshape(-1), axis)


def temporal_shift(x, seg_num, shift_ratio=0.25, data_format="NCHW"):
    if data_format == "NHWC":
        return np.moveaxis(temporal_shift(np.moveaxis(x, -1, 1), seg_num, shift_ratio), 1, -1)
    v = x.reshape(-1, seg_num, *x.shape[1:])
    out, c = np.zeros_like(v), x.shape[1]
    a, b = int(c * shift_ratio), int(c * 2 * shift_ratio)
    out[:, 1:, :a] = v[:, :-1, :a]
    out[:, :-1, a:b] = v[:, 1:, a:b]
    out[:, :, b:] = v[:, :, b:]
    return out.reshape(x.shape)


def embedding(x, weight, padding_idx=-1, **_):
    out = weight[x]
    out[x == padding_idx] = 0
    return out


def cosine(x, y, axis=1, eps=1e-8):
    size = np.sqrt(np.maximum((x * x).sum(axis) * (y * y).sum(axis), eps * eps))
    return (x * y).sum(axis) / size


def gather_tree(ids, parents):
    out = np.empty_like(ids)
    length, batch, beams = ids.shape
    for b in range(batch):
        for k in range(beams):
            beam = k
            for t in range(length - 1, -1, -1):
                out[t, b, k] = ids[t, b, beam]
                beam = parents[t, b, beam]
    return out


TREE = [np.array([[[2, 2], [6, 1]], [[3, 9], [6, 1]], [[0, 1], [9, 0]]]),
        np.array([[[0, 0], [1, 1]], [[1, 0], [1, 0]], [[0, 0], [0, 1]]])]  # fmt: skip

# fmt: off
CASES = [
    Case("pixel_shuffle", [A(2, 8, 2, 3)], {"upscale_factor": 2}, ref=shuffled, dtypes=WIDE,
         errors=[([A(2, 6, 2, 3)], {"upscale_factor": 2}, ValueError, "must divide"), ([A(2, 8, 2)], {"upscale_factor": 2}, ValueError, "4D tensor")]),
    Case("pixel_shuffle", [A(2, 2, 3, 4)], {"upscale_factor": 2, "data_format": "NHWC"}, ref=shuffled, dtypes=WIDE),
    Case("pixel_unshuffle", [A(2, 2, 4, 6)], {"downscale_factor": 2}, ref=unshuffled, dtypes=WIDE,
         errors=[([A(2, 2, 4, 5)], {"downscale_factor": 2}, ValueError, "must divide")]),
    Case("pixel_unshuffle", [A(2, 4, 6, 2)], {"downscale_factor": 2, "data_format": "NHWC"}, ref=unshuffled, dtypes=WIDE),
    Case("channel_shuffle", [A(2, 6, 2, 3)], {"groups": 3}, ref=channel_shuffle, dtypes=WIDE, covers=["channel_unshuffle"],
         errors=[([A(2, 6, 2, 3)], {"groups": 4}, ValueError, "must divide"), ([A(2, 6, 2, 3)], {"groups": 3, "data_format": "CHW"}, ValueError, "data_format")]),
    Case("channel_shuffle", [A(2, 2, 3, 6)], {"groups": 2, "data_format": "NHWC"}, ref=channel_shuffle, dtypes=WIDE),
    Case("channel_shuffle", [A(1, 0, 2, 2)], {"groups": 2}, ref=channel_shuffle),
    Case("temporal_shift", [A(6, 5, 2, 2)], {"seg_num": 3}, ref=temporal_shift, dtypes=WIDE,
         errors=[([A(6, 5, 2, 2)], {"seg_num": 4}, ValueError, "seg_num must be")]),
    Case("temporal_shift", [A(2, 5, 2, 2)], {"seg_num": 1}, ref=temporal_shift, dtypes=WIDE),
    Case("temporal_shift", [A(8, 4, 3, 2)], {"seg_num": 4, "shift_ratio": 0.1}, ref=temporal_shift, dtypes=WIDE),
    Case("temporal_shift", [A(4, 2, 2, 5)], {"seg_num": 2, "shift_ratio": 0.4, "data_format": "NHWC"}, ref=temporal_shift, dtypes=WIDE),
    Case("embedding", [IDS, A(4, 3)], ref=embedding, dtypes=("float16", "float32", "float64"), covers=["embedding_grad"],
         errors=[([np.array([4]), A(4, 3)], {}, ValueError, "index 4 is out of range"), ([A(2), A(4, 3)], {}, NotImplementedError, "int32 or int64")]),
    Case("embedding", [IDS, A(4, 3)], ref=embedding, dtypes=("complex64", "complex128"), covers=["embedding_grad"], note="complex"),
    Case("embedding", [IDS, A(4, 3)], {"padding_idx": 3}, ref=embedding, dtypes=WIDE),
    Case("embedding", [np.zeros((0, 2), "int64"), A(4, 3)], ref=embedding, dtypes=WIDE, note="empty"),
    Case("one_hot", [IDS], {"num_classes": 5}, ref=lambda x, num_classes: np.eye(5)[x], out="float32", dtypes=("int64",),
         errors=[([np.array([5])], {"num_classes": 5}, ValueError, "out of range"), ([np.array([-1])], {"num_classes": 5}, ValueError, "out of range")]),
    Case("one_hot", [IDS.astype("int32")], ref=lambda x: np.eye(4)[x], out="float32", dtypes=("int32",), note="size from data"),
    Case("cosine_similarity", [A(3, 4), A(3, 4)], ref=cosine, dtypes=WIDE, tol=5.0),
    Case("cosine_similarity", [A(3, 4), A(1, 4)], {"axis": 0}, ref=lambda x, y, axis: cosine(x, np.broadcast_to(y, x.shape), axis), dtypes=WIDE, tol=5.0),
    Case("label_smooth", [A(3, 4), None], {"epsilon": 0.2}, ref=lambda x, _, epsilon: x * 0.8 + 0.05, dtypes=WIDE, tol=3.0,
         errors=[([A(3, 4), None], {"epsilon": 1.5}, ValueError, "between 0 and 1"), ([A(3, 4), A(3)], {}, ValueError, "prior_dist")]),
    Case("label_smooth", [A(3, 4), A(1, 4)], {"epsilon": 0.2}, ref=lambda x, p, epsilon: x * 0.8 + 0.2 * p, dtypes=WIDE, tol=3.0),
    Case("bilinear", [A(5, 2), A(5, 3), A(4, 2, 3), A(1, 4)], ref=lambda x, y, w, b: np.einsum("ni,oij,nj->no", x, w, y) + b, dtypes=WIDE, tol=10.0,
         errors=[([A(5, 2), A(5, 3), A(4, 3, 2)], {}, ValueError, "expected x1 [N, in1]")]),
    Case("gather_tree", TREE, ref=gather_tree, grad=False, dtypes=("int64",),
         errors=[([np.zeros((2, 2), "int64")] * 2, {}, ValueError, "3D tensor")]),
    Case("sequence_mask", [np.array([3, 0, 2])], {"maxlen": 4, "dtype": "float32"}, ref=lambda n, **_: (np.arange(4) < n[:, None]).astype(float), out="float32", dtypes=("int64",), grad=False),
    Case("sequence_mask", [np.array([3.0, 0.5, 2.9])], {"maxlen": 4}, ref=lambda n, **_: (np.arange(4) < n[:, None]).astype("int64"), dtypes=("float32", "float64"), grad=False, note="floats"),
    Case("sequence_mask", [np.array([[3], [2]])], {"dtype": "bool"}, ref=lambda n, **_: np.arange(3) < n[..., None], dtypes=("int64",), grad=False, note="size from data"),
    Case("dropout", [A(3, 4)], {"training": False}, ref=lambda x, **_: x, dtypes=WIDE,
         errors=[([A(3)], {"p": 1.5}, ValueError, "between 0 and 1"), ([A(3)], {"mode": "up"}, ValueError, "mode argument")]),
    Case("dropout", [A(3, 4)], {"p": 0.25, "training": False, "mode": "downscale_in_infer"}, ref=lambda x, **_: x * 0.75, dtypes=WIDE),
    Case("dropout", [A(3, 4)], {"p": 1.0}, ref=lambda x, p: 0 * x, dtypes=WIDE, note="all"),
    Case("alpha_dropout", [A(3, 4)], {"training": False}, ref=lambda x, **_: x, dtypes=WIDE),
    Case("dirac_fill", [], {"shape": [4, 2, 3], "groups": 2}, ref=lambda **_: np.array([[[0, 1, 0], [0, 0, 0]], [[0, 0, 0], [0, 1, 0]]] * 2, float), out="float32"),
]
# fmt: on

COVERS = {
    "dropout_mask": "test_dropout_along_axes",
    "dropout_apply": "test_dropout_along_axes",
    "dropout_bits": "test_dropout_bits",
    "dropout_apply_bits": "test_dropout_bits",
    "embedding_renorm_": "test_embedding_renorm",
    "class_center_sample": "test_class_center_sample",
    "orthogonalize": "test_orthogonalize",
    "bilinear_fill": "test_bilinear_fill",
    "clip_grad_norm_": "test_clip_grad_norm",
}

test_values, test_gradients, test_errors = table_tests(CASES)


@pytest.mark.parametrize("mode", ["upscale_in_train", "downscale_in_infer"])
def test_dropout_mask_and_gradient(mode):
    argosy.seed(7)
    x = tensor(np.ones((200, 50)))
    x.stop_gradient = False
    y = ops.dropout(x, 0.25, [], True, mode)
    kept = y.numpy() != 0
    assert abs(kept.mean() - 0.75) < 0.02
    value = 1 / 0.75 if mode == "upscale_in_train" else 1
    np.testing.assert_allclose(y.numpy()[kept], value)
    (grad,) = argosy.grad([y], [x])
    np.testing.assert_array_equal(grad.numpy(), y.numpy())


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
@pytest.mark.parametrize("shape", [(), (0,), (1,), (7,), (8,), (33,), (3, 211), (70000,)])
def test_dropout_bits(shape, dtype):
    """A bit for each element, drawn as the bytes of dropout_mask are."""
    x = argosy.cast(tensor(np.arange(np.prod(shape)).reshape(shape) % 31 + 1.0), dtype)
    argosy.seed(3)
    bits = ops.dropout_bits(x, 0.4)
    argosy.seed(3)
    kept = ops.dropout_mask(x, 0.4, []).numpy()
    np.testing.assert_array_equal(bits.numpy(), np.packbits(kept, bitorder="little"))
    y = argosy.cast(ops.dropout_apply_bits(x, bits, 1.5), "float64").numpy()
    wanted = argosy.cast(ops.dropout_apply(x, tensor(kept), 1.5), "float64").numpy()
    np.testing.assert_array_equal(y, wanted)


def test_dropout_of_a_strided_tensor():
    x = tensor(np.arange(12.0).reshape(3, 4) + 1)
    argosy.seed(1)
    y = ops.dropout(argosy.transpose(x, [1, 0]), 0.5, [], True, "upscale_in_train").numpy()
    argosy.seed(1)
    kept = ops.dropout(tensor(np.ones((4, 3))), 0.5, [], True, "upscale_in_train").numpy()
    np.testing.assert_array_equal(y, x.numpy().T * kept)


def test_bits_of_another_size_are_refused():
    with pytest.raises(ValueError, match="expected 2 bytes of bits"):
        ops.dropout_apply_bits(tensor(np.ones(9)), tensor(np.ones(3, "uint8")), 1.0)


def test_dropout_along_axes():
    x = tensor(np.ones((4, 6, 5)))
    y = ops.dropout(x, 0.5, [0, 1], True, "upscale_in_train").numpy()
    assert (y == y[..., :1]).all() and set(np.unique(y)) == {0, 2}


def test_dropout_in_place_keeps_the_mask_for_the_gradient():
    x = tensor(np.ones((20, 5)))
    x.stop_gradient = False
    y = ops.scale(x, 1.0)
    ops.dropout_(y, 0.5, [], True, "upscale_in_train")
    (grad,) = argosy.grad([y], [x])
    np.testing.assert_array_equal(grad.numpy(), y.numpy())


def test_alpha_dropout_keeps_mean_and_variance():
    argosy.seed(2)
    x = tensor(np.random.default_rng(0).normal(size=(300, 300)))
    y = ops.alpha_dropout(x, 0.3, True, False).numpy()
    assert abs(y.mean()) < 0.02 and abs(y.var() - 1) < 0.03
    channels = ops.alpha_dropout(tensor(np.ones((8, 9, 5))), 0.5, True, True).numpy()
    assert (channels == channels[..., :1]).all() and len(np.unique(channels)) == 2


@pytest.mark.parametrize("padding", [-1, 3])
@pytest.mark.parametrize("by_count", [False, True])
def test_sparse_gradient_of_embedding(padding, by_count):
    grads = []
    for sparse in (False, True):
        weight = tensor(np.arange(12.0).reshape(4, 3))
        weight.stop_gradient = False
        out = ops.embedding(tensor(IDS), weight, padding, sparse, by_count)
        seed = tensor(np.arange(18.0).reshape(2, 3, 3))
        (grad,) = argosy.grad([out], [weight], [seed])
        if not sparse:
            grads.append(grad.numpy())
            continue
        rows, values = (part.numpy() for part in grad._parts)
        dense = np.zeros((4, 3))
        np.add.at(dense, rows, values)
        grads.append(dense)
        assert list(grad.shape) == [4, 3] and padding not in rows
    np.testing.assert_allclose(grads[1], grads[0])
    assert padding < 0 or (grads[0][padding] == 0).all()


def test_embedding_renorm():
    weight = tensor(np.array([[3.0, 4.0], [0.3, 0.4], [6.0, 8.0]]))
    ops.embedding_renorm_(weight, tensor(np.array([0, 1, 0])), 1.0, 2.0)
    np.testing.assert_allclose(weight.numpy(), [[0.6, 0.8], [0.3, 0.4], [6, 8]], rtol=1e-6)


def test_class_center_sample():
    argosy.seed(0)
    label = np.array([11, 5, 1, 3, 12, 2, 15, 19, 18, 19])
    remapped, sampled = ops.class_center_sample(tensor(label), 20, 12)
    sampled = array(sampled)
    occurring = np.unique(label)
    np.testing.assert_array_equal(sampled[: len(occurring)], occurring)
    assert len(set(sampled)) == 12
    np.testing.assert_array_equal(sampled[array(remapped)], label)


def test_orthogonalize():
    x = np.random.default_rng(0).normal(size=(6, 4))
    q = ops.orthogonalize(tensor(x), 1.5).numpy()
    np.testing.assert_allclose(q.T @ q, 2.25 * np.eye(4), atol=1e-12)
    r = q.T @ x
    np.testing.assert_allclose(np.tril(r, -1), 0, atol=1e-12)
    assert (np.diag(r) > 0).all()


def test_bilinear_fill():
    weight = ops.bilinear_fill([1, 1, 2, 2], "float64").numpy()
    # f = 1 and c = 0; x is 0, 1, 0, 1 and y 0, 0.5, 1, 1.5.
    want = [(1 - abs(x)) * (1 - abs(y)) for x, y in [(0, 0), (1, 0.5), (0, 1), (1, 1.5)]]
    np.testing.assert_allclose(weight.reshape(-1), want)


@pytest.mark.parametrize("p", [0.0, 1.0, 2.0, np.inf])
def test_clip_grad_norm(p):
    arrays = [np.array([[3.0, -4.0], [0.0, 1.0]]), np.array([-12.0])]
    grads = [tensor(x) for x in arrays]
    norm = np.linalg.norm(np.concatenate([x.reshape(-1) for x in arrays]), p)
    assert array(ops.clip_grad_norm_(grads, 2.0, p)) == pytest.approx(norm)
    for x, g in zip(arrays, grads):
        np.testing.assert_allclose(g.numpy(), x * 2 / (norm + 1e-6))
        assert g.inplace_version == 1
    ops.clip_grad_norm_(grads, 1e9, p)
    if grads[0].place.is_cpu_place():  # elsewhere nobody waits to know that nothing was scaled
        assert grads[0].inplace_version == 1


def test_clip_grad_norm_of_a_gradient_that_is_no_number():
    grads = [tensor(np.array([np.nan, 1.0]))]
    for p in (2.0, np.inf):
        with pytest.raises(RuntimeError, match="non-finite"):
            ops.clip_grad_norm_(grads, 1.0, p, True)


def test_gradients_by_frequency_can_be_differentiated():
    ids = np.array([[0, 2, 2], [3, 2, 0]])
    rng = np.random.default_rng(0)
    weight, dy, probe = (tensor(rng.normal(size=s)) for s in ((4, 2), (2, 3, 2), (4, 2)))
    weight.stop_gradient = dy.stop_gradient = False
    out = _core.ops.embedding(tensor(ids), weight, 3, False, True)
    (first,) = argosy.grad([out], [weight], [dy], create_graph=True)
    (second,) = argosy.grad([first], [dy], [probe])
    counts = np.array([2, 1, 3, np.inf])  # no gradient for padding
    np.testing.assert_allclose(second.numpy(), (probe.numpy() / counts[:, None])[ids])
