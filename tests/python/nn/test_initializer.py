"""Initializers: values for a seed, fans, gains, errors.

The numbers are those that the API this package follows gives for the same seed.
"""

import math

import numpy as np
import pytest

import argosy as paddle
from argosy import nn
from argosy.nn import initializer as init

# (initializer, elements 0, 1, 5 and 11 of a [3, 2, 2] parameter for seed 33)
DRAWN = [
    ("Normal(1.0, 2.0)", [2.842045, 1.359472, 2.411399, 2.344855]),
    ("TruncatedNormal(1.0, 2.0, 0.0, 1.5)", [1.419869, 1.496192, 0.627953, 1.441907]),
    ("Uniform(-2.0, 3.0)", [2.731783, 2.987313, 0.02771, 2.805792]),
    ("XavierNormal()", [0.411894, 0.08038, 0.315599, 0.300719]),
    ("XavierUniform(gain=2.0)", [1.382986, 1.541332, -0.292668, 1.428847]),
    ("KaimingNormal()", [0.651261, 0.127093, 0.499005, 0.475478]),
    (
        'KaimingUniform(nonlinearity="leaky_relu", negative_slope=0.2)',
        [1.072114, 1.194867, -0.226881, 1.107666],
    ),
    ('KaimingUniform(mode="fan_out")', [0.892713, 0.994925, -0.188916, 0.922317]),
    ("XavierNormal(fan_in=3, fan_out=5)", [0.460511, 0.089868, 0.35285, 0.336214]),
    ("KaimingNormal(fan_in=7)", [0.492307, 0.096073, 0.377212, 0.359428]),
]

# (layer, first elements of its first parameter for seed 33)
DEFAULTS = [
    ("Linear(3, 2)", [0.977918, 1.089886, 0.168357]),
    ("Conv2D(3, 2, 1)", [0.752012, 0.146754, -0.811877]),
    ("Conv2DTranspose(3, 2, 1)", [0.977918, 1.089886, 0.168357]),
    ("Embedding(2, 3)", [0.977918, 1.089886, 0.168357]),
    ("LSTMCell(2, 1)", [0.892713, 0.994925, 0.153688]),
    ("Bilinear(2, 2, 1)", [0.892713, 0.994925, 0.153688]),
    ("PReLU()", [0.25]),
]


def create(shape, initializer, **kwargs):
    return nn.Layer().create_parameter(shape, default_initializer=initializer, **kwargs)


@pytest.mark.cpu_only("is about the values of the CPU's generator")
@pytest.mark.parametrize("code, expected", DRAWN)
def test_values_for_a_seed(code, expected):
    paddle.seed(33)
    values = create([3, 2, 2], eval(f"init.{code}", {"init": init})).numpy().ravel()
    np.testing.assert_allclose(values[[0, 1, 5, 11]], expected, rtol=1e-5, atol=1e-6)


