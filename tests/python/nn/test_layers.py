"""Layers whose forward does more than call one function."""

import nn_reference as ref
import numpy as np
import pytest

import argosy as paddle
from argosy import nn


def t(array):
    return paddle.to_tensor(np.asarray(array))


def normal(rng, *shape):
    return rng.standard_normal(shape).astype("float32")


def close(tensor, expected):
    np.testing.assert_allclose(tensor.numpy(), expected, rtol=1e-4, atol=1e-5)


def test_linear_and_bilinear(rng):
    layer, x = nn.Linear(3, 2), normal(rng, 4, 5, 3)
    close(layer(t(x)), x @ layer.weight.numpy() + layer.bias.numpy())
    bare = nn.Linear(3, 2, bias_attr=False)
    assert bare.bias is None
    close(bare(t(x)), x @ bare.weight.numpy())
    layer, a, b = nn.Bilinear(2, 3, 4), normal(rng, 5, 2), normal(rng, 5, 3)
    close(layer(t(a), t(b)), np.einsum("ni,oij,nj->no", a, layer.weight.numpy(), b))


@pytest.mark.parametrize(
    "mode, name", [("reflect", 0), ("replicate", "edge"), ("circular", "wrap")]
)
def test_conv_padding_modes(rng, mode, name):
    layer = nn.Conv2D(2, 3, 3, padding=[1, 2], padding_mode=mode)
    x = normal(rng, 1, 2, 5, 6)
    padded = np.pad(x, [(0, 0), (0, 0), (1, 1), (2, 2)], mode=name or mode)
    close(layer(t(x)), ref.conv(padded, layer.weight.numpy(), layer.bias.numpy()))


def test_conv_uses_its_attributes(rng):
    layer = nn.Conv2D(2, 3, 3, stride=2, padding="SAME")
    x = normal(rng, 1, 2, 7, 7)
    expected = ref.conv(x, layer.weight.numpy(), layer.bias.numpy(), [2, 2], [(1, 1), (1, 1)])
    close(layer(t(x)), expected)
    layer._stride = [1, 1]
    close(layer(t(x)), ref.conv(x, layer.weight.numpy(), layer.bias.numpy(), None, [(1, 1)] * 2))
    layer = nn.Conv2DTranspose(2, 3, 3, stride=2, padding=1, output_padding=1)
    x = normal(rng, 1, 2, 4, 4)
    bias = layer.bias.numpy().reshape(1, 3, 1, 1)
    close(layer(t(x)), ref.conv_transpose(x, layer.weight.numpy(), 2, 1, 1) + bias)
    assert list(layer(t(x), output_size=[7, 8]).shape) == [1, 3, 7, 8]


@pytest.mark.parametrize(
    "make, error",
    [
        (lambda: nn.Conv2D(4, 6, 3, groups=3), ValueError),
        (lambda: nn.Conv2D(4, 6, 3, padding_mode="nonsense"), ValueError),
        (lambda: nn.Conv2D(4, 6, 3, padding=[1, 2, 3]), ValueError),
        (lambda: nn.Conv2D(4, 6, [3, 3, 3]), ValueError),
        (lambda: nn.Conv2D(4, 6, 3, data_format="nonsense"), ValueError),
        (lambda: nn.Conv2D(4, 6, 3, weight_attr=False), AssertionError),
        (lambda: nn.Embedding(0, 3), ValueError),
        (lambda: nn.Embedding(5, 3, padding_idx=7), ValueError),
        (lambda: nn.GroupNorm(2, 4, data_format="nonsense"), ValueError),
        (lambda: nn.InstanceNorm2D(3, weight_attr=False), AssertionError),
        (lambda: nn.PixelShuffle("a"), TypeError),
        (lambda: nn.ChannelShuffle(-1), ValueError),
        (lambda: nn.PixelUnshuffle(2, "nonsense"), ValueError),
        (lambda: nn.MSELoss("nonsense"), ValueError),
        (lambda: nn.BCEWithLogitsLoss(reduction="nonsense"), ValueError),
        (lambda: nn.CosineEmbeddingLoss(2), ValueError),
        (lambda: nn.PoissonNLLLoss(epsilon=0), ValueError),
        (lambda: nn.AdaptiveLogSoftmaxWithLoss(8, 10, [6, 3]), ValueError),
        (lambda: nn.HSigmoidLoss(3, 1), ValueError),
        (lambda: nn.BatchNorm2D(3)(paddle.ones([2, 3])), ValueError),
        (lambda: nn.BatchNorm1D(3)(paddle.ones([2, 3, 4, 4])), ValueError),
        (lambda: nn.InstanceNorm2D(3)(paddle.ones([2, 3, 4])), ValueError),
        (lambda: nn.Softmax2D()(paddle.ones([2, 3])), AssertionError),
    ],
)
def test_errors(make, error):
    with pytest.raises(error):
        make()


