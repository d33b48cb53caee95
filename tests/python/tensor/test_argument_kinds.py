"""Arguments of other kinds than a number or a tensor: tensors and arrays where numbers belong, floats
where whole numbers belong, no tensor at all."""

import numpy as np
import pytest

import argosy

X = argosy.arange(6, dtype="float32").reshape([2, 3])


@pytest.mark.parametrize("given", [None, "a", [1.0, 2.0]])
@pytest.mark.parametrize("kind", [AttributeError, ValueError, TypeError])
@pytest.mark.parametrize(
    "name",
    ["trace", "rot90", "is_empty", "cumsum", "linalg.norm", "linalg.pinv", "linalg.cond", "linalg.cov"]
    + ["linalg.eigvals", "linalg.matrix_norm", "fft.fft", "fft.rfft2", "fft.irfftn", "fft.fftshift"]
    + ["cumsum_", "log_normal_", "ravel"],
)  # fmt: skip
def test_no_tensor(name, given, kind):
    function = argosy
    for part in name.split("."):
        function = getattr(function, part)
    with pytest.raises(kind, match=r"\[\w+\] \w+(: expected a Tensor, got|.* got None)"):
        function(given)


@pytest.mark.parametrize(
    "call",
    [
        lambda: X.reshape([3.0, 2]),
        lambda: argosy.full([2.0], 1),
        lambda: argosy.ones([np.float64(2)]),
        lambda: argosy.tile(X, [2.0]),
        lambda: argosy.expand(X, [2.0, 3]),
        lambda: argosy.transpose(X, [1.0, 0]),
        lambda: argosy.unsqueeze(X, [0.0]),
        lambda: argosy.flip(X, [0.0]),
        lambda: argosy.sum(X, [0.0]),
    ],
)
def test_a_float_in_a_list_of_whole_numbers(call):
    with pytest.raises(
        TypeError, match=r"\w+: expected whole numbers as ints, got .*\.0\)? \((numpy.)?float"
    ):
        call()


@pytest.mark.parametrize(
    "call",
    [
        lambda given: argosy.unfold(given, 0, 2, 1),
        lambda given: argosy.broadcast_tensors([X, given]),
        lambda given: argosy.cdist(X, given),
        lambda given: argosy.nn.functional.rms_norm(given, [3]),
        lambda given: argosy.nn.functional.conv2d(X, given),
        lambda given: argosy.nn.functional.conv1d(X, given),
        lambda given: argosy.nn.functional.max_unpool1d(X, given, 2),
    ],
)
@pytest.mark.parametrize("given", [None, "a"])
def test_no_tensor_among_others(call, given):
    for kind in (AttributeError, ValueError, TypeError):
        with pytest.raises(kind, match=r"\[\w+\] \w+: expected a Tensor, got"):
            call(given)


def test_tensors_and_arrays_for_numbers():
    steps = argosy.to_tensor([1, 2])
    expected = X[0:2, 0:3:2].tolist()
    for given in (steps, np.array([1, 2]), [1, steps[1]]):
        found = argosy.strided_slice(X, [0, 1], [0, 0], [2, 3], given)
        assert found.tolist() == expected
    square = argosy.to_tensor([[1.0, 1.0], [0.0, 1.0]])
    for given in (3, np.int32(3), argosy.to_tensor(3), argosy.to_tensor([3])):
        assert argosy.linalg.matrix_power(square, given).tolist() == [[1.0, 3.0], [0.0, 1.0]]
    with pytest.raises(TypeError, match=r"\[matrix_power\] n must be an int, got float"):
        argosy.linalg.matrix_power(square, 3.0)
    for given in (1, np.int64(1), np.array([[1], [0]]), argosy.to_tensor(1)):
        assert argosy.tensordot(X, X.T, given).tolist() == (X @ X.T).tolist()


