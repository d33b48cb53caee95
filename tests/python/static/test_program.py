"""Programs as people and programs look at them; clones."""

import numpy as np
import pytest
from tests.python.passes.inference_cases import FUNCTIONS
from tests.python.passes.inference_cases import X as IMAGES

import argosy
from argosy import nn, static

X = np.random.default_rng(3).standard_normal((8, 3, 4, 4)).astype("float32")


def network():
    x = static.data("x", [None, 3, 4, 4], "float32")
    y = static.nn.conv2d(x, 4, 3, act="relu")
    y = static.nn.batch_norm(y)
    y = nn.functional.dropout(y, 0.5)
    y = nn.functional.dropout(y, 0.25, mode="downscale_in_infer")
    return x, static.nn.fc(y, 2)


def test_clone_for_test_keeps_all_weights_of_attention(start):
    x = static.data("x", [2, 5, 8], "float32")
    attention = nn.MultiHeadAttention(8, 2, dropout=0.9)
    y = attention(x)
    test = static.default_main_program().clone(for_test=True)
    assert "attention_bits" in {o.type for o in static.default_main_program().global_block().ops}
    assert "attention_bits" not in {o.type for o in test.global_block().ops}
    feed = {"x": X[:2, 0].reshape(2, 2, 8)[:, [0, 1, 1, 0, 0]]}
    exe = start()
    found = exe.run(test, feed=feed, fetch_list=[y])[0]
    attention.eval()
    with static.program_guard(static.Program()):
        x = static.data("x", [2, 5, 8], "float32")
        want = exe.run(feed=feed, fetch_list=[attention(x)])[0]
    np.testing.assert_array_equal(found, want)


@pytest.mark.parametrize("after", [False, True])
def test_clone_for_test(start, after):
    _, y = network()
    loss = (y * y).mean()
    main = static.default_main_program()
    clones = [main.clone(for_test=True)]
    argosy.optimizer.Momentum(0.1, 0.9).minimize(loss)
    clones.append(main.clone(for_test=True))
    test = clones[after]
    assert not any(o.attr("op_role") for o in test.global_block().ops)
    assert {"momentum", "dropout_bits"}.isdisjoint(o.type for o in test.global_block().ops)
    exe = start()
    scope = static.global_scope()
    for _ in range(3):
        exe.run(feed={"x": X}, fetch_list=[loss])
    names = scope.local_var_names()
    before = {n: np.array(scope.find_var(n).get_tensor()) for n in names}
    first, second = (exe.run(test, feed={"x": X}, fetch_list=[y])[0] for _ in range(2))
    np.testing.assert_array_equal(first, second)
    for n, value in before.items():
        np.testing.assert_array_equal(value, np.array(scope.find_var(n).get_tensor()))
    v = before
    argosy.disable_static()
    t = argosy.nn.functional.conv2d(
        *(argosy.to_tensor(a) for a in (X, v["conv2d_0.w_0"], v["conv2d_0.b_0"]))
    )
    t = t.clip(min=0)
    t = nn.functional.batch_norm(
        t, *(argosy.to_tensor(v["batch_norm_0." + k]) for k in ("w_1", "w_2", "w_0", "b_0"))
    )
    want = (t.numpy().reshape(8, -1) * 0.75) @ v["fc_0.w_0"] + v["fc_0.b_0"]
    np.testing.assert_allclose(first, want, rtol=1e-4, atol=1e-5)


def test_clone_trains_alike(start):
    _, y = network()
    loss = (y * y).mean()
    argosy.optimizer.SGD(0.1).minimize(loss)
    copy = static.default_main_program().clone()
    exe = start()
    w = "fc_0.w_0"
    values = []
    for _ in range(2):
        exe.run(copy, feed={"x": X}, fetch_list=[loss])
        values.append(np.array(static.global_scope().find_var(w).get_tensor()))
    assert not np.array_equal(*values)
    with static.program_guard(copy):
        z = static.data("z", [1])
    assert not static.default_main_program().global_block().has_var("z")
    assert z.block.program is copy