def test_embedding(rng):
    layer = nn.Embedding(5, 3, padding_idx=-2)
    assert not layer.weight.numpy()[3].any() and layer.weight.numpy()[4].all()
    close(layer(t([[4, 3]])), layer.weight.numpy()[[[4, 3]]])
    frozen = nn.Embedding(2, 2, _weight=paddle.ones([2, 2]), _freeze=True)
    assert frozen.weight.stop_gradient


def test_batch_norm_modes(rng):
    layer, x = nn.BatchNorm2D(3, momentum=0.5), normal(rng, 4, 3, 2, 2)
    m, v = x.mean((0, 2, 3)), x.var((0, 2, 3))
    wide = (1, 3, 1, 1)
    close(layer(t(x)), (x - m.reshape(wide)) / np.sqrt(v.reshape(wide) + 1e-5))
    close(layer._mean, 0.5 * m)
    layer.eval()
    mean, variance = layer._mean.numpy().reshape(wide), layer._variance.numpy().reshape(wide)
    close(layer(t(x)), (x - mean) / np.sqrt(variance + 1e-5))
    assert layer._mean.stop_gradient and list(layer.state_dict()) == [
        "weight", "bias", "_mean", "_variance",
    ]  # fmt: skip
    fixed = nn.BatchNorm2D(3, use_global_stats=True)
    close(fixed(t(x)), x / np.sqrt(1 + 1e-5))
    close(nn.BatchNorm(3, act="relu", use_global_stats=True)(t(x)), np.maximum(x, 0))
    activations = {  # by the names of functions, and of ops with their own defaults
        "hard_swish": x * np.clip(x + 3, 0, 6) / 6,
        "hard_sigmoid": np.clip(0.2 * x + 0.5, 0, 1),
        "leaky_relu": np.where(x > 0, x, 0.02 * x),
        "tanh_shrink": x - np.tanh(x),
        "hard_shrink": np.where(np.abs(x) > 0.5, x, 0),
        "square": x * x,
    }
    for name, want in activations.items():
        close(nn.BatchNorm(3, act=name, use_global_stats=True, epsilon=0.0)(t(x)), want)
    with pytest.raises(ValueError, match=r"batch_norm_\d+\] there is no activation 'fantasy'"):
        nn.BatchNorm(3, act="fantasy")(t(x))
    named = nn.BatchNorm(3, moving_mean_name="mm", moving_variance_name="vv")
    assert (named._mean.name, named._variance.name) == ("mm", "vv")


def test_convert_sync_batch_norm(rng):
    model = nn.Sequential(nn.Conv2D(3, 3, 1), nn.BatchNorm2D(3))
    x = t(normal(rng, 2, 3, 4, 4))
    converted = nn.SyncBatchNorm.convert_sync_batchnorm(model)
    assert isinstance(converted[1], nn.SyncBatchNorm)
    assert list(converted(x).shape) == [2, 3, 4, 4]


def test_norm_layers_without_parameters(rng):
    x = t(normal(rng, 2, 4, 3))
    assert nn.LayerNorm(3, elementwise_affine=False).weight is None
    assert nn.LayerNorm(3, bias=False).bias is None
    assert nn.LayerNorm(np.int64(3)).weight.shape == [3]
    assert nn.GroupNorm(2, 4, affine=False).weight is None
    assert nn.InstanceNorm1D(4, weight_attr=False, bias_attr=False).scale is None
    close(nn.LayerNorm(3, weight_attr=False)(x), nn.LayerNorm(3)(x).numpy())


