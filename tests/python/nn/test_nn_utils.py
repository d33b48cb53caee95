"""nn.utils, gradient clipping, regularizers, unique names and other helpers."""

import numpy as np
import pytest
from tests.python.numeric import check_parameters

import argosy as paddle
from argosy import nn
from argosy.nn import utils


def close(tensor, expected):
    np.testing.assert_allclose(tensor.numpy(), expected, rtol=1e-5, atol=1e-6)


def pair(grad, need_clip=True):
    param = nn.Layer().create_parameter([2], attr=paddle.ParamAttr(need_clip=need_clip))
    return param, None if grad is None else paddle.to_tensor(grad)


def test_clipping_objects():
    grad = [3.0, 4.0]
    close(nn.ClipGradByNorm(1.0)([pair(grad)])[0][1], [0.6, 0.8])
    close(nn.ClipGradByNorm(10.0)([pair(grad)])[0][1], grad)
    close(nn.ClipGradByValue(3.5)([pair(grad)])[0][1], [3, 3.5])
    close(nn.ClipGradByValue(5.0, 3.5)([pair(grad)])[0][1], [3.5, 4])
    pairs = nn.ClipGradByGlobalNorm(1.0)([pair(grad), pair(None), pair(grad, False), pair(grad)])
    assert len(pairs) == 3
    scale = 1 / np.sqrt(50)
    close(pairs[0][1], np.array(grad) * scale)
    close(pairs[1][1], grad)
    close(nn.ClipGradByGlobalNorm(100.0)([pair(grad)])[0][1], grad)
    assert str(nn.ClipGradByNorm(1.0)) == "Gradient Clip By Norm, clip_norm=1.000000"
    with pytest.raises(AssertionError):
        nn.ClipGradByValue(-1.0)


def test_clip_functions():
    layer = nn.Linear(2, 3)
    (layer(paddle.ones([1, 2])) * 10).sum().backward()
    total = utils.clip_grad_norm_(layer.parameters(), 1.0)
    close(total, 30.0)
    np.testing.assert_allclose(layer.weight.grad.numpy(), 1 / 3, rtol=1e-5)
    utils.clip_grad_value_(layer.parameters(), 0.01)
    np.testing.assert_allclose(layer.weight.grad.numpy(), 0.01, rtol=1e-5)
    with pytest.raises(ValueError, match="norm_type"):
        utils.clip_grad_norm_(layer.parameters(), 1.0, 3)
    layer.weight.grad.set_value(np.full((2, 3), np.nan, "float32"))
    with pytest.raises(RuntimeError):
        utils.clip_grad_norm_(layer.parameters(), 1.0, error_if_nonfinite=True)


def test_parameters_as_a_vector():
    layer = nn.Linear(2, 3)
    vector = utils.parameters_to_vector(layer.parameters())
    assert list(vector.shape) == [9] and not vector.stop_gradient
    utils.vector_to_parameters(paddle.arange(9, dtype="float32"), layer.parameters())
    assert layer.weight.numpy().tolist() == [[0, 1, 2], [3, 4, 5]]
    assert layer.bias.numpy().tolist() == [6, 7, 8]
    with pytest.raises(ValueError, match="vec is too short: expected 9 elements"):
        utils.vector_to_parameters(paddle.ones([4]), layer.parameters())


@pytest.mark.parametrize("dim, shape", [(0, [2]), (1, [3]), (None, [])])
def test_weight_norm(dim, shape):
    layer = nn.Linear(2, 3)
    before, x = layer.weight.numpy(), paddle.ones([1, 2])
    expected = layer(x).numpy()
    assert utils.weight_norm(layer, dim=dim) is layer
    assert list(layer.state_dict()) == ["bias", "weight_v", "weight_g"]
    assert list(layer.weight_g.shape) == shape
    close(layer(x), expected)
    layer.weight_g.set_value(layer.weight_g * 2)
    close(layer(x) - layer.bias, (expected - layer.bias.numpy()) * 2)
    weights = paddle.to_tensor([1.0, -2.0, 3.0])
    check_parameters(lambda: (layer(x) * weights).sum(), [layer.weight_g, layer.weight_v])
    with pytest.raises(RuntimeError, match="normalized already"):
        utils.weight_norm(layer)
    utils.remove_weight_norm(layer)
    assert list(layer.state_dict()) == ["bias", "weight"]
    close(layer.weight, before * 2)
    with pytest.raises(ValueError, match="is not normalized"):
        utils.remove_weight_norm(layer)