def test_introspection():
    x = static.data("x", [None, 3], "float32")
    y = static.nn.fc(x, 2, activation="relu")
    block = static.default_main_program().global_block()
    assert [o.type for o in block.ops] == ["matmul_v2", "elementwise_add", "relu"]
    mul, add, _ = block.ops
    assert mul.input("X") == ["x"] and mul.input("Y") == ["fc_0.w_0"]
    assert mul.output("Out") == add.input("X")
    assert mul.input_arg_names == ["x", "fc_0.w_0"] and add.output_names == ["Out"]
    assert mul.attr("transpose_x") is False and mul.has_attr("transpose_y")
    with pytest.raises(ValueError, match="has no input 'Z'"):
        mul.input("Z")
    with pytest.raises(ValueError, match="no attribute 'nothing'"):
        mul.attr("nothing")
    assert "test_program.py" in mul.callstack
    assert y.op.type == "relu" and x.op is None and x.is_data and not y.is_data
    assert y.block.program is static.default_main_program() and x.lod_level == 0
    w = block.var("fc_0.w_0")
    assert w is static.default_main_program().all_parameters()[0]
    assert w.is_parameter and w.persistable and w.trainable and w.grad_name == "fc_0.w_0@GRAD"
    assert block.var("x").shape == [-1, 3] and block.has_var("x") and not block.has_var("nobody")
    with pytest.raises(ValueError, match="var nobody not in this block"):
        block.var("nobody")
    with pytest.raises(TypeError, match="expected a str"):
        block.var(3)
    text = str(static.default_main_program())
    for part in ("var x : ", "persist trainable param fc_0.w_0", "relu(inputs={X=", "block_idx:0"):
        assert part in text
    names = [v.name for v in static.default_main_program().list_vars()]
    assert names[:3] == ["x", "fc_0.w_0", "fc_0.b_0"] and y.name in names
    assert isinstance(x, static.Variable) and isinstance(w, static.Variable)
    argosy.disable_static()
    assert not isinstance(argosy.ones([2]), static.Variable)
    assert argosy.ones([2]).block.program is static.default_main_program()
    assert not hasattr(argosy.ones([2]), "lod_level")


def test_blocks_of_control_flow():
    x = static.data("x", [1], "float32")
    static.nn.cond(x.sum() > 0, lambda: x + 1, lambda: x - 1)
    main = static.default_main_program()
    assert main.num_blocks == 3 and main.block(1).parent_idx == 0
    assert [o.type for o in main.block(2).ops] == ["elementwise_sub"]


def test_append_op_and_create_var(start):
    x = static.data("x", [None, 2], "float32")
    block = static.default_main_program().global_block()
    out = block.create_var(name="out", dtype="float32", shape=[-1, 2])
    op = block.append_op("scale", {"X": [x]}, {"Out": [out]}, {"scale": 3.0, "bias": 1.0})
    assert op.type == "scale" and out.name == "out" and out.shape == [-1, 2]
    both = block.create_var(name="both")
    block.append_op(type="elementwise_add", inputs={"X": [x], "Y": ["out"]}, outputs={"Out": both})
    kept = block.create_var(name="kept", shape=[2], dtype="float32", persistable=True)
    block.append_op("reduce_sum", {"X": both}, {"Out": kept}, {"dim": [0]})
    exe = start()
    value = np.array([[1.0, 2.0]], "float32")
    assert exe.run(feed={"x": value}, fetch_list=["both"])[0].tolist() == [[5, 9]]
    assert np.array(static.global_scope().find_var("kept").get_tensor()).tolist() == [5, 9]
    with pytest.raises(NotImplementedError, match="no operation of type 'fantasy'"):
        block.append_op("fantasy", {"X": x}, {"Out": out})
    with pytest.raises(ValueError, match="misses 'Y'"):
        block.append_op("elementwise_add", {"X": x}, {"Out": out})


def test_data():
    x = static.data("x", [None, 2])
    assert x.dtype == argosy.float32 and x.stop_gradient and x.name == "x"
    with pytest.raises(TypeError, match="shape"):
        static.data("y", 3)
    with pytest.raises(TypeError, match="name"):
        static.data(3, [3])


