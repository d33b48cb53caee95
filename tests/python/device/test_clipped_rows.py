"""Clipped gradients of embeddings, which are rows of a table, and rounded numbers of training for integers, on a
device: as on the CPU, and not on the host."""

import numpy as np
import pytest
from tests.python.device.where import STREAMED, assert_as_on_the_cpu

import argosy as paddle
from argosy import _core
from argosy.nn import functional as F

pytestmark = [pytest.mark.adds_device(unless="gpu"), pytest.mark.usefixtures("streamed")]

CLIPS = {
    "norm": lambda grads: [_core.ops.clip_by_norm(g, 0.5) for g in grads],
    "global norm": lambda grads: _core.ops.clip_by_global_norm(grads, 0.5),
    "value": lambda grads: [_core.ops.clip_by_value(g, -0.1, 0.2) for g in grads],
    "large norm": lambda grads: _core.ops.clip_by_global_norm(grads, 1e6),
}


def gradients(ids, dtype="float32"):
    """Of a table, rows some of which come twice, and of what the table's rows are multiplied with."""
    rng = np.random.default_rng(0)
    table = paddle.to_tensor(rng.standard_normal((50, 6)).astype(dtype), stop_gradient=False)
    weight = paddle.to_tensor(rng.standard_normal((6, 3)).astype(dtype), stop_gradient=False)
    (F.embedding(paddle.to_tensor(ids), table, sparse=True) @ weight).sum().backward()
    return table.grad, weight.grad


@pytest.mark.parametrize("name", CLIPS)
@pytest.mark.parametrize("ids", [[3, 7, 3, 3, 49, 0], [5], list(range(50)) * 40], ids=len)
def test_clips_of_rows(name, ids):
    ids = np.array(ids)

    def clipped():
        grads = gradients(ids)
        assert grads[0].is_selected_rows()
        results = CLIPS[name](list(grads))
        assert results[0].is_selected_rows() and not results[1].is_selected_rows()
        return [_core.ops.rows_to_dense(results[0]).numpy(), results[1].numpy()]

    got = clipped()
    with paddle.device_guard("cpu"):
        want = clipped()
    for a, b in zip(got, want):
        assert_as_on_the_cpu(a, b)


def test_a_step_with_clipped_rows():
    def trained():
        paddle.seed(0)
        with paddle.device_guard("cpu"):
            layer = paddle.nn.Embedding(30, 4, sparse=True)
        layer.weight.set_value(np.linspace(-1, 1, 120).reshape(30, 4).astype("float32"))
        layer = layer.to(paddle.device.get_device())
        clip = paddle.nn.ClipGradByGlobalNorm(0.1)
        sgd = paddle.optimizer.SGD(0.5, parameters=layer.parameters(), grad_clip=clip)
        for _ in range(3):
            (layer(paddle.to_tensor(np.array([1, 2, 2, 29]))) ** 2).sum().backward()
            sgd.step()
            sgd.clear_grad()
        return layer.weight.numpy()

    got = trained()
    with paddle.device_guard("cpu"):
        want = trained()
    assert_as_on_the_cpu(got, want)


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16"])
@pytest.mark.parametrize("axis", [-1, 0, 1])
@pytest.mark.parametrize("round_type", [0, 1])
def test_rounded_numbers_are_those_of_the_cpu(round_type, axis, dtype):
    rng = np.random.default_rng(1)
    x = np.concatenate([rng.standard_normal((5, 7, 400)), np.linspace(-2, 2, 14000).reshape(5, 7, 400)],
                       2)  # fmt: skip
    scale = rng.uniform(0.5, 1.5, 1 if axis < 0 else x.shape[axis])
    scale[0] = 127 / 64  # steps of 1/64, so that halves come
    if len(scale) > 1:
        scale[1] = 0

    def rounded():
        t, s = paddle.to_tensor(x.astype(dtype)), paddle.to_tensor(scale.astype(dtype))
        return _core.ops.fake_quantize_dequantize(t, s, 8, round_type, axis).numpy()

    got = rounded()
    with paddle.device_guard("cpu"):
        want = rounded()
    np.testing.assert_array_equal(got, want)


@pytest.mark.skipif(STREAMED, reason="runs the CPU's kernels")
def test_runs_on_the_gpu():
    grads = list(gradients(np.array([3, 7, 3])))
    calls = {
        f"clip_by_{name.replace(' ', '_')}": CLIPS[name]
        for name in ("norm", "global norm", "value")
    }
    calls["fake_quantize_dequantize"] = lambda grads: _core.ops.fake_quantize_dequantize(
        grads[1], paddle.ones([1]), 8, 1, -1
    )
    for op, call in calls.items():
        _, text = _core.explain(lambda call=call: call(grads))
        assert f"{op}: ran cuda" in text and "declined" not in text, text
