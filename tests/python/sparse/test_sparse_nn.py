"""Layers of sparse tensors against dense convolution and pooling."""

import numpy as np
import pytest

import argosy
import argosy.nn.functional as F
from argosy import sparse
from argosy.sparse import nn
from argosy.sparse.nn import functional as SF

RNG = np.random.default_rng(9)


def image(*shape):
    """A sparse image [N, .., C] and the same dense, channels first."""
    stored = RNG.random(shape[:-1]) > 0.6
    dense = argosy.to_tensor(RNG.standard_normal(shape) * stored[..., None])
    perm = [0, len(shape) - 1, *range(1, len(shape) - 1)]
    return dense.to_sparse_coo(len(shape) - 1), dense.transpose(perm)


def channels_last(x):
    return x.transpose([0, *range(2, x.ndim), 1])


def dense_conv(x, weight, bias, *options):
    turned = weight.transpose([weight.ndim - 1, weight.ndim - 2, *range(weight.ndim - 2)])
    function = F.conv3d if weight.ndim == 5 else F.conv2d
    return channels_last(function(x, turned, bias, *options))


@pytest.mark.parametrize(
    "stride, padding, dilation", [(1, 0, 1), (2, 1, 1), ([1, 2, 1], [1, 0, 2], [1, 1, 2])]
)
def test_conv3d(stride, padding, dilation):
    x, whole = image(2, 5, 6, 5, 3)
    w = argosy.to_tensor(RNG.standard_normal((3, 3, 2, 3, 4)))
    found = SF.conv3d(x, w, None, stride, padding, dilation)
    expected = dense_conv(whole, w, None, stride, padding, dilation)
    np.testing.assert_allclose(found.numpy(), expected.numpy(), atol=1e-10)
    b = argosy.to_tensor(RNG.standard_normal(4))
    shifted = SF.conv3d(x, w, b, stride, padding, dilation)
    np.testing.assert_allclose(shifted.values().numpy(), found.values().numpy() + b.numpy())


def test_conv2d_and_its_gradients():
    x, whole = image(2, 6, 5, 3)
    w = argosy.to_tensor(RNG.standard_normal((3, 2, 3, 4)), stop_gradient=False)
    x.stop_gradient = whole.stop_gradient = False
    (SF.conv2d(x, w, None, 1, 1).to_dense() ** 2).sum().backward()
    found, w.grad = w.grad.numpy(), None
    (dense_conv(whole, w, None, 1, 1) ** 2).sum().backward()
    np.testing.assert_allclose(found, w.grad.numpy(), atol=1e-9)
    stored = (np.abs(x.numpy()).sum(-1, keepdims=True) > 0).astype("float64")
    expected = channels_last(whole.grad).numpy() * stored
    np.testing.assert_allclose(x.grad.numpy(), expected, atol=1e-9)


@pytest.mark.parametrize("dims", [2, 3])
def test_submanifold(dims):
    x, whole = image(2, *[5] * dims, 3)
    w = argosy.to_tensor(RNG.standard_normal((*[3] * dims, 3, 4)))
    found = (SF.subm_conv2d if dims == 2 else SF.subm_conv3d)(x, w)
    assert found.indices().tolist() == x.indices().tolist()
    stored = (np.abs(x.numpy()).sum(-1, keepdims=True) > 0).astype("float64")
    expected = dense_conv(whole, w, None, 1, 1).numpy() * stored
    np.testing.assert_allclose(found.numpy(), expected, atol=1e-10)


@pytest.mark.parametrize(
    "arguments",
    [
        {"kernel_size": 2},
        {"kernel_size": 2, "ceil_mode": True},
        {"kernel_size": 3, "stride": 2, "padding": 1, "ceil_mode": True},
        {"kernel_size": [2, 3, 1], "stride": 3, "ceil_mode": True},
    ],
)
def test_max_pool3d(arguments):
    x, whole = image(2, 4, 7, 5, 3)
    found = nn.MaxPool3D(**arguments)(x)
    lowest = argosy.where(whole == 0, argosy.full_like(whole, -1e9), whole)
    expected = channels_last(F.max_pool3d(lowest, **arguments)).numpy()
    np.testing.assert_allclose(found.numpy(), np.where(expected <= -1e9, 0, expected))