def test_data_again_with_another_form(start):
    """A Program grows over many calls, as one that tests share; the name feeds what is fetched."""
    x = static.data("x", [2])
    y = x + 1
    other = static.data("x", [3], "int64")
    z = other * 2
    assert other is not x and other.name == x.name == "x"
    exe = start()
    floats, whole = np.ones(2, "float32"), np.arange(3)
    assert exe.run(feed={"x": floats}, fetch_list=[y])[0].tolist() == [2, 2]
    assert exe.run(feed={"x": whole}, fetch_list=[z, "x"])[0].tolist() == [0, 2, 4]
    assert exe.run(feed={"x": floats}, fetch_list=[y])[0].tolist() == [2, 2]
    with pytest.raises(ValueError, match="data type of fed Variable 'x'"):
        exe.run(feed={"x": floats}, fetch_list=[y, z])
    with pytest.raises(ValueError, match="input 'x' is not fed"):
        exe.run(feed={}, fetch_list=[z])
    again = static.data("x", [2])
    assert exe.run(feed={"x": floats}, fetch_list=[again + y])[0].tolist() == [3, 3]
    twin = static.data("x", [2], "float64")
    assert exe.run(feed={"x": np.ones(2)}, fetch_list=[twin.sum()])[0] == 2


def test_setitem(start):
    x = static.data("x", [2, 3])
    y = static.setitem(x, (slice(None), 1), x[:, 0] * 2)
    value = np.arange(6, dtype="float32").reshape(2, 3)
    found = start().run(feed={"x": value}, fetch_list=[x, y])
    assert found[0].tolist() == value.tolist() and found[1].tolist() == [[0, 0, 2], [3, 6, 5]]


def test_input_spec():
    spec = static.InputSpec([None, 784], "float32", "x")
    assert spec.shape == (-1, 784) and spec == static.InputSpec([-1, 784], "float32", "x")
    assert spec.batch(4).shape == (4, -1, 784) and spec.unbatch().shape == (-1, 784)
    assert static.InputSpec.from_numpy(X).shape == X.shape
    assert "shape=(-1, 784)" in repr(spec) and hash(spec) is not None
    with pytest.raises(TypeError, match="list"):
        static.InputSpec(3)
    with pytest.raises(ValueError, match="batch_size"):
        spec.batch([1, 2])


def test_layers_in_static_mode(start):
    """Buffers are state; one layer serves two Programs."""
    norm, linear = nn.BatchNorm1D(3), nn.Linear(3, 3)
    x = static.data("x", [None, 3], "float32")
    norm(linear(x))
    other = static.Program()
    with static.program_guard(other):
        again = linear(static.data("x", [None, 3], "float32"))
    exe = start()
    data = X[:, :, 0, 0].copy()
    exe.run(feed={"x": data})
    w, b = (np.array(p.get_value()) for p in (linear.weight, linear.bias))
    np.testing.assert_allclose(
        norm._mean.get_value(), 0.1 * (data @ w + b).mean(0), rtol=1e-5, atol=1e-6
    )
    (got,) = exe.run(other, feed={"x": data}, fetch_list=[again])
    np.testing.assert_allclose(got, data @ w + b, rtol=1e-5, atol=1e-6)
    assert [p.name for p in other.all_parameters()] == ["linear_0.w_0", "linear_0.b_0"]


def test_program_state():
    main = static.default_main_program()
    static.nn.fc(static.data("x", [None, 3]), 2)
    static.Executor().run(static.default_startup_program())
    state = main.state_dict()
    assert list(state) == ["fc_0.w_0", "fc_0.b_0"]
    main.set_state_dict({"fc_0.b_0": np.array([1, 2], "float32")})
    assert main.state_dict("param")["fc_0.b_0"].tolist() == [1, 2]
    assert main.state_dict("opt") == {}
    with pytest.raises(ValueError, match="another shape"):
        main.set_state_dict({"fc_0.b_0": np.ones(3, "float32")})
    with pytest.raises(ValueError, match="mode"):
        main.state_dict("some")
    with pytest.warns(UserWarning, match="no state 'nobody'"):
        main.set_state_dict({"nobody": np.ones(3)})