def test_spectral_norm():
    paddle.seed(1)  # well apart singular values: the iteration is sure to settle
    layer = nn.Linear(4, 3)
    values = np.zeros((4, 3), "float32")
    np.fill_diagonal(values, [3.0, 1.0, 0.5])
    layer.weight.set_value(values + 0.1)
    assert utils.spectral_norm(layer) is layer
    assert list(layer.state_dict()) == ["bias", "weight_orig", "weight_u", "weight_v"]
    assert list(layer.weight_u.shape) == [3]
    for _ in range(50):
        layer(paddle.ones([1, 4]))
    assert abs(np.linalg.svd(layer.weight.numpy())[1][0] - 1) < 1e-4
    layer.eval()
    before = layer.weight_u.numpy()
    weights = paddle.to_tensor([1.0, -2.0, 3.0])
    check_parameters(lambda: (layer(paddle.ones([1, 4])) * weights).sum(), [layer.weight_orig])
    np.testing.assert_array_equal(layer.weight_u.numpy(), before)
    with pytest.raises(RuntimeError, match="normalized already"):
        utils.spectral_norm(layer)
    with pytest.raises(ValueError, match="expected 1 or more"):
        utils.spectral_norm(nn.Linear(1, 1), n_power_iterations=0)


def test_regularizers():
    param = nn.Layer().create_parameter([2], default_initializer=nn.initializer.Assign([-2.0, 3.0]))
    close(paddle.regularizer.L2Decay(0.5)(param), [-1, 1.5])
    close(paddle.regularizer.L1Decay(0.5)(param), [-0.5, 0.5])
    assert str(paddle.regularizer.L2Decay(0.1)) == "L2Decay, coeff=0.100000"


def test_unique_names():
    names = paddle.utils.unique_name
    with names.guard():
        assert [names.generate("fc"), names.generate("fc"), names.generate("x")] == [
            "fc_0", "fc_1", "x_0",
        ]  # fmt: skip
        with names.guard("inner_"):
            assert names.generate("fc") == "inner_fc_0"
        assert names.generate("fc") == "fc_2"


def test_helpers():
    with pytest.raises(ImportError, match="pip install"):
        paddle.utils.try_import("no_such_module_here")
    with pytest.raises(ImportError, match="^hey$"):
        paddle.utils.try_import("no_such_module_here", "hey")
    assert paddle.utils.try_import("json").dumps([1]) == "[1]"

    @paddle.utils.deprecated(update_to="paddle.new", since="1.0", reason="old")
    def old():
        return 3

    with pytest.warns(DeprecationWarning, match="paddle.new"):
        assert old() == 3
    nest = {"b": [1, (2, 3)], "a": 4}
    assert paddle.utils.flatten(nest) == [4, 1, 2, 3]
    assert paddle.utils.map_structure(lambda v: v + 1, nest) == {"b": [2, (3, 4)], "a": 5}


@pytest.mark.parametrize("scale", [0.1, 1.0, 50.0])
def test_clip_by_norm(scale):
    array = np.array([[3.0, -4.0], [0.0, 12.0]], "float32") * scale
    norm = np.linalg.norm(array)
    x = paddle.to_tensor(array, stop_gradient=False)
    got = paddle.nn.clip.clip_by_norm(x, 5.0)
    np.testing.assert_allclose(got.numpy(), array * min(1.0, 5.0 / norm), rtol=1e-6)
    got.sum().backward()
    slope = np.ones_like(array)
    if norm > 5.0:
        slope = 5.0 / norm - array.sum() * array * 5.0 / norm**3
    np.testing.assert_allclose(x.grad.numpy(), slope, rtol=1e-5, atol=1e-6)
    zeros = paddle.nn.clip.clip_by_norm(paddle.zeros([2]), 1.0)
    assert zeros.tolist() == [0.0, 0.0]
    with pytest.raises(ValueError, match=r"max_norm: expected a positive number, got -1"):
        paddle.nn.clip.clip_by_norm(x, -1)
