"""Other ways to write calls: sizes one by one, format, NumPy on the left, Python's types as dtypes."""

import copy
import inspect

import numpy as np
import pytest

import argosy


def tensor(*shape):
    return argosy.arange(int(np.prod(shape)), dtype="float32").reshape(list(shape))


@pytest.mark.parametrize(
    "call, shape",
    [
        (lambda x: x.reshape(3, 2), [3, 2]),
        (lambda x: x.reshape(-1, 2), [3, 2]),
        (lambda x: x.reshape(-1), [6]),
        (lambda x: x.reshape([6]), [6]),
        (lambda x: x.reshape(shape=[3, 2]), [3, 2]),
        (lambda x: x.view(3, 2), [3, 2]),
        (lambda x: x.unsqueeze(0).expand(4, 2, 3), [4, 2, 3]),
        (lambda x: x.tile(2, 1), [4, 3]),
        (lambda x: x.transpose(0, 1), [3, 2]),
        (lambda x: x.transpose([1, 0]), [3, 2]),
        (lambda x: x.transpose(perm=[1, 0]), [3, 2]),
    ],
)
def test_sizes_one_by_one(call, shape):
    assert call(tensor(2, 3)).shape == shape


def test_transpose_swaps_two_dimensions():
    x = tensor(2, 3, 4)
    np.testing.assert_array_equal(x.transpose(0, -1).numpy(), x.numpy().swapaxes(0, -1))
    assert list(inspect.signature(argosy.Tensor.transpose).parameters)[:2] == ["x", "perm"]


def test_reshape_of_nothing():
    nothing = argosy.zeros([2, 0])
    assert nothing.reshape([0, 5]).shape == [0, 5]
    assert argosy.zeros([0, 3]).reshape([0, -1]).shape == [0, 3]
    assert argosy.zeros([0, 3]).reshape([-1]).shape == [0]
    assert tensor(2, 3).reshape([0, -1]).shape == [2, 3]


def test_format():
    loss = argosy.to_tensor(2.5)
    assert f"{loss:.2f}" == "2.50" and f"{loss}" == "2.5" and f"{argosy.to_tensor(3):d}" == "3"
    assert f"{argosy.ones([2])}" == str(argosy.ones([2]))
    with pytest.raises(TypeError):
        f"{argosy.ones([2]):.2f}"


@pytest.mark.parametrize("left", [np.ones(3, "float32"), np.float32(1), np.float64(1)])
def test_numpy_on_the_left(left):
    x = argosy.ones([3])
    for result in (left + x, left * x, left - x, left / x):
        assert isinstance(result, argosy.Tensor) and result.shape == [3]
    assert (left * x).numpy().tolist() == [1, 1, 1]
    assert isinstance(left < x + 1, argosy.Tensor)


def test_python_types_and_short_names_are_dtypes():
    x = argosy.ones([1])
    assert x.astype(float).dtype == argosy.float64 == argosy.double
    assert x.astype(int).dtype == argosy.int64 == argosy.long
    assert x.astype(bool).dtype == argosy.bool
    assert (argosy.float, argosy.half, argosy.int) == (
        argosy.float32,
        argosy.float16,
        argosy.int32,
    )


@pytest.mark.parametrize(
    "value, text",
    [
        ([[1.5, 2.0], [3.25, -4.0]], "[[1.50000000,  2.       ],"),
        ([0.1, 0.25], "[0.10000000, 0.25000000])"),
        ([1.0, 2.0], "[1., 2.])"),
        ([True, False], "[True , False])"),
        ([1, 20, -3], "[ 1, 20, -3])"),
        ([float("inf"), float("nan"), 1.5], "[inf.      , nan       , 1.50000000])"),
        (2.5, "2.50000000)"),
        ([1 + 2j], "[(1.00000000+2.00000000j)])"),
    ],
)
def test_printing(value, text):
    assert text in str(argosy.to_tensor(value))


def test_printing_of_much():
    text = str(argosy.arange(2000))
    assert text.endswith("[0   , 1   , 2   , ..., 1997, 1998, 1999])")
    assert str(argosy.zeros([2, 0])).endswith("[[],\n        []])")
    assert copy.deepcopy(argosy.ones([2])).tolist() == [1, 1]