def test_layers():
    argosy.seed(3)
    x, _ = image(1, 4, 4, 4, 2)
    x = x.cast("float32")
    net = argosy.nn.Sequential(
        nn.SubmConv3D(2, 3, 3), nn.BatchNorm(3), nn.ReLU(), nn.Conv3D(3, 2, 2), nn.LeakyReLU()
    )
    y = net(x)
    assert y.shape == [1, 3, 3, 3, 2]
    y.to_dense().sum().backward()
    assert all(p.grad is not None for p in net.parameters() if not p.stop_gradient)
    normal = net[1](net[0](x)).values().numpy()
    np.testing.assert_allclose(normal.mean(0), 0, atol=1e-5)
    np.testing.assert_allclose(normal.std(0), 1, atol=1e-2)
    converted = nn.SyncBatchNorm.convert_sync_batchnorm(net)
    assert converted is net and type(net[1]) is nn.SyncBatchNorm
    assert repr(nn.Conv2D(2, 3, 3)) == "Conv2D(2, 3, kernel_size=[3, 3], data_format=NHWC)"
    values = nn.ReLU6()(sparse.sparse_coo_tensor([[0, 1, 2]], [-1.0, 3.0, 9.0])).values()
    assert values.tolist() == [0, 3, 6]


@pytest.mark.parametrize("kind", ["BatchNorm", "SyncBatchNorm"])
def test_batch_norms_use_running_statistics_in_evaluation(kind):
    x, _ = image(1, 4, 4, 4, 3)
    values = x.values().numpy()
    norm = getattr(nn, kind)(3, 0.7, 1e-3)
    for _ in range(2):
        got = norm(x).values().numpy()
        want = (values - values.mean(0)) / np.sqrt(values.var(0) + 1e-3)
        np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-5)
    share = 1 - 0.7**2
    mean, variance = share * values.mean(0), 0.7**2 + share * values.var(0)
    np.testing.assert_allclose(norm._mean.numpy(), mean, rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(norm._variance.numpy(), variance, rtol=1e-4)
    norm.eval()
    want = (values - mean) / np.sqrt(variance + 1e-3)
    np.testing.assert_allclose(norm(x).values().numpy(), want, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(norm._mean.numpy(), mean, rtol=1e-4, atol=1e-6)  # as it was


def test_converting_to_sync_batch_norms():
    dense = argosy.nn.BatchNorm2D(2)
    net = argosy.nn.Sequential(nn.BatchNorm(3), argosy.nn.Sequential(dense, nn.ReLU()))
    weight = net[0].weight
    assert nn.SyncBatchNorm.convert_sync_batchnorm(net) is net
    assert type(net[0]) is nn.SyncBatchNorm and net[0].weight is weight
    assert type(net[1][0]) is argosy.nn.SyncBatchNorm and net[1][0].weight is dense.weight
    assert type(nn.SyncBatchNorm.convert_sync_batchnorm(dense)) is argosy.nn.SyncBatchNorm
    named = nn.SyncBatchNorm(3, 0.9, 1e-5, None, None, "NCHW", "sync")  # no use_global_stats here
    assert named._use_global_stats is None and named._mean.name == "sync_mean"
    for layer, wrong in ((nn.BatchNorm, "NCDHW"), (nn.SyncBatchNorm, "HWC")):
        with pytest.raises(ValueError, match=f"data_format: expected one of N.*got '{wrong}'"):
            layer(3, data_format=wrong)


def test_wrong_arguments():
    x, _ = image(1, 4, 4, 4, 2)
    w = argosy.ones([2, 2, 2, 2, 3], "float64")
    for call in (
        lambda: SF.conv3d(x, w, groups=2),
        lambda: SF.conv3d(x, w, data_format="NCDHW"),
        lambda: SF.conv3d(x, argosy.ones([2, 2, 2, 3, 3], "float64")),
        lambda: SF.conv3d(x, w, stride=[1, 2]),
        lambda: SF.max_pool3d(x, 2, data_format="NCDHW"),
        lambda: SF.softmax(x, 0),
        lambda: nn.Conv3D(2, 3, 3, groups=2),
        lambda: nn.MaxPool3D(2, return_mask=True),
    ):
        with pytest.raises(ValueError, match="Do this"):
            call()
