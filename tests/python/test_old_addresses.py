"""Names below the public functions that programs use: results as Paddle 3.3.1 gives them."""

import gc
import pickle
import weakref

import numpy as np
import pytest

import argosy as paddle
from argosy import _C_ops, _legacy_C_ops


@pytest.fixture
def program():
    paddle.enable_static()
    try:
        with paddle.static.program_guard(paddle.static.Program(), paddle.static.Program()):
            yield paddle.static.default_main_program()
    finally:
        paddle.disable_static()


def test_lars_trains_as_in_paddle(program):
    x = paddle.static.data("x", [2, 3])
    half = paddle.nn.initializer.Constant(0.5)
    w = paddle.static.create_parameter([3, 2], "float32", default_initializer=half)
    loss = paddle.mean(paddle.matmul(x, w) ** 2)
    paddle.incubate.optimizer.LarsMomentumOptimizer(0.1, 0.9).minimize(loss)
    executor = paddle.static.Executor()
    executor.run(paddle.static.default_startup_program())
    feed = {"x": np.arange(6, dtype="float32").reshape(2, 3)}
    losses = [float(executor.run(feed=feed, fetch_list=[loss])[0]) for _ in range(3)]
    np.testing.assert_allclose(losses, [19.125, 19.121065, 19.113594], rtol=1e-6)


def test_lars_in_eager_mode_and_its_formula():
    w = paddle.create_parameter([4], "float32", default_initializer=paddle.nn.initializer.Assign(
        np.array([1.0, -2.0, 0.5, 3.0], "float32")))  # fmt: skip
    made = paddle.incubate.optimizer.LarsMomentumOptimizer(
        0.2, 0.9, lars_coeff=0.01, lars_weight_decay=0.1, parameter_list=[w], epsilon=1e-3
    )
    value, velocity = w.numpy().astype("float64"), np.zeros(4)
    for _ in range(3):
        (w * w).sum().backward()
        made.step()
        made.clear_grad()
        grad = 2 * value
        norms = np.linalg.norm(value), np.linalg.norm(grad)
        rate = 0.2 * 0.01 * norms[0] / (norms[1] + 0.1 * norms[0] + 1e-3)
        velocity = 0.9 * velocity + rate * (grad + 0.1 * value)
        value = value - velocity
        np.testing.assert_allclose(w.numpy(), value, rtol=1e-5)
    with pytest.raises(ValueError, match="momentum is missing.*Do this"):
        paddle.incubate.optimizer.LarsMomentumOptimizer(0.1, None)
    with pytest.raises(NotImplementedError, match="multi_precision=True.*Do this"):
        paddle.incubate.optimizer.LarsMomentumOptimizer(0.1, 0.9, multi_precision=True)


def test_entries_of_ops():
    x = paddle.to_tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    y, norms = _C_ops.norm(x, 1, 1e-10, False)
    np.testing.assert_allclose(y.numpy()[0], [0.26726124, 0.53452247, 0.80178368], rtol=1e-6)
    assert norms.shape == [2, 1]
    assert _legacy_C_ops.squared_l2_norm(x).numpy().tolist() == [91.0]
    grads, found = [paddle.to_tensor([2.0, 4.0])], paddle.to_tensor([True])
    _legacy_C_ops.check_finite_and_unscale(grads, paddle.to_tensor([2.0]), grads, found)
    assert grads[0].tolist() == [1.0, 2.0] and found.tolist() == [False]
    grads = [paddle.to_tensor([2.0]), paddle.to_tensor([float("inf")])]
    _legacy_C_ops.check_finite_and_unscale(grads, paddle.to_tensor([2.0]), grads, found)
    assert found.tolist() == [True]