@pytest.mark.parametrize("rank", [1, 2, 3])
def test_a_list_of_numbers_is_one_input_of_atleast(rank):
    function = getattr(argosy, f"atleast_{rank}d")
    assert function([1, 2]).size == 2 and function([[1, 2], [3, 4]]).ndim == max(rank, 2)
    assert len(function([argosy.ones([2]), argosy.ones([2])])) == 2


def test_pieces():
    with pytest.raises(TypeError, match=r"\[split\] num_or_sections: .* got a Tensor. Do this"):
        argosy.split(X, argosy.to_tensor(2))
    with pytest.raises(ValueError, match=r"\[tensor_split\] num_or_indices: .* got NoneType"):
        argosy.tensor_split(X, None)
    for axis in ([0], 2, "a"):
        with pytest.raises(ValueError, match=r"\[index_fill\] axis: expected an int from -2 to 1"):
            argosy.index_fill(X, argosy.to_tensor([0]), axis, 1.0)
    filled = argosy.index_fill(X, argosy.to_tensor([0]), np.int64(-1), 7.0)
    assert filled[..., 0].min() == filled[..., 0].max() == 7.0


def test_indices_are_tensors():
    places = argosy.to_tensor([0])
    for call in (
        lambda: argosy.index_put(X, ([0],), places),
        lambda: argosy.take(X, [0, 1], "clip"),
        lambda: argosy.take([0.0], places),
    ):
        for kind in (TypeError, ValueError):
            with pytest.raises(kind, match=r"\[\w+\] \w+: expected a Tensor, got list. Do this"):
                call()
    with pytest.raises(TypeError, match=r"\[index_select\] index is missing"):
        argosy.index_select(X, 1)
    assert argosy.index_select(X, 0, places).tolist() == X[:1].tolist()
    assert argosy.index_select(X, 0, index=places).tolist() == X[:1].tolist()
    assert argosy.take(argosy.zeros([0, 4]), argosy.zeros([0], "int64"), "clip").shape == [0]


@pytest.mark.parametrize("name", ["quantile", "nanquantile"])
def test_quantiles_of_whole_numbers_are_elements_or_their_middles(name):
    x, function = argosy.to_tensor([[1, 2, 5, 8], [3, 3, 4, 7]]), getattr(argosy, name)
    for kind, expected in (("lower", [2, 3]), ("higher", [5, 4]), ("nearest", [5, 4])):
        found = function(x, 0.5, axis=1, interpolation=kind)
        assert found.dtype == argosy.int64 and found.tolist() == expected
    found = function(x.astype("int32"), [0.5, 1.0], axis=1, interpolation="midpoint")
    assert found.dtype == argosy.float32 and found.tolist() == [[3.5, 3.5], [8.0, 7.0]]
    with pytest.raises(TypeError, match="unsupported dtype"):
        function(x, 0.5)


def test_grids_of_vectors_of_one_dtype():
    with pytest.raises(ValueError, match=r"\[meshgrid\] .* \['float32\[2, 3\]', 'float32\[3\]'\]"):
        argosy.meshgrid(X, X[0])
    with pytest.raises(ValueError, match=r"\[meshgrid\] .* 'int64\[2\]'\].*Do this"):
        argosy.meshgrid(X[0], argosy.arange(2))


def test_points_and_axes_of_transforms_are_whole_numbers():
    for given in ([4], 4.0, "4"):
        with pytest.raises(ValueError, match=r"\[fft\] s: expected a list of ints"):
            argosy.fft.fft(X, n=given)
    with pytest.raises(ValueError, match=r"\[fft2\] axes: expected a list of ints, got 0"):
        argosy.fft.fft2(X, axes=0)
    assert argosy.fft.fft(X, n=np.int64(4)).shape == [2, 4]