def test_functions_applied_to_tensors():
    x = argosy.ones([3])
    assert x.apply(lambda v: v * 2).tolist() == [2, 2, 2] and x.tolist() == [1, 1, 1]
    assert x.apply_(lambda v: v * 3) is x and x.tolist() == [3, 3, 3]
    assert x.copy_(argosy.zeros([3])) is x and x.tolist() == [0, 0, 0]
    assert x.rank().item() == 1
    x.stop_gradient = False
    with pytest.raises(RuntimeError, match=r"\[apply_\] .*stop_gradient=True"):
        x.apply_(lambda v: v)


@pytest.mark.parametrize(
    "named, plain",
    [
        (lambda p, x: p.topk(input=x, k=1, dim=0)[0], lambda p, x: p.topk(x, 1, 0)[0]),
        (lambda p, x: p.norm(input=x, dim=1), lambda p, x: p.norm(x, axis=1)),
        (lambda p, x: p.argsort(input=x, dim=0), lambda p, x: p.argsort(x, 0)),
        (lambda p, x: x.chunk(3, dim=1)[2], lambda p, x: x[:, 2:]),
        (lambda p, x: x.repeat_interleave(2, dim=0), lambda p, x: x.repeat_interleave(2, 0)),
        (lambda p, x: p.nonzero(input=x), lambda p, x: p.nonzero(x)),
        (lambda p, x: x.quantile(0.5, dim=1), lambda p, x: x.quantile(0.5, 1)),
        (lambda p, x: x.unflatten(dim=1, sizes=[3, 1]), lambda p, x: x.reshape([2, 3, 1])),
        (lambda p, x: p.swapaxes(x, dim0=0, dim1=1), lambda p, x: x.t()),
        (lambda p, x: x.tensor_split(sections=2, dim=0)[1], lambda p, x: x[1:]),
        (lambda p, x: p.trace(input=x), lambda p, x: x.diagonal().sum()),
        (lambda p, x: p.where(x > 1, input=x, other=-x), lambda p, x: p.where(x > 1, x, -x)),
        (
            lambda p, x: p.take_along_axis(input=x, indices=p.ones([1, 3], "int64"), dim=0),
            lambda p, x: x[1:],
        ),
        (
            lambda p, x: p.index_add(input=x, index=p.to_tensor([1]), dim=0, value=x[:1]),
            lambda p, x: p.index_add(x, p.to_tensor([1]), 0, x[:1]),
        ),
    ],
)
def test_other_names_of_arguments(named, plain):
    x = argosy.to_tensor([[3.0, 1.0, 0.0], [0.5, 2.0, 5.0]])
    assert named(argosy, x).tolist() == plain(argosy, x).tolist()
    with pytest.raises(ValueError, match="one argument"):
        argosy.topk(x, k=1, axis=0, dim=0)


@pytest.mark.parametrize(
    "call, shape",
    [
        (lambda x: argosy.reshape(x, 3, 2), [3, 2]),
        (lambda x: argosy.reshape(x, -1, 2), [3, 2]),
        (lambda x: argosy.reshape(x, argosy.to_tensor(3), 2), [3, 2]),
        (lambda x: argosy.reshape(x, 6), [6]),
        (lambda x: argosy.view(x, 3, 2), [3, 2]),
        (lambda x: argosy.expand(x.unsqueeze(0), 4, -1, 3), [4, 2, 3]),
        (lambda x: argosy.tile(x, 2, 1), [4, 3]),
        (lambda x: argosy.transpose(x, 0, 1), [3, 2]),
        (lambda x: argosy.transpose(input=x, dim0=0, dim1=-1), [3, 2]),
        (lambda x: x.transpose(1, dim1=0), [3, 2]),
        (lambda x: x.transpose_(0, 1), [3, 2]),
        (lambda x: argosy.eye(n=2, m=3), [2, 3]),
        (lambda x: argosy.tensor_split(x, indices_or_sections=2)[0], [1, 3]),
        (lambda x: x.unfold(dimension=1, size=2, step=1), [2, 2, 2]),
    ],
)
def test_functions_take_sizes_and_dimensions_one_by_one(call, shape):
    assert call(tensor(2, 3)).shape == shape


INDEX = argosy.to_tensor([[0, 1], [1, 0]])


