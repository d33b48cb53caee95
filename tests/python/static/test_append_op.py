"""Block.append_op, create_var and create_parameter: all that is given counts, or raises by name. Expected
numbers are what Paddle 2.6.2 fetched from the same Programs."""

import numpy as np
import pytest

import argosy as paddle
from argosy import _core, passes, static
from argosy.base.layer_helper import LayerHelper

X = np.arange(6, dtype="float32").reshape(2, 3)
Y = np.arange(12, dtype="float32").reshape(4, 3)


@pytest.fixture(autouse=True)
def programs():
    paddle.enable_static()
    with static.program_guard(static.Program(), static.Program()):
        yield
    paddle.disable_static()


def run(kind, inputs, attrs=None, outputs=("Out",)):
    block, feed, given = static.default_main_program().global_block(), {}, {}
    for key, value in inputs.items():
        name = f"in_{key}"
        feed[name], given[key] = value, [static.data(name, value.shape, str(value.dtype))]
    made = {key: block.create_var(name=f"out_{key}") for key in outputs}
    block.append_op(type=kind, inputs=given, outputs={k: [v] for k, v in made.items()}, attrs=attrs)
    return static.Executor().run(feed=feed, fetch_list=list(made.values()))


def test_products():
    wanted = [[10, 28, 46, 64], [28, 100, 172, 244]]
    attrs = {"transpose_X": False, "transpose_Y": True, "alpha": 2.0}
    np.testing.assert_array_equal(run("matmul", {"X": X, "Y": Y}, attrs)[0], wanted)


def test_operands_go_by_name_not_by_order():
    wanted = np.array([[5, 14, 23, 32], [14, 50, 86, 122]])
    found = run("matmul_v2", {"Y": Y, "X": X}, {"trans_x": False, "trans_y": True})
    np.testing.assert_array_equal(found[0], wanted)


def test_operands_of_functions_go_by_name():
    (found,) = run("atan2", {"Y": np.float32([1]), "X": np.float32([2])})
    np.testing.assert_allclose(found, np.arctan2(2, 1), rtol=1e-6)


@pytest.mark.parametrize("x, y, split", [((2, 3), (3, 2, 4), (1, 1)), ((2, 3, 2), (2, 4), (2, 1)),
                                         ((2, 3), (3, 1, 4), (1, 1)), ((2, 6), (2, 3, 5), (1, 2))])  # fmt: skip
def test_mul_of_dimensions(x, y, split):
    a = np.random.default_rng(1).normal(size=x).astype("float32")
    b = np.random.default_rng(2).normal(size=y).astype("float32")
    (found,) = run("mul", {"X": a, "Y": b}, dict(zip(("x_num_col_dims", "y_num_col_dims"), split)))
    rows, columns = x[: split[0]], y[split[1] :]
    flat = a.reshape(int(np.prod(rows)), -1) @ b.reshape(-1, int(np.prod(columns)))
    np.testing.assert_allclose(found, flat.reshape(*rows, *columns), rtol=1e-5)


def test_dropout_has_its_implementation():
    attrs = {"dropout_prob": 0.25, "is_test": True}
    np.testing.assert_array_equal(run("dropout", {"X": X}, attrs, ("Out",))[0], X * 0.75)


def test_dropout_scaled_in_training():
    attrs = {"dropout_prob": 0.25, "is_test": True, "dropout_implementation": "upscale_in_train"}
    np.testing.assert_array_equal(run("dropout", {"X": X}, attrs)[0], X)


def test_axis_of_elementwise():
    (found,) = run("elementwise_sub", {"Y": np.ones(2, "float32"), "X": X}, {"axis": 0})
    np.testing.assert_array_equal(found, X - 1)


def test_reductions_begin_with_the_first_dimension():
    np.testing.assert_array_equal(run("reduce_sum", {"X": X})[0], [3, 5, 7])


def test_several_outputs_go_by_name():
    loss = [[2.4076058864593506], [0.40760597586631775]]
    label = np.array([[0], [2]])
    softmax = np.exp(X) / np.exp(X).sum(1, keepdims=True)
    given = {"Label": label, "Logits": X}
    found = run("softmax_with_cross_entropy", given, {}, ("Softmax", "Loss"))
    np.testing.assert_allclose(found[0], softmax, rtol=1e-6)
    np.testing.assert_allclose(found[1], loss, rtol=1e-6)


def test_outputs_of_topk():
    places, values = run("top_k_v2", {"X": X}, {"k": 2}, ("Indices", "Out"))
    np.testing.assert_array_equal(places, [[2, 1], [2, 1]])
    np.testing.assert_array_equal(values, [[2, 1], [5, 4]])


def test_padding_of_embeddings():
    given = {"W": Y, "Ids": np.array([1, 0])}
    (found,) = run("lookup_table_v2", given, {"padding_idx": 0, "is_sparse": False})
    np.testing.assert_array_equal(found, [[3, 4, 5], [0, 0, 0]])


