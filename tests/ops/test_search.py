"""Order, picking and placing, against NumPy."""

import numpy as np
import pytest
from tests.ops.harness import ALL, COMPLEX, FLOAT, HALF, INT, A, Case, table_tests

import argosy

REAL = (*INT, *FLOAT)
FEW = ("bool", "int8", "int64", "float16", "bfloat16", "float32", "float64", "complex64")
SOME = ("int32", "int64", "float32", "float64")
I64 = "int64"


def index(*values):
    return np.array(values, I64)


def put_ref(x, value, indices, axes, accumulate=False):
    x = x.copy()
    where = tuple(indices[axes.index(d)] if d in axes else slice(None) for d in range(x.ndim))
    if accumulate:
        np.add.at(x, where, value)
    else:
        x[where] = value
    return x


def scatter_ref(x, i, updates, overwrite=True):
    x = x.copy()
    if overwrite:
        x[i] = updates
    else:
        x[i] = 0
        np.add.at(x, i, updates)
    return x


def nd_add_ref(x, i, updates):
    x = x.copy()
    np.add.at(x, tuple(np.moveaxis(i, -1, 0)), updates)
    return x


def put_along_ref(x, i, values, axis, reduce="assign", include_self=True):
    x, values = x.copy(), np.broadcast_to(values, i.shape)
    seen = {}
    for at in np.ndindex(*i.shape):
        to = list(at)
        to[axis] = i[at]
        to = tuple(to)
        seen.setdefault(to, [x[to]] if include_self else []).append(values[at])
    for to, found in seen.items():
        x[to] = {"assign": lambda v: v[-1], "add": sum, "mul": np.prod, "amax": max, "amin": min,
                 "mean": lambda v: np.mean(v)}[reduce](found)  # fmt: skip
    return x


def add_slices_ref(x, i, value, axis):
    out = np.moveaxis(x.copy(), axis, 0)
    region = np.moveaxis(np.empty_like(x), axis, 0)[: len(i)]
    wide = np.broadcast_to(value, np.moveaxis(region, 0, axis).shape)
    np.add.at(out, i, np.moveaxis(wide, axis, 0))
    return np.moveaxis(out, 0, axis)


def spread_ref(mask, values):
    out = np.zeros((*mask.shape, *values.shape[1:]), values.dtype)
    out[mask] = values
    return out


def sort_ref(x, axis=-1, descending=False):
    order = np.argsort(-x if descending else x, axis, kind="stable")
    return np.take_along_axis(x, order, axis), order


def top_ref(x, k, axis, largest):
    order = np.argsort(-x if largest else x, axis, kind="stable")
    order = np.take(order, np.arange(k), axis)
    return np.take_along_axis(x, order, axis), order


def kth_ref(x, k, axis=-1, keepdim=False):
    axis = -1 if axis is None else axis
    order = np.take(np.argsort(x, axis, kind="stable"), [k - 1], axis)
    value = np.take_along_axis(x, order, axis)
    return (value, order) if keepdim else (value.squeeze(axis), order.squeeze(axis))


def mode_ref(x, axis=-1):
    def one(v):
        values, counts = np.unique(v, return_counts=True)
        return values[np.argmax(counts)]

    return np.apply_along_axis(one, axis, x)


def distinct(*shape):
    """Numbers without equal ones, so that orders are unique and differences small against gaps."""
    rng = np.random.default_rng(0)
    return rng.permutation(np.arange(float(np.prod(shape)))).reshape(shape) / 4


def unique_ref(x):
    values, first, inverse, counts = np.unique(
        x, return_index=True, return_inverse=True, return_counts=True
    )
    return values, first, inverse.reshape(-1), counts


MASK = A(2, 3, dtype="bool")
ROWS = [A(4, 3), index(2, 0, 2)]

