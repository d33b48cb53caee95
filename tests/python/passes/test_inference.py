"""dropout_removal, batch_norm_inference and conv_batch_norm."""

import numpy as np
import pytest
from tests.python.passes.helpers import Recorded, ops
from tests.python.passes.inference_cases import FUNCTIONS
from tests.python.passes.inference_cases import X as IMAGES

import argosy
from argosy import _core, nn, passes
from argosy.nn import functional as F

X = np.linspace(0.1, 2, 12).reshape(3, 4)


@pytest.mark.parametrize("p", [0.0, 0.3])
@pytest.mark.parametrize("mode", ["upscale_in_train", "downscale_in_infer"])
def test_dropout_removal(p, mode):
    with Recorded() as r:
        x = r.input(X)
        r.fetch(F.dropout(x * 2, p, mode=mode) + 1)
    after = r.rewrite(["dropout_removal", "dead_code"], verify=True)
    assert "dropout_bits" not in ops(after)
    want = F.dropout(argosy.to_tensor(X) * 2, p, training=False, mode=mode) + 1
    np.testing.assert_allclose(after.run(r.feeds)[0].numpy(), want.numpy(), rtol=1e-12)


def test_dropout_removal_in_attention():
    value = np.random.default_rng(0).standard_normal((2, 3, 2, 4))
    with Recorded() as r:
        x = r.input(value)
        r.fetch(F.scaled_dot_product_attention(x, x, x, dropout_p=0.4))
    assert "attention_bits" in ops(r.rewrite([], verify=True))
    after = r.rewrite(["dropout_removal", "dead_code"], verify=True)
    assert ops(after) == ["tiled_attention"]
    x = argosy.to_tensor(value)
    want = F.scaled_dot_product_attention(x, x, x)
    np.testing.assert_array_equal(after.run(r.feeds)[0].numpy(), want.numpy())


def normalized(conv=None, train=True):
    argosy.seed(1)
    norm = nn.BatchNorm2D(4)
    image = np.random.default_rng(0).standard_normal((2, 3 if conv else 4, 5, 5)).astype("float32")
    norm._mean.set_value(argosy.to_tensor([0.1, -0.2, 0.3, 0.0]))
    norm._variance.set_value(argosy.to_tensor([1.5, 0.5, 2.0, 1.0]))
    norm.weight.set_value(argosy.to_tensor([1.0, 2.0, -1.0, 0.5]))
    norm.bias.set_value(argosy.to_tensor([0.0, 1.0, -1.0, 0.5]))
    if not train:
        norm.eval()
    with Recorded() as r:
        x = r.input(image)
        with argosy.no_grad():
            r.fetch(F.relu(norm(conv(x) if conv else x)))
    return r, norm, image


def test_batch_norm_inference():
    r, norm, image = normalized()
    after = r.rewrite(["batch_norm_inference", "dead_code"], verify=True)
    before = norm._mean.numpy()
    got = after.run(r.feeds)[0].numpy()
    np.testing.assert_array_equal(norm._mean.numpy(), before)
    norm.eval()
    np.testing.assert_array_equal(got, F.relu(norm(argosy.to_tensor(image))).numpy())


@pytest.mark.parametrize("bias", [None, False])
def test_conv_batch_norm(bias):
    argosy.seed(6)
    conv = nn.Conv2D(3, 4, 3, padding=1, bias_attr=bias)
    r, _, _ = normalized(conv, train=False)
    after = r.rewrite(["conv_batch_norm", "dead_code"], verify=True)
    assert ops(after) == ["conv2d", "relu"]
    got, want = after.run(r.feeds)[0].numpy(), r.run()[0].numpy()
    np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-5)


def test_conv_batch_norm_leaves_what_is_read_otherwise():
    argosy.seed(6)
    conv, norm = nn.Conv2D(3, 4, 3), nn.BatchNorm2D(4)
    norm.eval()
    image = np.ones((1, 3, 5, 5), "float32")
    with Recorded() as r:
        with argosy.no_grad():
            y = conv(r.input(image))
            r.fetch(norm(y), y * 2)
    assert "batch_norm" in ops(r.rewrite(["conv_batch_norm", "dead_code"]))
    r, _, _ = normalized(nn.Conv2D(3, 4, 3), train=True)
    assert "batch_norm" in ops(r.rewrite(["conv_batch_norm", "dead_code"]))


def test_deploy_runs_all_of_them():
    argosy.seed(6)
    r, _, _ = normalized(nn.Conv2D(3, 4, 3, padding=1), train=True)
    after = r.rewrite("deploy", verify=True)
    assert ops(after) == ["conv2d", "relu"]
    assert set(passes.pipelines()["deploy"]) > set(passes.pipelines()["default"])


REMOVAL = ["dropout_removal", "batch_norm_inference", "dead_code"]
DRAWS = {"dropout_bits", "dropout_mask", "attention_bits"}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_all_that_differs_in_training(name):
    f = FUNCTIONS[name]
    with Recorded() as r:
        r.fetch(f(r.input(IMAGES), True))
    after = r.rewrite(REMOVAL, verify=True)
    assert DRAWS.isdisjoint(ops(after))
    want = f(argosy.to_tensor(IMAGES), False).numpy()
    np.testing.assert_allclose(after.run(r.feeds)[0].numpy(), want, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("name", ["dropout", "axis", "attention"])
def test_gradients_follow(name):
    f = FUNCTIONS[name]
    with Recorded() as r:
        x = r.input(IMAGES)
        x.stop_gradient = False
        y = f(x, True)
        r.fetch(y, *r.gradients([y * y], [x]))
    assert DRAWS & set(ops(r))
    after = r.rewrite(REMOVAL, verify=True)
    assert DRAWS.isdisjoint(ops(after))
    x = argosy.to_tensor(IMAGES, stop_gradient=False)
    y = f(x, False)
    for got, want in zip(after.run(r.feeds), [y, argosy.grad([(y * y).sum()], [x])[0]]):
        np.testing.assert_allclose(got.numpy(), want.numpy(), rtol=1e-5, atol=1e-6)


def test_numbers_that_are_read_otherwise_are_drawn():
    """Then what they were drawn for stays as it was, in all places."""
    with Recorded() as r:
        x = r.input(X)
        mask = _core.ops.dropout_mask(x, 0.5, [])
        r.fetch(_core.ops.dropout_apply(x, mask, 2.0), mask * 3)
    assert ops(r.check(REMOVAL)) == ops(r)


def test_a_gradient_reads_the_statistics_of_the_batch():
    with Recorded() as r:
        x = r.input(IMAGES)
        x.stop_gradient = False
        y = FUNCTIONS["batch_norm"](x, True)
        r.fetch(y, *r.gradients([y * y], [x]))
    assert ops(r.check(["batch_norm_inference"])) == ops(r)