@pytest.mark.parametrize(
    "call",
    [
        lambda x: argosy.gather(x, 1, INDEX),
        lambda x: argosy.gather(input=x, dim=1, index=INDEX),
        lambda x: argosy.gather(x, 1, index=INDEX),
        lambda x: x.gather(dim=1, index=INDEX),
        lambda x: argosy.gather(x, 1, INDEX, out=argosy.zeros([2, 2])),
    ],
)
def test_gather_along_a_dimension(call):
    x = tensor(2, 3)
    expected = np.take_along_axis(x.numpy(), INDEX.numpy(), 1)
    np.testing.assert_array_equal(call(x).numpy(), expected)


def test_gather_of_rows_is_as_it_was():
    x = tensor(2, 3)
    rows = argosy.gather(x, argosy.to_tensor([1, 1]), 0)
    np.testing.assert_array_equal(rows.numpy(), x.numpy()[[1, 1]])
    np.testing.assert_array_equal(
        x.gather(argosy.to_tensor([2]), axis=1).numpy(), x.numpy()[:, [2]]
    )
    with pytest.raises(ValueError, match="number of dimensions"):
        argosy.gather(x, 1, argosy.to_tensor([0, 1]))


@pytest.mark.parametrize(
    "call, changed",
    [
        (lambda x, y: argosy.scatter(x, 1, INDEX, y), [[10, 11], [13, 12]]),
        (lambda x, y: argosy.scatter(input=x, dim=1, index=INDEX, src=y), [[10, 11], [13, 12]]),
        (lambda x, y: x.scatter(1, INDEX, value=5.0), [[5, 5], [5, 5]]),
        (lambda x, y: argosy.scatter(x, 1, INDEX, y, reduce="add"), [[10, 12], [16, 16]]),
        (lambda x, y: argosy.scatter(x, 1, INDEX, 2.0, reduce="multiply"), [[0, 2], [6, 8]]),
        (lambda x, y: x.scatter_(dim=1, index=INDEX, src=y), [[10, 11], [13, 12]]),
        (lambda x, y: argosy.scatter_(x, 1, INDEX, y), [[10, 11], [13, 12]]),
    ],
)
def test_scatter_along_a_dimension(call, changed):
    x, y = tensor(2, 3), tensor(2, 2) + 10
    expected = x.numpy().copy()
    expected[:, :2] = changed
    np.testing.assert_array_equal(call(x, y).numpy(), expected)


def test_scatter_in_place_is_in_place_and_rows_are_as_they_were():
    x = tensor(2, 3)
    assert x.scatter_(1, INDEX, 7.0) is x and x.numpy()[0].tolist() == [7, 7, 2]
    rows = argosy.scatter(tensor(2, 3), argosy.to_tensor([0]), argosy.ones([1, 3]))
    np.testing.assert_array_equal(rows.numpy()[0], [1, 1, 1])


@pytest.mark.parametrize(
    "call",
    [
        lambda x, i: argosy.index_add(x, 0, i, x),
        lambda x, i: argosy.index_add(x, dim=0, index=i, source=x),
        lambda x, i: x.index_add(0, i, source=x),
        lambda x, i: argosy.index_add(x, i, 0, x),
        lambda x, i: x.clone().index_add_(0, i, x),
    ],
)
def test_index_add_takes_the_dimension_first(call):
    x = tensor(2, 3)
    expected = x.numpy() + x.numpy()[::-1]
    np.testing.assert_array_equal(call(x, argosy.to_tensor([1, 0])).numpy(), expected)


def test_index_select_takes_the_dimension_first():
    x, i = tensor(2, 3), argosy.to_tensor([2, 0])
    for got in (
        argosy.index_select(x, 1, i),
        argosy.index_select(x, 1, index=i),
        x.index_select(i, 1),
    ):
        np.testing.assert_array_equal(got.numpy(), x.numpy()[:, [2, 0]])