def test_adamw_by_its_entry():
    p, g, rate = paddle.ones([2]), paddle.ones([2]), paddle.to_tensor([0.1])
    m1, m2 = paddle.zeros([2]), paddle.zeros([2])
    b1, b2 = paddle.to_tensor([0.9]), paddle.to_tensor([0.999])
    state = (p, g, rate, m1, m2, None, b1, b2, None, p, m1, m2, None, b1, b2, None)
    attrs = ("epsilon", 1e-8, "beta1", 0.9, "beta2", 0.999, "coeff", 0.01, "with_decay", True)
    _legacy_C_ops.adamw(*state, *attrs)
    for found, wanted in ((p, 0.899), (m1, 0.1), (m2, 0.001), (b1, 0.81), (b2, 0.998001)):
        np.testing.assert_allclose(found.numpy(), wanted, rtol=1e-5)
    with pytest.raises(NotImplementedError, match="in place.*Do this"):
        _legacy_C_ops.adamw(*state[:9], paddle.ones([2]), *state[10:], *attrs)
    for wrong in (("use_global_beta_pow", True), ("multi_precision", True), ("coef", 0.1)):
        with pytest.raises(NotImplementedError, match=f"{wrong[0]}.*Do this"):
            _legacy_C_ops.adamw(*state, *attrs, *wrong)
    np.testing.assert_allclose(p.numpy(), 0.899, rtol=1e-5)  # as it was


def test_other_forms_of_storage():
    x = paddle.ones([3, 2])
    for name in ("crows", "cols", "values", "indices", "nnz", "to_dense", "is_coalesced", "rows"):
        with pytest.raises(SystemError, match=rf"\[Tensor\.{name}\] needs .*Do this"):
            getattr(x, name)()
    with pytest.raises(NotImplementedError, match=r"\[Tensor\.coalesce\]"):
        x.coalesce()
    assert x.sparse_dim() == 0 and x.get_selected_rows() is None
    assert x.process_mesh is None and x.placements is None and x.num_shard is None
    assert x.offset == 0 and paddle.arange(6).reshape([2, 3])[1:].offset == 24
    layer = paddle.nn.Embedding(5, 2, sparse=True)
    layer(paddle.to_tensor([3, 1])).sum().backward()
    grad = layer.weight.grad
    assert sorted(grad.rows()) == [1, 3] and grad.get_selected_rows() is grad
    layer(paddle.to_tensor([1])).sum().backward()
    np.testing.assert_array_equal(layer.weight.grad.to_dense().numpy()[:, 0], [0, 2, 0, 1, 0])
    words = paddle.to_tensor([])
    with pytest.raises(SystemError, match="carries no table of words.*Do this"):
        words.get_map_tensor()
    words.set_vocab({"a": 1})
    assert words.get_map_tensor() == {"a": 1}
    y = paddle.zeros([3])
    y.reconstruct_from_(paddle.full([2, 2], 7.0))
    assert y.tolist() == [[7.0, 7.0], [7.0, 7.0]]
    y.set_tensor(np.ones(3, "int64"))
    assert y.dtype == paddle.int64 and y.tolist() == [1, 1, 1]
    assert paddle.Tensor.broadcast_shapes([2, 1], [3]) == [2, 3]
    assert paddle.Tensor.create_tensor("float32").size == 0
    assert not paddle.Tensor.create_parameter([2], "float32").stop_gradient


def test_dtypes_have_numbers():
    assert paddle.float32.value == 10 and paddle.bfloat16.value == 16 and paddle.bool.value == 1
    assert pickle.loads(pickle.dumps(paddle.float16)) is paddle.float16


def test_modes_and_contexts():
    mode = paddle.set_grad_enabled(False)
    again = mode.clone()
    assert not paddle.is_grad_enabled()
    with paddle.set_grad_enabled(True):
        pass
    again.__exit__()
    mode.__exit__()
    assert paddle.is_grad_enabled()

    class Double(paddle.autograd.PyLayer):
        @staticmethod
        def forward(ctx, x):
            ctx.set_grad_in_dtype_consistent(False)
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return g * 2

    x = paddle.ones([2])
    x.stop_gradient = False
    Double.apply(x).sum().backward()
    assert x.grad.tolist() == [2.0, 2.0]
    assert paddle.base.framework._dygraph_tracer() is not None
    with paddle.base.framework._dygraph_guard(None):
        assert not paddle.in_dynamic_mode() and paddle.base.framework._dygraph_tracer() is None
    assert paddle.in_dynamic_mode()