def test_spectral_norm_layer(rng):
    layer, w = nn.SpectralNorm([3, 4, 2], dim=1, power_iters=50), normal(rng, 3, 4, 2)
    sigma = np.linalg.svd(w.transpose(1, 0, 2).reshape(4, 6))[1][0]
    close(layer(t(w)), w / sigma)
    assert list(layer.state_dict()) == ["weight_u", "weight_v"] and layer.weight_u.stop_gradient


def test_dropout_layers_follow_the_mode(rng):
    x = t(np.ones((4, 6, 3, 3), "float32"))
    for layer in (nn.Dropout(0.5), nn.Dropout2D(0.5), nn.AlphaDropout(0.5)):
        assert np.unique(layer(x).numpy()).size == 2
        layer.eval()
        np.testing.assert_array_equal(layer(x).numpy(), x.numpy())


def test_shapes_of_simple_layers(rng):
    x = t(normal(rng, 2, 4, 6))
    assert list(nn.Flatten()(x).shape) == [2, 24]
    assert list(nn.Unflatten(1, [2, -1])(x).shape) == [2, 2, 2, 6]
    assert nn.Identity(1, other=2)(x) is x
    image = t(normal(rng, 1, 4, 3, 3))
    assert list(nn.PixelShuffle(2)(image).shape) == [1, 1, 6, 6]
    assert list(nn.Upsample(scale_factor=2)(image).shape) == [1, 4, 6, 6]
    assert list(nn.UpsamplingBilinear2D(size=[5, 7])(image).shape) == [1, 4, 5, 7]
    assert list(nn.UpsamplingBilinear2D(size=5)(image).shape) == [1, 4, 5, 5]
    assert list(nn.UpsamplingNearest2D(6)(image).shape) == [1, 4, 6, 6]
    assert list(nn.Pad2D([1, 2, 3, 4])(image).shape) == [1, 4, 10, 6]
    assert list(nn.ZeroPad2D(1)(image).shape) == [1, 4, 5, 5]
    assert list(nn.ReflectionPad2D(1)(image).shape) == [1, 4, 5, 5]
    top, index = nn.MaxPool2D(2, 1, return_mask=True)(image)
    assert list(nn.MaxUnPool2D(2, 1)(top, index).shape) == [1, 4, 3, 3]
    assert list(nn.Fold([3, 3], 2)(nn.Unfold(2)(image)).shape) == [1, 4, 3, 3]


def test_prelu_and_rrelu(rng):
    x = normal(rng, 2, 3, 4)
    close(nn.PReLU(3, init=0.5)(t(x)), np.where(x > 0, x, 0.5 * x))
    layer = nn.RReLU(0.2, 0.4)
    layer.eval()
    close(layer(t(x)), np.where(x > 0, x, 0.3 * x))


def test_adaptive_softmax_is_a_distribution(rng):
    layer = nn.AdaptiveLogSoftmaxWithLoss(8, 10, [3, 6], div_value=2.0, head_bias=True)
    x, label = t(normal(rng, 5, 8)), np.array([0, 2, 4, 8, 9])
    logp = layer.log_prob(x).numpy()
    np.testing.assert_allclose(np.exp(logp).sum(1), 1, rtol=1e-5)
    out, loss = layer(x, t(label))
    close(out, logp[np.arange(5), label])
    close(loss, -logp[np.arange(5), label].mean())
    np.testing.assert_array_equal(layer.predict(x).numpy(), logp.argmax(1))


def test_hierarchical_sigmoid_is_a_distribution(rng):
    layer, x = nn.HSigmoidLoss(3, 8), normal(rng, 1, 3)
    losses = [layer(t(x), t([[c]])).numpy().item() for c in range(8)]
    np.testing.assert_allclose(np.exp(-np.array(losses)).sum(), 1, rtol=1e-4)


def test_other_names():
    assert nn.Conv2d is nn.Conv2D and nn.ModuleList is nn.LayerList and nn.Module is nn.Layer
    assert nn.SiLU is nn.Silu and nn.HuberLoss is nn.SmoothL1Loss
    assert isinstance(nn.Parameter(paddle.ones([1])), paddle.Tensor)


def test_padding_by_one_number_of_numpy():
    x = paddle.ones([1, 1, 3])
    for number in (np.int64(2), np.int32(2), 2):
        assert nn.Pad1D(number)(x).shape == [1, 1, 7]