@pytest.mark.parametrize(
    "call, text",
    [
        (lambda: argosy.linalg.solve(X[0], X[0]), r"\[solve\] x must be a matrix"),
        (lambda: argosy.linalg.cholesky_solve(X[0], X), r"\[cholesky_solve\] x must be a matrix"),
        (lambda: argosy.linalg.pinv(X[0]), r"\[pinv\] x must be a matrix"),
        (lambda: argosy.linalg.svd_lowrank(X[0]), r"\[svd_lowrank\] x must be a matrix"),
        (lambda: argosy.linalg.householder_product(X.T, X), r"\[householder_product\] tau must"),
        (lambda: argosy.linalg.ormqr(X.T, X[0, :2], X), r"\[ormqr\] y must have .* 3 rows"),
        (lambda: argosy.pdist(X[0]), r"\[pdist\] x must have 2 dimensions"),
        (lambda: argosy.histogramdd(X, [2]), r"\[histogramdd\] expected bins for 3 dimensions"),
    ],
)
@pytest.mark.parametrize("kind", [ValueError, AssertionError])
def test_operands_that_are_no_matrices(call, text, kind):
    with pytest.raises(kind, match=text):
        call()


def test_matrices_without_elements():
    nothing = argosy.zeros([0, 0])
    assert argosy.linalg.matrix_power(nothing, 0).shape == [0, 0]
    for p in (None, "fro", 1, -2, float("inf")):
        assert float(argosy.linalg.cond(nothing, p)) == 0.0
        assert argosy.linalg.cond(argosy.zeros([2, 0, 0]), p).tolist() == [0.0, 0.0]
    for p in (0, 1, 2, -1, float("inf"), -float("inf")):
        assert argosy.linalg.norm(argosy.zeros([0, 2]), p, axis=0).tolist() == [0.0, 0.0]
        assert float(argosy.linalg.norm(nothing, p)) == 0.0


@pytest.mark.parametrize("name", ["add_", "subtract_", "multiply_", "divide_", "mod_", "equal_"])
def test_written_in_place_dtypes_mix_as_elsewhere(name):
    for x, y in (("int64", "float32"), ("float32", "int64")):
        with pytest.raises(TypeError, match="operands of these dtypes do not mix"):
            getattr(argosy.ones([3], x), name)(argosy.ones([3], y))
    x = argosy.full([3], 4, "int64")
    with pytest.raises(TypeError, match="do not mix in place: x is .* would be float32"):
        getattr(x, name)(argosy.to_tensor(2.0))
    assert x.tolist() == [4, 4, 4] and x.dtype == argosy.int64
    wide = argosy.bool if name == "equal_" else argosy.float64
    assert getattr(argosy.ones([3]), name)(argosy.ones([3], "float64")).dtype == wide


@pytest.mark.parametrize(
    "call",
    ["reshape_([6])", "unsqueeze_(0)", "squeeze_()", "flatten_()", "t_()", "transpose_([1, 0])"]
    + ["cast_('float64')", "add_(x)", "zero_()"],
)
def test_every_call_in_place_counts_once(call):
    x = argosy.ones([2, 3])
    eval("x." + call, {"x": x})
    assert x.inplace_version == 1


@pytest.mark.parametrize(
    "call, argument",
    [
        (lambda: argosy.tile(X), "repeat_times"),
        (lambda: argosy.flip(X), "axis"),
        (lambda: X.unsqueeze(), "axis"),
        (lambda: X.unsqueeze_(), "axis"),
        (lambda: X.reshape(), "shape"),
        (lambda: argosy.expand(X), "shape"),
        (lambda: argosy.transpose(X), "perm"),
        (lambda: argosy.roll(X), "shifts"),
        (lambda: argosy.cast(X), "dtype"),
        (lambda: argosy.full([2]), "fill_value"),
        (lambda: argosy.nn.functional.pixel_shuffle(X), "upscale_factor"),
    ],
)
def test_an_attribute_that_has_no_default_is_missing(call, argument):
    with pytest.raises(TypeError, match=rf"\[\w+\] {argument} is missing. Do this: pass it"):
        call()


