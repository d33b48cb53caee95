"""Shapes, pieces and places of elements, against NumPy."""

import numpy as np
import pytest
from tests.ops.harness import ALL, COMPLEX, FLOAT, A, Case, table_tests

import argosy

FEW = ("bool", "int8", "int64", "float16", "bfloat16", "float32", "float64", "complex64")
X = [A(2, 3, 4)]


def same(x):
    return x


def sliced(x, axes, starts, ends, strides=None, decrease_axis=()):
    index = [slice(None)] * x.ndim
    for a, start, end, step in zip(axes, starts, ends, strides or [1] * len(axes)):
        index[a] = slice(start, end, step)
    x = x[tuple(index)]
    return x.squeeze(tuple(decrease_axis)) if decrease_axis else x


def set_sliced(x, value, axes, starts, ends, strides):
    x = x.copy()
    index = [slice(None)] * x.ndim
    for a, start, end, step in zip(axes, starts, ends, strides):
        index[a] = slice(start, end, step)
    x[tuple(index)] = value
    return x


def split_sizes(x, sizes, axis):
    return np.split(x, np.cumsum(sizes)[:-1], axis)


def diagonal_scatter(x, y, offset=0, axis1=0, axis2=1):
    x = np.moveaxis(x.copy(), (axis1, axis2), (0, 1))
    n = y.shape[-1]
    rows, columns = np.arange(n) + max(-offset, 0), np.arange(n) + max(offset, 0)
    x[rows, columns] = np.moveaxis(y, -1, 0)
    return np.moveaxis(x, (0, 1), (axis1, axis2))


def diag_embed(x, offset=0, dim1=-2, dim2=-1):
    n = x.shape[-1] + abs(offset)
    out = np.zeros((*x.shape[:-1], n, n), x.dtype)
    i = np.arange(x.shape[-1])
    out[..., i + max(-offset, 0), i + max(offset, 0)] = x
    return np.moveaxis(out, (-2, -1), (dim1, dim2))


def strided(x, shape, stride, offset):
    flat = x.reshape(-1)[offset:]
    return np.lib.stride_tricks.as_strided(flat, shape, [s * flat.itemsize for s in stride])


def tile(x, repeat_times):
    return np.tile(x, repeat_times)


def tile_folded(dy, x, repeat_times):
    r, s = list(repeat_times), x.shape
    split = [n for pair in zip(r, s) for n in pair]
    return dy.reshape(split).sum(tuple(range(0, 2 * len(s), 2)))


def repeats_folded(dy, repeats, x, axis):
    out = np.zeros(x.shape, dy.dtype)
    ends = np.cumsum(repeats)
    for i, (begin, end) in enumerate(zip(ends - repeats, ends)):
        out[i] = dy[begin:end].sum(0)
    return out


def slice_back(dy, x, **attrs):
    out = np.zeros(x.shape, dy.dtype)
    return set_sliced(out, dy, **attrs)