def test_options_and_guards():
    strategy = static.BuildStrategy()
    strategy.fuse_bn_act_ops = True
    strategy.reduce_strategy = static.BuildStrategy.ReduceStrategy.Reduce
    with pytest.raises(AttributeError, match="no option 'fantasy'"):
        strategy.fantasy = 1
    x = static.data("x", [1])
    with static.name_scope("encoder"), static.device_guard("cpu"):
        y = x + 1
    compiled = static.CompiledProgram(static.default_main_program(), build_strategy=strategy)
    exe = static.Executor()
    assert exe.run(compiled, feed={"x": np.ones(1, "float32")}, fetch_list=[y]) == [2]
    with pytest.raises(TypeError, match="expected Program"):
        static.CompiledProgram(3)
    with pytest.raises(ValueError, match="device"):
        with static.device_guard("abacus"):
            pass
    assert len(static.cpu_places(3)) == 3
    if argosy.is_compiled_with_cuda():
        assert len(static.cuda_places()) == argosy.device.cuda.device_count()
    else:
        with pytest.raises(AssertionError, match="CUDA"):
            static.cuda_places()


def test_layer_helper(start):
    helper = argosy.base.layer_helper.LayerHelper("twice", act="relu")
    x = static.data("x", [2], "float32")
    out = helper.create_variable_for_type_inference("float32")
    helper.append_op("scale", inputs={"X": [x]}, outputs={"Out": [out]}, attrs={"scale": 2.0})
    kept = helper.create_global_variable(persistable=True, shape=[1], dtype="float32")
    helper.set_variable_initializer(kept, nn.initializer.Constant(3.0))
    y = helper.append_activation(out) + kept
    value = np.array([1, -1], "float32")
    assert start().run(feed={"x": value}, fetch_list=[y])[0].tolist() == [5, 3]
    assert helper.main_program is static.default_main_program()
    assert y.get_defining_op().name() == "pd_op.add"


def test_guards_of_test_programs():
    argosy.disable_static()
    with argosy.pir_utils.IrGuard():
        assert not argosy.in_dynamic_mode()
    with argosy.pir_utils.DygraphOldIrGuard():
        assert argosy.in_dynamic_mode()
    argosy.enable_static()


def test_errors_name_the_line_that_built_the_operation():
    x, y = static.data("x", [None, 3]), static.data("y", [None, 3])
    z = x + y
    feed = {"x": np.ones((2, 3), "float32"), "y": np.ones((3, 3), "float32")}
    with pytest.raises(ValueError, match=r"(?s)broadcast.*test_program.py:\d+"):
        static.Executor().run(feed=feed, fetch_list=[z])


def test_layers_that_write_their_parameters(start):
    """What eager layers do to parameters when they are made happens in the startup program."""
    i = static.data("i", [3], "int64")
    table = nn.Embedding(5, 4, padding_idx=0)
    linear = nn.utils.weight_norm(nn.Linear(4, 2))
    loss = linear(table(i)).sum()
    pairs = dict((p.name, g) for p, g in static.append_backward(loss))
    assert {"embedding_0.w_0", "linear_0.w_1", "linear_0.w_2"} <= set(pairs)
    exe = start()
    before = {
        p.name: np.array(p.get_value()) for p in static.default_main_program().all_parameters()
    }
    feed = {"i": np.array([0, 1, 1])}
    got, rows = exe.run(feed=feed, fetch_list=[loss, pairs["embedding_0.w_0"]])
    for p in static.default_main_program().all_parameters():
        np.testing.assert_array_equal(p.get_value(), before[p.name])
    w = before["linear_0.w_1"]
    np.testing.assert_allclose(before["linear_0.w_2"], np.linalg.norm(w, axis=1), rtol=1e-5)
    np.testing.assert_allclose(
        got, (2 * before["embedding_0.w_0"][1] @ w).sum(), rtol=1e-4, atol=1e-5
    )
    assert not rows[0].any()
    np.testing.assert_allclose(rows[1], 2 * w.sum(1), rtol=1e-4)