@pytest.mark.cpu_only("is about the values of the CPU's generator")
@pytest.mark.parametrize("code, expected", DEFAULTS)
def test_default_values_for_a_seed(code, expected):
    paddle.seed(33)
    layer = eval(f"nn.{code}", {"nn": nn})
    values = layer.parameters()[0].numpy().ravel()[:3]
    np.testing.assert_allclose(values, expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_sixteen_bits_are_drawn_in_float32(dtype):
    paddle.seed(7)
    narrow = create([4, 4], init.Normal(), dtype=dtype)
    paddle.seed(7)
    wide = create([4, 4], init.Normal())
    assert str(narrow.dtype).endswith(dtype)
    np.testing.assert_array_equal(
        narrow.astype("float32").numpy(), wide.astype(dtype).astype("float32").numpy()
    )


def test_constant_and_assign():
    assert create([2], init.Constant(4.0)).numpy().tolist() == [4, 4]
    assert create([2], init.Constant(3), dtype="int32").dtype == paddle.int32
    value = create([2, 2], init.Assign([[1, 2], [3, 4]]))
    assert value.numpy().tolist() == [[1, 2], [3, 4]] and value.dtype == paddle.float32
    assert create([2], init.Assign(paddle.ones([2]))).numpy().tolist() == [1, 1]
    with pytest.raises(AssertionError):
        init.Assign(3)


def test_calling_one_fills_in_place():
    x = paddle.ones([2, 2])
    assert init.Constant(4.0)(x) is None
    assert x.numpy().tolist() == [[4, 4], [4, 4]]
    assert nn.init.eye_(x) is x and x.numpy().tolist() == [[1, 0], [0, 1]]


def test_orthogonal():
    for shape in ([3, 5], [5, 3], [4, 2, 2]):
        matrix = create(shape, init.Orthogonal(gain=2.0)).numpy().reshape(shape[0], -1)
        small = matrix @ matrix.T if matrix.shape[0] <= matrix.shape[1] else matrix.T @ matrix
        np.testing.assert_allclose(small, 4 * np.eye(len(small)), atol=1e-5)
    with pytest.raises(AssertionError, match="2 dimensions or more"):
        create([3], init.Orthogonal())


def test_dirac():
    weight = create([4, 2, 3, 3], init.Dirac(groups=2)).numpy()
    assert np.argwhere(weight).tolist() == [[0, 0, 1, 1], [1, 1, 1, 1], [2, 0, 1, 1], [3, 1, 1, 1]]
    assert weight.max() == 1
    with pytest.raises(AssertionError, match="3, 4 or 5 dimensions"):
        create([4, 2], init.Dirac())
    with pytest.raises(AssertionError, match="divisible by groups"):
        create([5, 2, 3], init.Dirac(groups=2))


def test_bilinear():
    weight = create([2, 2, 4, 4], init.Bilinear()).numpy()
    np.testing.assert_allclose(weight[0, 0, 0], [0.0625, 0.28125, 0.375, 0.15625])
    np.testing.assert_allclose(weight[1, 1, 3], [0.0625, 0.09375, 0.0, -0.03125])
    with pytest.raises(ValueError, match="4 dimensions"):
        create([2, 2], init.Bilinear())
    with pytest.raises(ValueError, match="must be square"):
        create([2, 2, 3, 4], init.Bilinear())


def test_calculate_gain():
    assert init.calculate_gain("tanh") == 5 / 3
    assert init.calculate_gain("leaky_relu", 1) == 1.0
    assert init.calculate_gain("relu") == math.sqrt(2)
    assert init.calculate_gain("conv2d") == init.calculate_gain("sigmoid") == 1
    with pytest.raises(ValueError, match="expected one of"):
        init.calculate_gain("nonsense")


def test_global_initializer():
    init.set_global_initializer(init.Constant(3.0), init.Constant(2.0))
    try:
        layer = nn.Linear(2, 2)
        assert layer.weight.numpy()[0, 0] == 3 and layer.bias.numpy()[0] == 2
        assert nn.Conv2D(1, 1, 1).weight.numpy().item() == 3
        assert nn.Linear(1, 1, weight_attr=init.Constant(7.0)).weight.numpy().item() == 7
    finally:
        init.set_global_initializer(None)
    assert nn.Linear(2, 2).bias.numpy()[0] == 0
    with pytest.raises(TypeError):
        init.set_global_initializer(3)


def test_own_initializer():
    class Nine(init.Initializer):
        def forward(self, var, block=None):
            init.Constant(9.0)(var, block)

    assert create([1], Nine()).numpy().item() == 9


def test_errors():
    with pytest.raises(AssertionError, match="high must not be below"):
        init.Uniform(1, 0)
    with pytest.raises(ValueError, match="expected one of"):
        create([2, 2], init.KaimingNormal(nonlinearity="nonsense"))
    with pytest.raises(ValueError):
        init.Constant(None)


def test_lazy_guard_fills_later():
    from argosy.nn.initializer.lazy_init import LazyGuard

    with LazyGuard():
        layer = nn.Linear(2, 2, weight_attr=init.Constant(5.0))
    layer.weight.initialize()
    assert layer.weight.numpy()[0, 0] == 5
    with pytest.raises(ValueError, match="nothing to run"):
        layer.weight.initialize()


def test_called_with_a_parameter_and_its_block():
    weight = paddle.create_parameter([3, 4], "float32")
    init.Constant(2.5)(weight, weight.block)
    np.testing.assert_array_equal(weight.numpy(), np.full((3, 4), 2.5, "float32"))
    init.Assign(np.eye(3, 4))(weight, weight.block)
    np.testing.assert_array_equal(weight.numpy(), np.eye(3, 4, dtype="float32"))
    for initializer in (init.KaimingNormal(), init.TruncatedNormal(), init.XavierUniform()):
        before = weight.numpy()
        initializer(weight, weight.block)
        assert (weight.numpy() != before).all()


@pytest.mark.cpu_only("is about the values of the CPU's generator")
def test_rare_values_of_the_truncated_normal():
    # Five sigmas out, where the draw's own rounding decides.
    paddle.seed(7)
    weight = paddle.create_parameter([1 << 20], "float32")
    init.TruncatedNormal(0.0, 0.02)(weight)
    values = weight.numpy()
    assert np.argmin(values) == 480691
    assert values.min() == pytest.approx(-0.10070810467004776, rel=1e-6)