# fmt: off
CASES = [
    Case("assign", X, ref=same, dtypes=FEW, shapes=[[()], [(0, 3)]]),
    Case("reshape", X, {"shape": [4, -1]}, ref=lambda x, shape: x.reshape(shape), dtypes=ALL,
         errors=[(X, {"shape": [5, -1]}, ValueError, ""), (X, {"shape": [-1, -1]}, ValueError, ""),
                 (X, {"shape": [25]}, ValueError, "")]),
    Case("reshape", X, {"shape": [0, 12]}, ref=lambda x, shape: x.reshape(2, 12), dtypes=FLOAT),
    Case("transpose", X, {"perm": [2, 0, 1]}, ref=lambda x, perm: x.transpose(perm), dtypes=FEW,
         errors=[(X, {"perm": [0, 1]}, ValueError, ""), (X, {"perm": [0, 1, 1]}, ValueError, "")]),
    Case("squeeze", [A(1, 3, 1)], ref=np.squeeze, dtypes=FEW, known={0: (0, 2)}),
    Case("squeeze", [A(1, 1)], ref=np.squeeze, dtypes=FEW, known={0: (0, 1)}, note="all"),
    Case("squeeze", [A(3)], ref=np.squeeze, dtypes=FEW, known={0: [0]}, note="none"),
    Case("squeeze", [A()], ref=np.squeeze, dtypes=FEW, note="number"),
    Case("squeeze", [A(1, 3, 1)], {"axis": [0]}, ref=lambda x, axis: x.squeeze(0), dtypes=FEW, known={0: (0, 2)}),
    Case("unsqueeze", [A(2, 3)], {"axis": [0, -1]}, dtypes=FEW,
         ref=lambda x, axis: x[None, ..., None]),
    Case("flatten", X, {"start_axis": 1, "stop_axis": -1}, dtypes=FEW,
         ref=lambda x, start_axis, stop_axis: x.reshape(x.shape[0], -1)),
    Case("flatten", X, ref=np.ravel, dtypes=FEW, shapes=[[(0, 3)], [()]]),
    Case("expand", [A(3, 1)], {"shape": [2, -1, 4]}, dtypes=FEW,
         ref=lambda x, shape: np.broadcast_to(x, (2, 3, 4)),
         errors=[([A(3, 2)], {"shape": [3, 4]}, ValueError, "")]),
    Case("expand_as", [A(3, 1), A(2, 3, 4, grad=False)], dtypes=FEW,
         ref=lambda x, y: np.broadcast_to(x, y.shape)),
    Case("view_as", [A(3, 4), A(2, 6, grad=False)], ref=lambda x, y: x.reshape(y.shape), dtypes=FEW,
         strided=False),

    Case("slice", X, {"axes": [1, 2], "starts": [1, -3], "ends": [3, 100]}, ref=sliced, dtypes=FEW),
    Case("slice", X, {"axes": [2], "starts": [3], "ends": [-100], "strides": [-2]}, dtypes=FEW,
         ref=lambda x, **_: x[:, :, ::-2]),
    Case("slice", X, {"axes": [1, 2], "starts": [0, 3], "ends": [3, -100], "strides": [2**63 - 1, -(2**63)]},
         ref=lambda x, **_: x[:, :1, 3:], dtypes=FEW),
    Case("slice", X, {"axes": [0], "starts": [1], "ends": [2], "strides": [1], "decrease_axis": [0]},
         ref=sliced, dtypes=FEW),
    Case("slice_grad", [A(2, 2, 4), A(2, 3, 4, grad=False)],
         {"axes": [1], "starts": [1], "ends": [3], "strides": [1]}, ref=slice_back, dtypes=FLOAT),
    Case("set_slice", [A(3, 4), A(2, 4)],
         {"axes": [0], "starts": [0], "ends": [3], "strides": [2]}, ref=set_sliced, dtypes=FEW),
    Case("concat", [[A(2, 3), A(1, 3)]], {"axis": 0}, dtypes=FEW,
         ref=lambda x, axis: np.concatenate(x, axis), shapes=[[(0, 3), (2, 3)]],
         errors=[([[A(2, 3), A(2, 2)]], {"axis": 0}, ValueError, ""),
                 ([[A(), A()]], {"axis": 0}, ValueError, "use stack")]),
    Case("concat", [[A(2, 3), A(2, 1)]], {"axis": -1}, dtypes=FEW,
         ref=lambda x, axis: np.concatenate(x, axis)),
    Case("stack", [[A(2, 3), A(2, 3)]], {"axis": 1}, ref=lambda x, axis: np.stack(x, axis),
         dtypes=FEW, shapes=[[(2,), (2,)]],
         errors=[([[A(2, 3), A(2, 2)]], {"axis": 0}, ValueError, "")]),
    Case("split", [A(5, 2)], {"sizes": [2, 3], "axis": 0}, ref=split_sizes, dtypes=FEW,
         errors=[([A(5, 2)], {"sizes": [2, 2], "axis": 0}, ValueError, "")]),
    Case("split_like", [A(5, 2), [A(2, 2, grad=False), A(3, 2, grad=False)]], {"axis": 0},
         ref=lambda x, like, axis: np.split(x, [2], 0), dtypes=FLOAT),
    Case("unbind", X, {"axis": 1}, dtypes=FEW, known={0: (1,)},
         ref=lambda x, axis: [x[:, i] for i in range(x.shape[1])]),
    Case("unstack", X, {"axis": -1}, dtypes=FEW, known={0: (-1,)},
         ref=lambda x, axis: [x[..., i] for i in range(x.shape[-1])]),

    Case("flip", X, {"axis": []}, ref=lambda x, axis: x, dtypes=FEW),
    Case("flip", X, {"axis": [0, -1]}, ref=lambda x, axis: np.flip(x, axis), dtypes=FEW),
    Case("roll", X, {"shifts": [1, -5], "axis": [0, 2]}, dtypes=FEW,
         ref=lambda x, shifts, axis: np.roll(x, shifts, axis)),
    Case("roll", X, {"shifts": [5]}, ref=lambda x, shifts: np.roll(x, 5), dtypes=FEW,
         errors=[([A()], {"shifts": [1], "axis": [0]}, ValueError, "0 dimensions")]),
    Case("tile", [A(2, 3)], {"repeat_times": [2, 1, 2]}, ref=tile, dtypes=FEW,
         shapes=[[(3,)], [()], [(0, 2)]]),
    Case("tile_grad", [A(4, 9), A(2, 3, grad=False)], {"repeat_times": [2, 3]}, ref=tile_folded,
         dtypes=("float32", "float64"), tol=4,
         errors=[([A(4, 8), A(2, 3)], {"repeat_times": [2, 3]}, ValueError, "expected shape [4, 9], got [4, 8]")]),
    Case("diagonal", [A(3, 4, 2)], {"offset": 1}, ref=np.diagonal, dtypes=FEW),
    Case("diagonal", [A(3, 4, 2)], {"offset": -1, "axis1": 2, "axis2": 0}, ref=np.diagonal,
         dtypes=FEW),
    Case("diagonal_scatter", [A(3, 4), A(3)], {"offset": 1}, ref=diagonal_scatter, dtypes=FLOAT),
    Case("diag_embed", [A(2, 3)], {"offset": 1}, ref=diag_embed, dtypes=FEW),
    Case("diag_embed", [A(2, 3)], {"offset": -1, "dim1": 0, "dim2": 2}, ref=diag_embed, dtypes=FEW),
    Case("as_strided", [A(12)], {"shape": [2, 3], "stride": [4, 1], "offset": 2}, ref=strided,
         dtypes=("int64", "float32", "float64"), strided=False),
    Case("as_strided", [A(3, 4)], {"shape": [4, 3], "stride": [2, 1], "offset": 1}, ref=strided,
         dtypes=("float32", "float64"), strided=False, covers=["as_strided_add"], note="overlapping"),
    Case("repeat_interleave", [A(3, 2), np.array([1, 0, 2])], {"axis": 0}, dtypes=FEW,
         ref=lambda x, r, axis: np.repeat(x, r, axis)),
    Case("repeat_interleave_grad", [A(3, 2), np.array([1, 0, 2]), A(3, 2, grad=False)], {"axis": 0},
         ref=repeats_folded, dtypes=("float32", "float64")),
    Case("shape", X, ref=lambda x: np.array(x.shape, "int64"), dtypes=FEW, out="int64",
         shapes=[[()], [(0, 2)]]),
    Case("numel", X, ref=lambda x: np.array(x.size, "int64"), dtypes=FEW, out="int64",
         shapes=[[()], [(0, 2)]]),

    Case("zeros", [], {"shape": [2, 3]}, ref=np.zeros),
    Case("zeros", [], {"shape": [2, 0], "dtype": "int64"}, out="int64", ref=np.zeros),
    Case("ones", [], {"shape": []}, ref=np.ones),
    Case("zeros_like", [A(2, 3)], ref=np.zeros_like, dtypes=ALL, grad=False),
    Case("ones_like", [A(2, 3)], ref=np.ones_like, dtypes=ALL, grad=False),
    Case("arange", [], {"start": 1, "end": 8, "step": 3}, out="int64",
         ref=lambda start, end, step: np.arange(start, end, step)),
    # Numbers are converted to the dtype first, as in Paddle: from -3 to 3.
    Case("arange", [], {"start": -3.5, "end": 3.9, "dtype": "int32"}, out="int32",
         ref=lambda start, end, dtype: np.arange(-3, 3),
         errors=[([], {"start": 1, "end": 5, "step": 0.5, "dtype": "int32"}, ValueError, "step must not be 0")]),
    Case("arange", [], {"start": 0.5, "end": 2.0, "step": 0.5, "dtype": "float64"}, out="float64",
         ref=lambda start, end, step, dtype: np.arange(start, end, step)),
    Case("linspace", [], {"start": -1.0, "stop": 2.0, "num": 7, "dtype": "float32"},
         ref=lambda start, stop, num, dtype: np.linspace(start, stop, num)),
    Case("logspace", [], {"start": 0.0, "stop": 2.0, "num": 5, "base": 2.0, "dtype": "float64"},
         ref=lambda start, stop, num, base, dtype: np.logspace(start, stop, num, base=base),
         out="float64"),
    Case("eye", [], {"num_rows": 2, "num_columns": 3}, ref=lambda num_rows, num_columns: np.eye(2, 3)),
    Case("tril", [A(2, 3, 4)], {"diagonal": 1}, ref=lambda x, diagonal: np.tril(x, diagonal),
         dtypes=FEW),
    Case("triu", [A(4, 3)], {"diagonal": -1}, ref=lambda x, diagonal: np.triu(x, diagonal),
         dtypes=(*FLOAT, *COMPLEX), errors=[([A(3)], {}, ValueError, "at least 2 dimensions")]),
]
# fmt: on