@pytest.mark.parametrize("name", [n for n in FUNCTIONS if n != "lstm"])  # its weights are eager
def test_a_clone_for_test_is_what_the_layers_are_in_eval(start, name):
    function = FUNCTIONS[name]
    x = static.data("x", IMAGES.shape, "float32")
    y = function(x, True)
    argosy.seed(2)
    test = static.default_main_program().clone(for_test=True)
    draws = {"dropout_bits", "dropout_mask", "attention_bits"}
    assert draws.isdisjoint(o.type for o in test.global_block().ops)
    with static.program_guard(static.Program()):
        x = static.data("x", IMAGES.shape, "float32")
        evaluated = function(x, False)
        want = start().run(feed={"x": IMAGES}, fetch_list=[evaluated])[0]
    found = start().run(test, feed={"x": IMAGES}, fetch_list=[y])[0]
    np.testing.assert_allclose(found, want, rtol=1e-6, atol=1e-6)


def test_a_clone_for_test_draws_nothing_in_a_branch(start):
    x = static.data("x", [2, 8], "float32")
    y = static.nn.cond(x.sum() > 0, lambda: nn.functional.dropout(x, 0.5), lambda: x * 2)
    test = static.default_main_program().clone(for_test=True)
    assert "dropout_bits" in str(static.default_main_program())
    assert "dropout_bits" not in str(test)
    feed = {"x": np.ones((2, 8), "float32")}
    np.testing.assert_array_equal(start().run(test, feed=feed, fetch_list=[y])[0], feed["x"])


def test_a_clone_for_test_keeps_what_forward_operations_write(start):
    x = static.data("x", [1], "float32")
    count = static.create_global_var([1], 0.0, "float32", persistable=True, name="count")
    argosy.assign(count + x, output=count)
    w = static.create_parameter([1], "float32", name="w")
    loss = (w * x).sum()
    argosy.optimizer.SGD(0.1).minimize(loss)
    average = static.ExponentialMovingAverage(0.5)
    average.update()
    test = static.default_main_program().clone(for_test=True)
    exe = start()
    scope = static.global_scope()
    names = [n for n in scope.local_var_names() if n != "count"]
    before = {n: np.array(scope.find_var(n).get_tensor()) for n in names}
    one = np.ones(1, "float32")
    assert [exe.run(test, feed={"x": one}, fetch_list=["count"])[0].item() for _ in range(3)] == [
        1,
        2,
        3,
    ]
    for n in names:
        np.testing.assert_array_equal(np.array(scope.find_var(n).get_tensor()), before[n])


def test_parameters_of_one_name_have_one_form():
    attr = argosy.ParamAttr(name="shared")
    first = static.create_parameter([2, 3], "float32", attr=attr)
    again = static.create_parameter([2, 3], "float32", attr=attr)
    assert first.name == again.name
    for shape, dtype in (([3, 2], "float32"), ([2, 3], "float64")):
        with pytest.raises(ValueError, match="has a parameter 'shared' of another form"):
            static.create_parameter(shape, dtype, attr=attr)
    with static.program_guard(static.Program(), static.Program()):
        assert static.create_parameter([3, 2], "float32", attr=attr).shape == [3, 2]


def test_variables_with_a_value_keep_what_stop_gradient_says():
    block = static.default_main_program().global_block()
    x = static.data("x", [2])
    for stop in (False, True):
        v = block.create_var(
            name=f"v{stop}", shape=[2], dtype="float32", persistable=True, stop_gradient=stop
        )
        assert v.stop_gradient is stop and (v * x).stop_gradient is stop
    # Optimizers train parameters alone.
    weight = static.create_parameter([2], "float32")
    loss = (block.var("vFalse") * weight).sum()
    assert [p.name for p, _ in argosy.optimizer.SGD(0.1).minimize(loss)[1]] == [weight.name]