@pytest.mark.parametrize(
    "kind, attrs, outputs, message",
    [
        ("scale", {"scale": 2.0, "foo": 1.0}, ("Out",), "'scale' has no foo here"),
        ("mul", {"scale_x": 2.0}, ("Out",), "misses 'Y': expected it among the inputs"),
        ("relu", {}, ("Out", "Other"), r"has the outputs Out here: expected these, got 'Other'"),
        (
            "dropout",
            {"seed": 3, "fix_seed": True},
            ("Out",),
            "'dropout' has no seed, fix_seed here",
        ),
        ("uniform_random", {"shape": [2]}, ("Out",), "'uniform_random' has no X here"),
    ],
)
def test_nothing_is_dropped(kind, attrs, outputs, message):
    with pytest.raises((NotImplementedError, ValueError), match=message):
        run(kind, {"X": X}, attrs, outputs)


def test_other_keywords():
    block = static.default_main_program().global_block()
    x = static.data("x", [2])
    with pytest.raises(ValueError, match=r"\[Block.append_op\] unknown arguments: .* got input"):
        block.append_op("relu", input={"X": x}, outputs={})
    with pytest.raises(ValueError, match=r"\[Block.create_var\] unknown arguments"):
        block.create_var(name="v", shapes=[1])
    with pytest.raises(NotImplementedError, match=r"\[Block.create_var\] is_data is not supported"):
        block.create_var(name="v", shape=[1], is_data=True)


def test_gradients_stop_where_they_are_told_to():
    x = static.data("x", [3])
    x.stop_gradient = False
    block = static.default_main_program().global_block()
    kept, stopped = block.create_var(name="kept"), block.create_var(name="s", stop_gradient=True)
    told = block.create_var(name="told")
    block.append_op("scale", {"X": x}, {"Out": kept}, {"scale": 2.0})
    block.append_op("scale", {"X": x}, {"Out": stopped}, {"scale": 3.0})
    block.append_op("scale", {"X": x}, {"Out": told}, {"scale": 5.0}, stop_gradient=True)
    assert [v.stop_gradient for v in (kept, stopped, told)] == [False, True, True]
    (gradient,) = static.gradients([kept * stopped * told], [x])
    values = np.float32([1, 2, 3])
    (found,) = static.Executor().run(feed={"x": values}, fetch_list=[gradient])
    np.testing.assert_allclose(found, 2 * 3 * values * 5 * values)


def test_parameter_of_a_block():
    """It is that block's Program's, with all it was given."""
    other, startup = static.Program(), static.default_startup_program()
    decay = paddle.regularizer.L2Decay(0.1)
    made = other.global_block().create_parameter(
        name="w", shape=[2], dtype="float32", trainable=False, regularizer=decay, need_clip=False,
        optimize_attr={"learning_rate": 0.5}, initializer=paddle.nn.initializer.Constant(3.0),
    )  # fmt: skip
    assert [p.name for p in other.all_parameters()] == ["w"]
    assert static.default_main_program().all_parameters() == []
    assert not made.trainable and made.stop_gradient and made.regularizer is decay
    assert made.optimize_attr == {"learning_rate": 0.5} and not made.need_clip
    exe = static.Executor()
    exe.run(startup)
    assert exe.run(other, fetch_list=[made])[0].tolist() == [3, 3]
    with pytest.raises(ValueError, match="unknown arguments: .* got trainabel"):
        other.global_block().create_parameter(name="v", shape=[2], trainabel=False)


def test_parameter_that_the_startup_program_initializes():
    main, startup = static.default_main_program(), static.Program()
    startup._is_start_up_program_ = True
    seven = paddle.nn.initializer.Constant(7.0)
    startup.global_block().create_parameter(name="w", shape=[2], initializer=seven)
    with static.program_guard(main, startup):
        made = main.global_block().create_parameter(name="w", shape=[2])
    exe = static.Executor()
    exe.run(startup)
    assert exe.run(main, fetch_list=[made])[0].tolist() == [7, 7]


def test_helper_hands_on_what_it_is_given():
    helper = LayerHelper("thing")
    attr = paddle.ParamAttr(trainable=False, regularizer=paddle.regularizer.L1Decay(0.2))
    made = helper.create_parameter(attr, [2], "float32")
    assert made.stop_gradient and made.regularizer is attr.regularizer
    assert helper.create_parameter(None, [2], stop_gradient=True).stop_gradient
    with pytest.raises(TypeError, match="foo"):
        helper.create_parameter(None, [2], foo=1)
    with pytest.raises(NotImplementedError, match="type is not supported"):
        helper.create_parameter(None, [2], type="SELECTED_ROWS")
    x = static.data("x", [2])
    x.stop_gradient = False
    out = helper.create_variable_for_type_inference("float32", stop_gradient=True)
    helper.append_op("relu", inputs={"X": [x]}, outputs={"Out": [out]})
    assert out.stop_gradient


def test_checkpoints_and_callbacks():
    x = static.data("x", [3])
    w = paddle.create_parameter([3], "float32")
    loss = (x * w).sum()
    with pytest.raises(NotImplementedError, match="callbacks is not supported"):
        static.append_backward(loss, callbacks=[print])
    with pytest.raises(TypeError, match="checkpoints: expected Variables or names, got int"):
        static.append_backward(loss, checkpoints=[1])
    with pytest.raises(
        ValueError, match="checkpoints: 'nothing' is no value of the loss's Program"
    ):
        static.append_backward(loss, checkpoints=["nothing"])