# fmt: off
CASES = [
    Case("isin", [A(3, 4, low=-9, high=9), A(2, 5, low=-9, high=9)], ref=np.isin,
         dtypes=("bool", *INT, *HALF), out="bool", grad=False),
    Case("isin", [distinct(3, 4), distinct(12)[::3]], {"invert": True, "assume_unique": True}, out="bool", grad=False,
         ref=lambda x, y, invert, assume_unique: ~np.isin(x, y), dtypes=("float32",)),
    Case("isin", [np.array([1, 2, np.nan]), np.array([np.nan, 2])], ref=np.isin, out="bool", grad=False, dtypes=("float64",)),
    Case("isin", [np.array([1 + 2j, 3j]), np.array([3j, 1.0])], ref=np.isin, out="bool", grad=False, dtypes=("complex128",)),
    Case("isin", [A(0, 3), A(4)], ref=np.isin, out="bool", grad=False, dtypes=("float32",), note="nothing asked"),
    Case("isin", [A(2, 3), A(0)], ref=np.isin, out="bool", grad=False, dtypes=("float32",), note="among nothing"),
    Case("gather", ROWS, {"axis": 0}, ref=lambda x, i, axis: x[i], dtypes=FEW, strided=False,
         errors=[([A(2, 3), index(5)], {"axis": 0}, IndexError, "out of range"),
                 ([A(2, 3), index(0)], {"axis": 5}, IndexError, "axis is out of range"),
                 ([A(2, 3), np.zeros((2, 2), I64)], {}, ValueError, "index must have 1 dimension"),
                 ([A(2, 3), np.zeros((2, 1, 1), I64)], {}, ValueError, "1 dimension")]),
    Case("gather", [A(4, 3), np.array([[1], [3], [3]])], ref=lambda x, i: x[i[:, 0]], dtypes=FEW,
         note="column"),
    Case("gather", [A(4, 3), np.array(2)], ref=lambda x, i: x[i], dtypes=FEW, note="number"),
    Case("index_select", [A(2, 4), np.array([[3], [1]])], {"axis": 1}, dtypes=FEW, note="column",
         ref=lambda x, i, axis: x[:, i[:, 0]]),
    Case("gather", [A(2, 3), index(2, 0)], {"axis": 1}, ref=lambda x, i, axis: x[:, i], dtypes=FEW),
    Case("index_select", [A(2, 4), index(3, 3, -1)], {"axis": 1}, dtypes=FEW,
         ref=lambda x, i, axis: x[:, i],
         errors=[([A(2, 3), np.zeros((2, 2), I64)], {}, ValueError, "index must have 1 dimension")]),
    Case("gather_nd", [A(3, 4, 2), np.array([[0, 1], [2, 3]])], dtypes=FEW, known={1: (-1,)},
         ref=lambda x, i: x[tuple(i.T)],
         errors=[([A(2), np.zeros((1, 2), I64)], {}, ValueError, "at most 1")]),
    Case("gather_nd", [A(3, 4), np.array([[[0], [2]]])], dtypes=FLOAT, known={1: (-1,)},
         ref=lambda x, i: x[i[..., 0]]),
    Case("gather_nd", [A(3, 4), np.zeros((2, 0), I64)], dtypes=("float64",), known={1: (-1,)},
         ref=lambda x, i: np.stack([x, x]), note="whole"),
    Case("index_get", [A(3, 4, 2), [index(0, 2), np.array([[1], [3]])]], {"axes": [0, 1]},
         dtypes=FEW, ref=lambda x, i, axes: x[i[0], i[1]]),
    Case("index_get", [A(3, 4, 2), [index(-1, 0, 0)]], {"axes": [1]}, dtypes=FEW,
         ref=lambda x, i, axes: np.moveaxis(x[:, i[0]], 1, 0)),
    Case("index_put", [A(3, 4), A(4), [index(0, 2)]], {"axes": [0]}, ref=put_ref, dtypes=FEW,
         errors=[([A(3, 4), A(3), [index(0, 2)]], {"axes": [0]}, ValueError, ""),
                 ([A(3, 4), A(4), [index(3)]], {"axes": [0]}, IndexError, "out of range")]),
    Case("index_put", [A(3, 4), A(3, 4), [index(0, 2, 0)]], {"axes": [0], "accumulate": True},
         ref=put_ref, dtypes=SOME, inplace=False),
    Case("index_sample", [A(2, 4), np.array([[0, 3], [1, 1]])], dtypes=FEW,
         ref=lambda x, i: np.take_along_axis(x, i, 1)),
    Case("scatter_nd_add", [A(3, 4), np.array([[0, 1], [2, 3], [0, 1]]), A(3)], ref=nd_add_ref,
         dtypes=SOME, known={1: (-1,)}),
    Case("scatter", [A(4, 3), index(2, 0), A(2, 3)], ref=scatter_ref, dtypes=SOME,
         errors=[([A(4, 3), np.zeros((2, 2), I64), A(2, 3)], {}, ValueError, "1 dimension")]),
    Case("scatter", [A(4, 3), index(2, 0, 2), A(3, 3)], {"overwrite": False}, ref=scatter_ref,
         dtypes=SOME, inplace=False),
    Case("take_along", [A(3, 4), np.array([[0, 2], [3, 3], [1, 0]])], {"axis": 1}, dtypes=FEW,
         ref=np.take_along_axis,
         errors=[([A(3, 4), np.full((3, 1), 4)], {"axis": 1}, IndexError, "out of range"),
                 ([A(3, 4), index(0)], {"axis": 1}, ValueError, "number of dimensions")]),
    *[Case("put_along", [A(3, 4), np.array([[0, 2, 0], [3, 3, 3], [1, 0, 1]]), A(3, 3)],
           {"axis": 1, "reduce": reduce, "include_self": include}, ref=put_along_ref, tol=8,
           dtypes=("float32", "float64"), covers=["last_along"] if reduce == "assign" else [])
      for reduce in ("add", "assign") for include in (True, False)],
    *[Case("combine_along", [A(3, 4), np.array([[0, 2, 0], [3, 3, 3], [1, 0, 1]]), A(3, 3)],
           {"axis": 1, "reduce": reduce, "include_self": include}, ref=put_along_ref, tol=8,
           dtypes=("float32", "float64"))
      for reduce in ("mul", "amax", "amin", "mean") for include in (True, False)],
    Case("combine_along", [np.array([[0.0, 2.0, -3.0], [1.5, 0.0, 0.0]]), np.array([[0, 1, 1], [1, 1, 2]]),
                           np.array([[3.0, 0.0, 2.0], [0.0, 2.0, 4.0]])], {"axis": 1, "reduce": "mul"},
         ref=put_along_ref, dtypes=("float64",), second=False, note="zeros"),
    Case("combine_along", [A(4, 3), np.array([[2, 0, 1]]), A()], {"axis": 0, "reduce": "mean"},
         ref=put_along_ref, dtypes=("float32", "float64"), note="one value"),
    Case("put_along", [A(3, 4), np.array([[0, 2], [3, 1], [1, 0]]), A(3, 2)], {"axis": 1},
         ref=put_along_ref, dtypes=SOME),
    Case("combine_along", [A(2, 2), np.zeros((2, 1), I64), A(2, 1)], {"axis": 0, "reduce": "amax"},
         ref=put_along_ref, dtypes=("int32", "int64"), grad=False,
         errors=[([A(2, 2), np.zeros((2, 1), I64), A(2, 1)], {"axis": 0, "reduce": "max"},
                  ValueError, "reduce must be one of")]),
    Case("where_select", [MASK, A(2, 3), A(2, 3)], ref=np.where, dtypes=["bool"], grad=False,
         shapes=[[(), (3,), (2, 1)], [(2, 1), (), (3,)]]),
    *[Case("where_select", [MASK, A(2, 3, dtype=d), A(3, dtype=d)], ref=np.where, dtypes=["bool"],
           out=d, note=d, grad=False) for d in (*INT, *FLOAT[:2], *COMPLEX)],
    Case(lambda x, y: argosy.where(argosy.to_tensor([True, False, True]), x, y), [A(2, 3), A(3)],
         ref=lambda x, y: np.where([True, False, True], x, y), dtypes=("float32", "float64"),
         grad=True, covers=["where_select"]),
    Case("masked_fill", [A(2, 3), A(3, dtype="bool"), A()], dtypes=FEW,
         ref=lambda x, m, v: np.where(m, v, x)),
    Case("masked_select", [A(2, 3), MASK], ref=lambda x, m: x[m], dtypes=FEW),
    Case("masked_select", [A(2, 3), A(3, dtype="bool")], dtypes=FLOAT,
         ref=lambda x, m: x[np.broadcast_to(m, x.shape)]),
    Case("select_true", [A(2, 3, 4), MASK], ref=lambda x, m: x[m], dtypes=ALL,
         errors=[([A(2, 3), A(3, dtype="bool")], {}, IndexError, "leading sizes of x")]),
    Case("select_true", [A(70, 50), A(70, 50, dtype="bool")], ref=lambda x, m: x[m], dtypes=FEW,
         grad=False),
    Case("spread_true", [np.array([True, False, True]), A(2, 4)], dtypes=FEW, ref=spread_ref,
         errors=[([np.array([True]), A(2, 4)], {}, ValueError, "a row for each true element")]),
    Case("mask_places", [A(2, 3, 4)], ref=lambda m: np.argwhere(m), dtypes=["bool"],
         shapes=[[(0, 2)], [(7,)], [(3, 50)], [(40, 2, 1000)]]),
    Case("take_slices", [A(3, 4), index(2, -1, 0)], {"axis": 1}, dtypes=ALL,
         ref=lambda x, i, axis: np.take(x, i, axis),
         errors=[([A(3, 4), index(4)], {"axis": 1}, IndexError, "out of range")]),
    Case("take_slices", [A(3, 4, 2), np.array([[2, 1], [0, 2]], "int32")], {"axis": 0}, dtypes=FEW,
         ref=lambda x, i, axis: np.take(x, i, axis)),
    Case("take_slices", [A(9, 2), index(5)], {"axis": 0}, dtypes=FEW,
         ref=lambda x, i, axis: np.take(x, i, axis)),
    Case("add_slices", [A(3, 4), index(2, 0, 2), A(3, 3)], {"axis": 1}, dtypes=SOME,
         ref=add_slices_ref,
         errors=[([A(3, 4), index(3), A(1, 4)], {"axis": 0}, IndexError, "out of range"),
                 ([A(3, 4), index(0), A(3)], {"axis": 0}, ValueError, "cannot broadcast")]),
    Case("add_slices", [A(3, 4), index(1, 1), A(4)], {"axis": 0}, dtypes=SOME, ref=add_slices_ref),
    Case("mask_indices", [A(2, 3, 4)], ref=lambda m: list(np.nonzero(m)), dtypes=["bool"],
         shapes=[[(0, 2)]]),

    Case("sort_with_index", [distinct(3, 5)], ref=sort_ref, dtypes=FLOAT),
    Case("sort_with_index", [distinct(3, 5)], {"axis": 0, "descending": True}, ref=sort_ref,
         dtypes=FLOAT),
    Case("sort_with_index", [A(40, low=0, high=9)], ref=sort_ref, dtypes=INT, grad=False),
    Case("topk", [distinct(3, 5)], {"k": 2, "axis": -1, "largest": True}, ref=top_ref, dtypes=FLOAT,
         errors=[([A(3)], {"k": 4}, ValueError, "k must be from 1 to the size")]),
    Case("topk", [distinct(5, 3)], {"k": 3, "axis": 0, "largest": False}, ref=top_ref, dtypes=FLOAT),
    Case("kthvalue", [distinct(3, 5)], {"k": 2}, ref=kth_ref, dtypes=FLOAT,
         errors=[([A(3)], {"k": 0}, ValueError, "k must be from 1 to the size")]),
    Case("kthvalue", [distinct(5, 3)], {"k": 4, "axis": 0, "keepdim": True}, ref=kth_ref,
         dtypes=FLOAT),
    Case("kthvalue", [distinct(3, 5)], {"k": 3, "axis": None}, ref=kth_ref, dtypes=FLOAT),
    Case("mode", [A(3, 9, low=0, high=3)], ref=mode_ref, dtypes=("int32", "int64"), grad=False),
    Case("mode", [distinct(5, 2)], {"axis": 0}, ref=mode_ref, dtypes=("float32", "float64")),
    Case("searchsorted", [np.array([1.0, 3.0, 3.0, 5.0]), A(2, 3, low=0, high=6)],
         ref=np.searchsorted, dtypes=("float32", "float64")),
    *[Case("searchsorted", [np.array([1, 3, 3, 5], a), np.array([3, 0, 9], b)], ref=np.searchsorted,
           dtypes=[a], grad=False, note=f"{a} and {b}")
      for a, b in (("int32", "int64"), ("int64", "int32"), ("int64", "float32"), ("int32", "float64"))],
    Case("searchsorted", [np.array([1, 3, 3, 5]), np.array([3, 0, 9])], {"right": True},
         ref=lambda s, v, right: np.searchsorted(s, v, "right"), dtypes=["int64"],
         errors=[([A(2, 3), A(3, 3)], {}, ValueError, "leading sizes of values")]),
    Case("bucketize", [A(2, 3, low=0, high=6), np.array([1.0, 3.0, 5.0])], {"out_int32": True},
         ref=lambda x, s, out_int32: np.searchsorted(s, x).astype("int32"), grad=False,
         dtypes=("float32", "float64")),
    Case("unique_all", [A(20, low=-3, high=4)], ref=unique_ref, dtypes=("int32", "int64")),
    Case("unique_all", [A(9, 2, low=0, high=2)], {"axis": 0}, dtypes=("int32", "float32"), grad=False,
         ref=lambda x, axis: tuple(np.unique(x, True, True, True, axis=axis)), note="slices"),
]
# fmt: on