def test_kinds_of_operations():
    holder = paddle.base.framework.OpProtoHolder.instance()
    proto = holder.get_op_proto("matmul_v2")
    assert proto.type == "matmul_v2" and [part.name for part in proto.inputs] == ["X", "Y"]
    assert holder.has_op_proto("relu") and not holder.has_op_proto("not_there")
    with pytest.raises(ValueError, match='Operator "not_there" has not been registered'):
        holder.get_op_proto("not_there")
    roles = paddle.base.core.op_proto_and_checker_maker
    assert int(roles.OpRole.Optimize) == 2 and roles.kOpRoleAttrName() == "op_role"
    paddle.base.core._set_prim_backward_enabled(True)
    assert paddle.base.core._is_bwd_prim_enabled()
    paddle.base.core._set_prim_backward_enabled(False)


def test_parts_of_programs(program):
    x = paddle.static.data("x", [2, 3])
    y = paddle.nn.functional.dropout(x, 0.5)
    z = y + 1
    operations = program.global_block().ops
    assert program.get_value_by_op_id(operations[-1].id())[0].name == z.name
    with pytest.raises(ValueError, match="there is no operation 99.*Do this"):
        program.get_value_by_op_id(99)
    program.set_is_test_attr()
    executor = paddle.static.Executor()
    feed = {"x": np.ones((2, 3), "float32")}
    np.testing.assert_array_equal(executor.run(program, feed=feed, fetch_list=[z])[0], 2.0)
    assert executor.split_program_by_device(program) is None
    with pytest.raises(RuntimeError, match="start_heter_trainer.*Do this"):
        executor.start_heter_trainer(program)
    paddle.tensor.random._manual_program_seed(7)
    assert program.random_seed == 7
    strategy = paddle.static.BuildStrategy()
    assert strategy.memory_optimize is None and strategy.use_hierarchical_allreduce is False
    strategy.memory_optimize = True
    assert strategy.memory_optimize is True
    assert paddle.pir.Program is paddle.static.Program


def test_what_other_builds_have_says_so():
    for make, text in (
        (lambda: paddle.device.XPUPlace(0), "not compiled with XPU"),
        (lambda: paddle.device.IPUPlace(), "not compiled with IPU"),
        (lambda: paddle.static.IpuStrategy(), "not compiled with IPU"),
        (lambda: paddle.cuda.cudart(), "no CUDA support|there is no NVIDIA GPU"),
        (lambda: paddle.device.Stream(), "no CUDA support|there is no NVIDIA GPU"),
    ):
        with pytest.raises(ValueError, match=text):
            make()
    with pytest.raises(RuntimeError, match=r"\(Unavailable\).*not compiled with XPU.*Do this"):
        paddle.device.xpu.synchronize()


def test_optimizers_have_no_fused_buffer():
    made = paddle.optimizer.SGD(0.1, parameters=paddle.nn.Linear(2, 2).parameters())
    assert made.fused_buffer_version == 0 and made.fused_states_buffer is None
    made.use_fusion_storage()
    made.need_refuse()
    made.reset_need_refuse()
    made.set_merged_model_params({"a": 1})
    assert made.merged_model_params == {"a": 1}


def test_words_are_counted():
    count = paddle.text.Imikolov.word_count
    assert count(None, ["a b", "b"]) == {"a": 1, "b": 2, "<s>": 2, "<e>": 2}
    assert count(None, ["a"], {"a": 1, "<s>": 0, "<e>": 0}) == {"a": 2, "<s>": 1, "<e>": 1}


def test_a_name_that_is_missing_keeps_nothing_of_its_callers():
    """What a caller holds goes when it returns: a group that was destroyed, say, whose store has a port."""

    class Held:
        pass

    def look():
        held = Held()
        assert not hasattr(paddle, "no_such_name")
        return weakref.ref(held)

    gc.disable()
    try:
        assert look()() is None
    finally:
        gc.enable()
