"""Operations called by place below the public functions: _C_ops and _legacy_C_ops. Expected numbers are those of
the public functions, which the sweep of ops holds against NumPy."""

import numpy as np
import pytest

import argosy as paddle
import argosy.nn.functional as F
from argosy import _C_ops, _legacy_C_ops
from argosy.base import core, framework
from argosy.base.layer_helper import LayerHelper

X = np.random.default_rng(1).uniform(-1, 1, (4, 4)).astype("float32")
PLACES = np.array([0, 2])

KERNELS = [
    (lambda c, x: c.matmul(x, x, False, True), lambda x: paddle.matmul(x, x, transpose_y=True)),
    (lambda c, x: c.add(x, x), lambda x: x + x),
    (lambda c, x: c.sum(x, [0], None, False), lambda x: x.sum(0)),
    (lambda c, x: c.mean(x, [1], True), lambda x: x.mean(1, keepdim=True)),
    (
        lambda c, x: c.full([2], 3.0, paddle.float32, paddle.CPUPlace()),
        lambda x: paddle.full([2], 3.0),
    ),
    (lambda c, x: c.reshape(x, [2, 8]), lambda x: x.reshape([2, 8])),
    (lambda c, x: c.flatten(x, 0, 1), lambda x: x.flatten()),
    (lambda c, x: c.slice(x, [0], [1], [3], [1], []), lambda x: x[1:3]),
    (lambda c, x: c.clip(x, -0.1, paddle.to_tensor([0.1])), lambda x: x.clip(-0.1, 0.1)),
    (lambda c, x: c.topk(x, 2, -1, True, True)[1], lambda x: x.topk(2)[1]),
    (lambda c, x: c.split(x, [1, 3], 0)[1], lambda x: x[1:]),
    (lambda c, x: c.add_n([x, x]), lambda x: x + x),
    (lambda c, x: c.pow(x, 2.0), lambda x: x * x),
    (lambda c, x: c.mish(x, 20.0), lambda x: F.mish(x)),
    (lambda c, x: c.squared_l2_norm(x), lambda x: (x * x).sum().reshape([1])),
    (lambda c, x: c.dropout(x, None, 0.0, True, "upscale_in_train", 0, False), lambda x: x),
    (lambda c, x: c.embedding(paddle.to_tensor(PLACES), x, -1, False), lambda x: x[[0, 2]]),
    (lambda c, x: c.relu_(x * 1), lambda x: F.relu(x)),
    (lambda c, x: c.tril(x, 0), lambda x: x.tril()),
]


@pytest.mark.parametrize("called, wanted", KERNELS)
def test_kernels(called, wanted):
    x = paddle.to_tensor(X)
    np.testing.assert_allclose(called(_C_ops, x).numpy(), wanted(x).numpy(), rtol=1e-6)


def test_kernels_have_gradients_and_work_in_programs():
    x = paddle.to_tensor(X, stop_gradient=False)
    _C_ops.mean(_C_ops.matmul(x, x, False, True), None, False).backward()
    np.testing.assert_allclose(x.grad.numpy(), np.tile(2 * X.sum(0) / 16, (4, 1)), rtol=1e-5)
    paddle.enable_static()
    try:
        program = paddle.static.Program()
        with paddle.static.program_guard(program):
            v = paddle.static.data("v", [4, 4], "float32")
            made = _C_ops.softmax(_C_ops.scale(v, 2.0, 1.0, True), -1)
        (got,) = paddle.static.Executor().run(program, feed={"v": X}, fetch_list=[made])
    finally:
        paddle.disable_static()
    np.testing.assert_allclose(got, F.softmax(paddle.to_tensor(X) * 2 + 1).numpy(), rtol=1e-5)


def test_wrong_calls_of_kernels():
    x = paddle.to_tensor(X)
    with pytest.raises(NotImplementedError, match="'softmax' takes X, axis.*got .*True.*Do this"):
        _C_ops.softmax(x, -1, True)
    with pytest.raises(ValueError, match="misses 'Y'.*Do this"):
        _C_ops.elementwise_max(x)
    with pytest.raises(NotImplementedError, match="'mish' has no threshold.*Do this"):
        _C_ops.mish(x, 3.0)
    with pytest.raises(AttributeError, match="no_such_kernel.*Do this"):
        _C_ops.no_such_kernel
    with pytest.raises(AttributeError, match="no_such_operation"):
        _legacy_C_ops.no_such_operation


def test_operations_with_named_attributes():
    x = paddle.to_tensor(X)
    made, shape = _legacy_C_ops.reshape2(x, None, "shape", [2, 8])
    assert made.shape == [2, 8] and shape is None
    product = _legacy_C_ops.matmul_v2(x, x, "trans_x", False, "trans_y", True)
    np.testing.assert_allclose(product.numpy(), X @ X.T, rtol=1e-5)
    np.testing.assert_allclose(
        _legacy_C_ops.clip(x, "min", -0.1, "max", 0.1).numpy(), X.clip(-0.1, 0.1)
    )
    np.testing.assert_allclose(
        _legacy_C_ops.top_k_v2(x, "k", 1)[0].numpy(), X.max(1, keepdims=True)
    )
    with pytest.raises(NotImplementedError, match="'relu' has no slope here.*Do this"):
        _legacy_C_ops.relu(x, "slope", 2.0)


def test_names_of_the_framework():
    kinds = core.VarDesc.VarType
    assert int(kinds.RAW) == 17 and str(kinds.LOD_TENSOR) == "VarType.DENSE_TENSOR"
    assert paddle.ones([1]).type is kinds.DENSE_TENSOR
    assert framework._global_flags()["FLAGS_check_nan_inf"] is False
    framework._set_expected_place(paddle.CPUPlace())
    with pytest.raises(AssertionError, match="static mode only.*Do this"):
        framework.static_only(lambda: 1)()
    assert core._is_all_prim_enabled() is False
    core._set_prim_all_enabled(True)
    assert (
        core._is_fwd_prim_enabled() and core._is_bwd_prim_enabled() and core._is_all_prim_enabled()
    )
    core._set_prim_all_enabled(False)


def test_a_bias_by_a_helper():
    paddle.enable_static()
    try:
        program, start = paddle.static.Program(), paddle.static.Program()
        with (
            paddle.static.program_guard(program, start),
            paddle.static.scope_guard(paddle.static.Scope()),
        ):
            x = paddle.static.data("x", [2, 3, 4], "float32")
            one = paddle.ParamAttr(initializer=paddle.nn.initializer.Constant(1.0))
            whole = LayerHelper("whole", bias_attr=one).append_bias_op(x)
            middle = LayerHelper("middle", bias_attr=one).append_bias_op(x, dim_start=1, dim_end=2)
            assert LayerHelper("none", bias_attr=False).append_bias_op(x) is x
            assert [p.shape for p in program.all_parameters()] == [[3, 4], [3]]
            executor = paddle.static.Executor()
            executor.run(start)
            got = executor.run(
                program, feed={"x": np.zeros([2, 3, 4], "float32")}, fetch_list=[whole, middle]
            )
    finally:
        paddle.disable_static()
    np.testing.assert_array_equal(got, np.ones([2, 2, 3, 4]))