def test_none_and_other_names_are_no_missing_attributes():
    assert argosy.tile(X, None).shape == [2, 3] and argosy.tile(input=X, dims=[2]).shape == [2, 6]
    assert argosy.unsqueeze(X, None).shape == [2, 3] and argosy.zeros(None).shape == []
    assert argosy.unsqueeze(input=X, dim=0).shape == [1, 2, 3]
    assert argosy.flip(X, dims=[0]).tolist() == X.tolist()[::-1]


def test_vecdot_conjugates_its_first_operand():
    x, y = np.array([1 + 2j, 3 - 1j], "complex64"), np.array([2 - 1j, 1 + 1j], "complex64")
    found = argosy.linalg.vecdot(argosy.to_tensor(x), argosy.to_tensor(y))
    np.testing.assert_allclose(found.numpy(), np.vdot(x, y), rtol=1e-6)
    real = argosy.linalg.vecdot(argosy.to_tensor(x.real), argosy.to_tensor(y))
    np.testing.assert_allclose(real.numpy(), np.vdot(x.real, y), rtol=1e-6)


@pytest.mark.parametrize(
    "call",
    [
        lambda n: argosy.clip(X, n, 3.0),
        lambda n: argosy.clip(X, max=n),
        lambda n: argosy.scale(X, n, bias=n),
        lambda n: argosy.topk(X, n)[0],
        lambda n: argosy.arange(n, 5),
        lambda n: argosy.linspace(0, 1, n),
        lambda n: argosy.cumsum(X.unsqueeze(0), n),
        lambda n: argosy.nn.functional.elu(-X, n),
        lambda n: argosy.nn.functional.pad(X, [1, 1], value=n),
        lambda n: argosy.bincount(argosy.to_tensor([0, 1]), minlength=n),
        lambda n: argosy.diff(X, n),
        lambda n: argosy.crop(X, [1, 1], [0, n]),
        lambda n: argosy.crop(argosy.arange(4), [1], n),
        lambda n: argosy.nn.functional.interpolate(X.reshape([1, 1, 2, 3]), size=[n, 3]),
    ],
)
@pytest.mark.parametrize(
    "make", [lambda n: np.array([n]), np.array, np.int64, lambda n: argosy.to_tensor([n])]
)
def test_arrays_of_one_number(call, make):
    """A NumPy array of one element stands for its number, as a tensor of one element does."""
    given, plain = call(make(2)), call(2)
    assert given.shape == plain.shape and given.tolist() == plain.tolist()


@pytest.mark.parametrize("given", [np.array([2]), np.array(2.0), np.int64(2), argosy.to_tensor(2)])
def test_scales_of_one_number(given):
    image = X.reshape([1, 1, 2, 3])
    assert argosy.nn.functional.interpolate(image, scale_factor=given).shape == [1, 1, 4, 6]
    pair = argosy.nn.functional.interpolate(image, scale_factor=np.array([2.0, 3.0]))
    assert pair.shape == [1, 1, 4, 9]


def test_arrays_of_several_numbers_are_none():
    with pytest.raises(ValueError, match=r"\[elu\] alpha: expected a number, got array"):
        argosy.nn.functional.elu(X, np.array([1.0, 2.0]))
    with pytest.raises(TypeError, match=r"\[topk\] k: expected a number, got 'a'"):
        argosy.topk(X, np.array(["a"]))
    with pytest.raises(TypeError, match=r"\[bincount\] minlength: expected an int, got 2\.5"):
        argosy.bincount(argosy.to_tensor([0, 1]), minlength=np.array([2.5]))


def test_numbers_of_complex_tensors():
    x = argosy.to_tensor([1 + 2j])
    assert complex(x) == 1 + 2j and complex(argosy.to_tensor(3.0)) == 3
    for number in (int, float):
        with pytest.raises(TypeError, match=r"complex number has no order, got complex64\[1\]"):
            number(x)