test_values, test_gradients, test_errors = table_tests(CASES)

COVERS = {"empty": "test_empty", "empty_like": "test_empty", "view_dtype": "test_view_dtype"}


def test_empty():
    x = argosy.empty([2, 3], "int32")
    y = argosy.empty_like(x, "float64")
    assert x.shape == [2, 3] and str(x.dtype).endswith("int32")
    assert y.shape == [2, 3] and str(y.dtype).endswith("float64")


def test_view_dtype():
    x = np.arange(4, dtype="float32")
    got = argosy.to_tensor(x).view("int32")
    np.testing.assert_array_equal(got.numpy(), x.view("int32"))
    np.testing.assert_array_equal(argosy.to_tensor(x).view("uint8").numpy(), x.view("uint8"))


def test_views_share_memory():
    x = argosy.zeros([2, 3])
    x.reshape([3, 2]).add_(argosy.ones([3, 2]))
    assert x.numpy().tolist() == [[1, 1, 1], [1, 1, 1]]


def test_set_slice_in_place():
    x = argosy.zeros([3, 2])
    x[1:] = 5.0
    assert x.numpy().tolist() == [[0, 0], [5, 5], [5, 5]]
    with pytest.raises(ValueError):
        x[1:] = argosy.ones([3])


@pytest.mark.parametrize("dtype", ["uint8", "float32", "float64"])
@pytest.mark.parametrize("width", [1, 2, 5, 16, 33, 200])
def test_copies_of_short_rows(dtype, width):
    x = (np.arange(6 * 70 * 9 * width) % 251).astype(dtype).reshape(6, 70, 9, width)
    for perm in ([0, 2, 1, 3], [2, 1, 0, 3], [1, 0, 2, 3]):
        got = argosy.transpose(argosy.to_tensor(x), perm).contiguous().numpy()
        np.testing.assert_array_equal(got, x.transpose(perm))
    np.testing.assert_array_equal((argosy.to_tensor(x)[:, 1::2, ::-1]).numpy(), x[:, 1::2, ::-1])