def deep(checkpoints, rows=64, width=32):
    """The Program of a deep net and its gradient."""
    main = static.Program()
    with static.program_guard(main, static.Program()):
        h, kept = static.data("x", [rows, width]), []
        for _ in range(12):
            h = paddle.tanh(h.exp() * 0.1).erf()
            kept.append(h)
        w = paddle.create_parameter([width], "float32", name="w")
        h = h * w
        for _ in range(12):
            h = paddle.tanh(h.exp() * 0.1).erf()
            kept.append(h)
        loss = paddle.matmul(h, h, transpose_y=True).mean()
        kept = kept[3::4] if checkpoints else None
        ((_, gradient),) = static.append_backward(loss, checkpoints=kept)
    return main, gradient


def test_checkpoints_save_memory_and_keep_the_bits():
    results, peaks = [], []
    for checkpoints in (False, True):
        main, gradient = deep(checkpoints)
        scope = static.Scope()
        with static.scope_guard(scope):
            exe = static.Executor()
            scope.var("w").get_tensor().set(np.full(32, 0.5, np.float32), paddle.CPUPlace())
            x = np.linspace(-1, 1, 64 * 32, dtype=np.float32).reshape(64, 32)
            results.append(exe.run(main, feed={"x": x}, fetch_list=[gradient])[0])
        peaks.append(_core.passes_peak(passes.rewrite(main, [gradient], "train").program))
    assert results[0].tobytes() == results[1].tobytes()
    assert peaks[1] < 0.6 * peaks[0]


def test_checkpoints_save_memory_of_the_plan():
    arenas = []
    for checkpoints in (False, True):
        # So large that steps run one after another: those of parallel segments share no memory.
        main, gradient = deep(checkpoints, 1024, 512)
        scope = static.Scope()
        scope.var("w").get_tensor().set(np.ones(512, np.float32), paddle.CPUPlace())
        x = _core.to_tensor(np.zeros((1024, 512), np.float32), None, True)
        executor = _core.executor_new(1)
        report, _ = _core.executor_plan(executor, main._handle, [x], [gradient], scope._handle)
        arenas.append(report["arena"])
    assert arenas[1] < 0.55 * arenas[0]


def test_state_of_an_optimizer_begins_in_the_startup_program_that_is_given():
    startup = static.Program()
    x = static.data("x", [1])
    w = paddle.create_parameter([1], "float32")
    loss = (x * w).sum()
    before = len(static.default_startup_program().global_block().ops)
    paddle.optimizer.Momentum(0.1, 0.9).minimize(loss, startup_program=startup)
    assert len(static.default_startup_program().global_block().ops) == before
    assert len(startup.global_block().ops) > 0


def test_nce_with_sparse_gradients():
    x = static.data("x", [4, 3])
    label = static.data("label", [4, 1], "int64")
    loss = static.nn.nce(x, label, 1000, num_neg_samples=2, seed=1, is_sparse=True,
                         sampler="log_uniform").sum()  # fmt: skip
    pairs = static.append_backward(loss)
    exe = static.Executor()
    exe.run(static.default_startup_program())
    feed = {"x": np.ones((4, 3), "float32"), "label": np.arange(4)[:, None]}
    found = exe.run(feed=feed, fetch_list=[g for _, g in pairs], return_numpy=False)
    assert [v._tensor._layout for v in found] == ["row_sparse", "row_sparse"]


def test_kinds_of_attributes():
    kinds = paddle.base.core.AttrType
    x = static.data("x", [2, 3], "float32")
    paddle.nn.functional.softmax(x, axis=1)
    paddle.transpose(x, [1, 0])
    softmax, transpose = static.default_main_program().global_block().ops
    assert softmax.attr_type("axis") is kinds.INT
    assert transpose.attr_type("perm") is kinds.INTS
    with pytest.raises(ValueError, match="has no attribute 'beta'"):
        softmax.attr_type("beta")
    kind = static.attr_types.attr_type_of
    assert kind(True) is kinds.BOOL and kind([True]) is kinds.BOOLS
    assert kind(2**31) is kinds.LONG and kind([1, -(2**31) - 1]) is kinds.LONGS
    assert kind(0.5) is kinds.FLOAT and kind([0.5]) is kinds.FLOATS
    assert kind("a") is kinds.STRING and kind(["a"]) is kinds.STRINGS
    assert issubclass(paddle.base.core.EnforceNotMet, Exception)


def test_the_length_of_an_array_has_one_dimension():
    array = paddle.tensor.create_array("float32")
    x = static.data("x", [2, 3], "float32")
    for i in range(2):
        paddle.tensor.array_write(x, paddle.full([1], i, "int64"), array)
    length = paddle.tensor.array_length(array)
    assert list(length.shape) == [1] and length.dtype == paddle.int64
    (found,) = static.Executor().run(feed={"x": X}, fetch_list=[length])
    assert found.tolist() == [2]