test_values, test_gradients, test_errors = table_tests(CASES)


def test_equal_elements_keep_their_order():
    x = argosy.to_tensor(np.tile([2.0, 1.0], 50).astype("float32"))
    want = [*range(0, 100, 2), *range(1, 100, 2)]
    assert argosy.argsort(x, descending=True).numpy().tolist() == want


def test_nan_sorts_last():
    x = argosy.to_tensor([np.nan, 1.0, -1.0])
    np.testing.assert_array_equal(argosy.sort(x).numpy(), [-1, 1, np.nan])


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "int64", "bfloat16", "uint8"])
@pytest.mark.parametrize("largest", [True, False])
@pytest.mark.parametrize("k", [16, 17, 100, 600])
def test_the_first_of_long_rows(dtype, largest, k):
    """Many more elements than are asked for: random ones with ties, in order, in reverse, nan, all the same."""
    n = 9 * k
    rng = np.random.default_rng(k)
    draw = rng.integers(0, 200, n).astype("float64")
    few_nan = draw.copy()
    few_nan[rng.integers(0, n, k // 2)] = np.nan
    rows = [draw, np.sort(draw), np.sort(draw)[::-1], np.full(n, 7.0)]
    if dtype.startswith(("float", "bfloat")):
        rows += [few_nan, np.full(n, np.nan), np.where(draw > 100, -0.0, 0.0), draw - 100.5]
    x = argosy.to_tensor(np.stack(rows)).astype(dtype)
    plain = x.astype("float64").numpy()
    key = np.where(np.isnan(plain), np.inf, plain)  # nan is the largest
    want = np.argsort(-key if largest else key, axis=1, kind="stable")[:, :k]
    for turned in (False, True):
        operand = x.t().contiguous() if turned else x
        values, places = argosy.topk(operand, k, axis=0 if turned else 1, largest=largest)
        values, places = (values.t(), places.t()) if turned else (values, places)
        np.testing.assert_array_equal(places.numpy(), want)
        np.testing.assert_array_equal(
            values.astype("float64").numpy(), np.take_along_axis(plain, want, 1)
        )


def test_unique_along_axis_and_neighbours():
    x = np.array([[1, 2], [0, 1], [1, 2]])
    out, index_, inverse, counts = argosy.unique(argosy.to_tensor(x), True, True, True, axis=0)
    assert out.numpy().tolist() == [[0, 1], [1, 2]]
    assert (index_.tolist(), inverse.tolist(), counts.tolist()) == ([1, 0], [1, 0, 1], [1, 2])
    got = argosy.unique_consecutive(argosy.to_tensor([1, 1, 2, 1]), return_counts=True)
    assert [g.tolist() for g in got] == [[1, 2, 1], [2, 1, 1]]


def test_nonzero():
    x = np.array([[1.0, 0.0], [0.0, 2.0]])
    np.testing.assert_array_equal(argosy.nonzero(argosy.to_tensor(x)).numpy(), np.argwhere(x))


def test_index_out_of_range_names_the_dimension():
    with pytest.raises(IndexError, match="out of range for dimension 0 of size 3"):
        argosy.zeros([3])[argosy.to_tensor([4])]


def test_scatter_add_of_a_larger_source():
    src = argosy.ones([3, 4])
    src.stop_gradient = False
    index_ = argosy.to_tensor([[0, 1], [1, 0]])
    got = argosy.scatter_add(argosy.zeros([2, 4]), 0, index_, src)
    assert got.numpy().tolist() == [[1, 1, 0, 0], [1, 1, 0, 0]]
    got.sum().backward()
    assert src.grad.numpy().sum() == 4 and src.grad.numpy()[:2, :2].all()


@pytest.mark.parametrize(
    "x",
    [
        np.random.RandomState(0).randint(0, 9, 3000),
        np.random.RandomState(0).randint(-(10**12), 10**12, 3000),
        np.random.RandomState(0).randint(0, 6000, 9000) * 10**9,
        np.random.RandomState(0).randint(0, 9, 3000).astype("float32") - 4,
        np.random.RandomState(0).uniform(-1, 1, 6000),
        np.random.RandomState(0).randint(0, 3, 50).astype("uint8"),
        np.array([np.inf, -np.inf, 0.0, -0.0, 1.0, -0.0], "float32"),
        np.zeros(0, "int64"),
    ],
    ids="few wide many floats_few floats_many bytes edges none".split(),
)
def test_unique_of_numbers(x):
    found = argosy.unique(argosy.to_tensor(x), True, True, True)
    for got, want in zip(found, np.unique(x, True, True, True)):
        np.testing.assert_array_equal(got.numpy(), want.reshape(got.shape))
    np.testing.assert_array_equal(argosy.unique(argosy.to_tensor(x)).numpy(), np.unique(x))
    runs = np.append(np.repeat(x, 3), x[:1])
    want = runs[np.append(True, runs[1:] != runs[:-1])] if len(runs) else runs
    np.testing.assert_array_equal(argosy.unique_consecutive(argosy.to_tensor(runs)).numpy(), want)
    got = argosy.unique_consecutive(argosy.to_tensor(runs), return_counts=True)[1]
    assert int(got.sum()) == len(runs)


def test_each_nan_is_distinct():
    x = argosy.to_tensor([np.nan, 2.0, np.nan, 1.0])
    np.testing.assert_array_equal(argosy.unique(x).numpy(), [1, 2, np.nan, np.nan])
    assert argosy.unique(x, return_counts=True)[1].numpy().tolist() == [1, 1, 1, 1]


def test_a_mask_picks_and_sets_elements():
    rng = np.random.RandomState(0)
    x = rng.uniform(-1, 1, (70, 1100)).astype("float32")
    for share in (0.0, 0.02, 0.5, 1.0):
        mask = rng.uniform(0, 1, x.shape) < share
        rows = mask[:, 0]
        np.testing.assert_array_equal(argosy.to_tensor(x)[argosy.to_tensor(mask)].numpy(), x[mask])
        np.testing.assert_array_equal(argosy.to_tensor(x)[argosy.to_tensor(rows)].numpy(), x[rows])
        np.testing.assert_array_equal(
            argosy.nonzero(argosy.to_tensor(mask)).numpy(), np.argwhere(mask)
        )
        for key in (mask, rows):
            for value in (2.0, x[key] * 2):
                got, want = argosy.to_tensor(x), x.copy()
                got[argosy.to_tensor(key)] = (
                    value if np.isscalar(value) else argosy.to_tensor(value)
                )
                want[key] = value
                np.testing.assert_array_equal(got.numpy(), want)


def test_gradient_of_setting_by_a_mask():
    x = argosy.ones([2, 3])
    x.stop_gradient = False
    value = argosy.to_tensor(3.0, stop_gradient=False)
    y = x * 2
    y[argosy.to_tensor([True, False])] = value
    (y * argosy.to_tensor([[1.0, 2, 3], [4, 5, 6]])).sum().backward()
    assert x.grad.numpy().tolist() == [[0, 0, 0], [8, 10, 12]]
    assert float(value.grad) == 6


def test_assigning_a_part_of_a_tensor_to_itself():
    x = argosy.arange(5)
    x[argosy.to_tensor([4, 3, 2, 1, 0])] = x
    assert x.tolist() == [4, 3, 2, 1, 0]


@pytest.mark.parametrize("dtype", ["int32", "int64", "uint8", "float32", "float64"])
@pytest.mark.parametrize("shape", [(3, 1), (2, 700), (4, 50, 3), (2, 3, 600)])
@pytest.mark.parametrize("high", [3, 200, 2**40])
def test_mode_is_the_smallest_of_the_most_frequent_at_its_last_place(dtype, shape, high):
    if high > 200 and dtype in ("uint8", "int32"):
        pytest.skip("no such numbers")
    rng = np.random.default_rng(high)
    x = rng.choice(rng.integers(0, high, 40), shape)
    if dtype != "uint8":
        x = x - high // 2
    x = x.astype(dtype)
    values, index = argosy.mode(argosy.to_tensor(x), 1)
    want = mode_ref(x, 1)
    np.testing.assert_array_equal(values.numpy(), want)
    last = x.shape[1] - 1 - np.argmax(np.flip(x, 1) == np.expand_dims(want, 1), 1)
    np.testing.assert_array_equal(index.numpy(), last)


def test_mode_of_nan_zeros_and_views():
    nan = float("nan")
    rows = [([nan, 1.0, nan], nan, 2), ([nan, 1.0], 1.0, 1), ([0.0, 1.0, -0.0, 1.0, 0.0], 0.0, 4)]
    for row, value, place in rows:
        values, index = argosy.mode(argosy.to_tensor(row))
        assert (str(values.item()), index.item()) == (str(value), place)
    x = argosy.to_tensor([[5, 1], [4, 1], [5, 2]])
    assert [t.tolist() for t in argosy.mode(x.t(), 1)] == [[5, 1], [2, 1]]


@pytest.mark.parametrize("accumulate", [False, True])
def test_places_of_a_row_that_count_from_the_end_or_lie_outside(accumulate):
    x, value = np.arange(5.0), np.array([1.0, 2.0, 4.0])
    for places in ([0, 4, 2], [0, -1, 4], [-5, 3, 3]):
        want = x.copy()
        if accumulate:
            np.add.at(want, places, value)
        else:
            want[places] = value
        i = argosy.to_tensor(places)
        got = argosy.index_put(argosy.to_tensor(x), (i,), argosy.to_tensor(value), accumulate)
        assert got.tolist() == want.tolist() and i.tolist() == places
    for bad in (5, -6, -(2**63), 2**63 - 1):
        t, i = argosy.to_tensor(x), argosy.to_tensor([0, bad, 1])
        with pytest.raises(IndexError, match=f"index {bad} is out of range"):
            argosy.index_put(t, (i,), argosy.to_tensor(value), accumulate)
        assert t.tolist() == x.tolist()


def test_places_written_by_what_they_place():
    x = argosy.to_tensor([1, 2, 0])
    argosy.index_put_(x, (x,), argosy.to_tensor([5, 6, 7]))
    assert x.tolist() == [7, 5, 6]