def test_other_names_of_single_arguments():
    a = argosy.to_tensor([[2.0, 0.0], [0.0, 4.0]])
    assert argosy.linalg.solve(A=a, B=argosy.ones([2, 1])).tolist() == [[0.5], [0.25]]
    i = argosy.to_tensor([1, 2])
    assert argosy.isin(elements=i, test_elements=i[:1]).tolist() == [True, False]
    assert argosy.searchsorted(
        argosy.to_tensor([1.0, 3.0]), input=argosy.to_tensor([2.0])
    ).tolist() == [1]
    assert argosy.zeros([3]).exponential_(lambd=2.0).min().item() >= 0
    assert argosy.nn.PairwiseDistance(1.0, 0.0)(x1=a, x2=a * 0).tolist() == [2.0, 4.0]
    for norm in (argosy.nn.LayerNorm(2, eps=3.0), argosy.nn.GroupNorm(1, 2, eps=3.0)):
        np.testing.assert_allclose(
            norm(a).numpy(), [[0.5, -0.5], [-2 / 7**0.5, 2 / 7**0.5]], rtol=1e-5
        )


@pytest.mark.parametrize("name", ["fft", "ifft", "rfft", "irfft", "hfft", "ihfft"])
def test_transforms_take_input_and_dim(name):
    one, several = getattr(argosy.fft, name), getattr(argosy.fft, name + "n")
    two = getattr(argosy.fft, name + "2")
    x = tensor(4, 4) + 1.0
    for got, expected in (
        (one(input=x, dim=0), one(x, axis=0)),
        (two(input=x, dim=(1, 0)), two(x, axes=(1, 0))),
        (several(input=x, dim=[0]), several(x, axes=[0])),
    ):
        np.testing.assert_array_equal(got.numpy(), expected.numpy())
    np.testing.assert_array_equal(
        argosy.fft.fftshift(input=x, dim=0).numpy(), argosy.fft.fftshift(x, axes=0).numpy()
    )


@pytest.mark.parametrize(
    "call",
    [
        lambda x, **out: argosy.asin(x, **out),
        lambda x, **out: argosy.isnan(x, **out),
        lambda x, **out: argosy.isinf(x, **out),
        lambda x, **out: argosy.isfinite(x, **out),
        lambda x, **out: argosy.isclose(x, x, **out),
        lambda x, **out: argosy.roll(x, 1, 0, **out),
        lambda x, **out: argosy.diagonal(x, **out),
        lambda x, **out: argosy.expand_as(x, argosy.ones([4, 2, 3]), **out),
        lambda x, **out: argosy.argmax(x, 1, **out),
        lambda x, **out: argosy.argmin(x, dim=1, keepdims=True, **out),
        lambda x, **out: argosy.nn.functional.gelu(x, **out),
        lambda x, **out: argosy.nn.functional.softplus(x, **out),
    ],
)
def test_results_go_into_out(call):
    x = tensor(2, 3) / 8
    expected = call(x)
    out = argosy.empty([1], expected.dtype)
    assert call(x, out=out) is out
    np.testing.assert_array_equal(out.numpy(), expected.numpy())


def test_input_names_the_first_argument():
    F = argosy.nn.functional
    image = tensor(2, 4, 3, 3)
    grid = argosy.zeros([2, 1, 1, 2])
    i, ones = (argosy.to_tensor([1, 0]),), argosy.ones([2, 3])
    for got, expected in (
        (F.group_norm(input=image, num_groups=2, eps=1.0), F.group_norm(image, 2, 1.0)),
        (F.interpolate(input=image, size=[6, 6]), F.interpolate(image, [6, 6])),
        (F.grid_sample(input=image, grid=grid), F.grid_sample(image, grid)),
        (argosy.index_put(input=ones, indices=i, values=ones * 2), ones * 2),
    ):
        np.testing.assert_array_equal(got.numpy(), expected.numpy())


@pytest.mark.parametrize("dtype", ["int32", "int64", "uint8"])
def test_clip_in_place_keeps_integers(dtype):
    x = argosy.to_tensor([1, 2, 7], dtype=dtype)
    y = x.clip_(1.9, 2.7)
    assert y is x and str(x.dtype) == f"paddle.{dtype}" and x.tolist() == [1, 2, 2]
    assert x.clip_(max=argosy.to_tensor(1.5)).tolist() == [1, 1, 1]
    assert x.clamp_(-float("inf"), float("inf")).tolist() == [1, 1, 1]
    assert argosy.to_tensor([1.0, 3.0]).clip_(max=2.5).tolist() == [1.0, 2.5]
    with pytest.raises(TypeError):
        argosy.clip_(3)
