"""What test harnesses of single operations use: descriptions of kinds, messages, operators that run by
themselves, Programs of declared variables. Expected numbers are NumPy's."""

import numpy as np
import pytest

import argosy as paddle
from argosy.base import core, framework
from argosy.jit.dy2static.utils import parse_arg_and_kwargs
from argosy.pir_utils import IrGuard, OldIrGuard, test_with_pir_api

rng = np.random.default_rng(3)
X, Y = rng.uniform(0.1, 1, (3, 4)), rng.uniform(0.1, 1, (3, 4))
POSITIONS = np.argsort(-X, 1)
CLIPPED, MASKED = X.clip(0.3, 0.7), np.where(X > Y, X, Y)
CASES = [
    ("relu", {"X": X - 0.5}, {}, {"Out": np.maximum(X - 0.5, 0)}),
    ("leaky_relu", {"X": X - 0.5}, {"alpha": 0.3}, {"Out": np.where(X > 0.5, X - 0.5, 0.3 * (X - 0.5))}),
    ("elementwise_fmax", {"X": X, "Y": Y}, {"axis": -1}, {"Out": np.fmax(X, Y)}),
    ("clip", {"X": X}, {"min": 0.3, "max": 0.7}, {"Out": CLIPPED}),
    ("clip", {"X": X, "Min": np.array([0.3]), "Max": np.array([0.7])}, {"min": 9.0}, {"Out": CLIPPED}),
    ("slice", {"Input": X}, {"axes": [0, 1], "starts": [1, -3], "ends": [2, 9], "decrease_axis": [0]},
     {"Out": X[1, -3:]}),
    ("strided_slice", {"Input": X}, {"axes": [1], "starts": [3], "ends": [0], "strides": [-2]}, {"Out": X[:, 3:0:-2]}),
    ("cumsum", {"X": X}, {"axis": 1, "exclusive": True, "reverse": True},
     {"Out": np.cumsum(X[:, ::-1], 1)[:, ::-1] - X}),
    ("arg_max", {"X": X}, {"axis": 1, "dtype": 3}, {"Out": X.argmax(1)}),
    ("argsort", {"X": X}, {"axis": 1, "descending": True},
     {"Out": np.take_along_axis(X, POSITIONS, 1), "Indices": POSITIONS}),
    ("top_k_v2", {"X": X}, {"k": 2}, {"Out": np.take_along_axis(X, POSITIONS[:, :2], 1), "Indices": POSITIONS[:, :2]}),
    ("one_hot_v2", {"X": np.array([2, 0])}, {"depth": 3, "dtype": 5}, {"Out": np.eye(3)[[2, 0]]}),
    ("tril_triu", {"X": X}, {"diagonal": 1, "lower": False}, {"Out": np.triu(X, 1)}),
    ("p_norm", {"X": X}, {"porder": 3.0, "axis": 1, "epsilon": 1e-12}, {"Out": (X**3).sum(1) ** (1 / 3)}),
    ("where", {"Condition": X > Y, "X": X, "Y": Y}, {}, {"Out": MASKED}),
    ("huber_loss", {"X": X, "Y": Y}, {"delta": 9.0}, {"Out": 0.5 * (X - Y) ** 2, "Residual": Y - X}),
    ("bce_loss", {"X": X, "Label": (Y > 0.5) * 1.0}, {}, {"Out": -np.log(np.where(Y > 0.5, X, 1 - X))}),
    ("kldiv_loss", {"X": X, "Target": Y}, {"reduction": "none"}, {"Loss": Y * (np.log(Y) - X)}),
    ("prelu", {"X": X - 0.5, "Alpha": Y}, {"mode": "element"}, {"Out": np.where(X > 0.5, X - 0.5, Y * (X - 0.5))}),
    ("norm", {"X": X}, {"axis": 1, "epsilon": 0.0}, {"Out": X / np.sqrt((X * X).sum(1, keepdims=True))}),
    ("sigmoid_cross_entropy_with_logits", {"X": X, "Label": (Y > 0.5) * 1.0}, {"normalize": True},
     {"Out": (X - X * (Y > 0.5) + np.log1p(np.exp(-X))) / X.size}),
    ("momentum", {"Param": X, "Grad": Y, "Velocity": X, "LearningRate": np.array([0.1])},
     {"mu": 0.9, "use_nesterov": True},
     {"VelocityOut": 0.9 * X + Y, "ParamOut": X - 0.1 * (Y + 0.9 * (0.9 * X + Y))}),
]  # fmt: skip


def scope_with(values):
    scope = paddle.static.Scope()
    for name, value in values.items():
        scope.var(name).get_tensor().set(value, paddle.CPUPlace())
    return scope


@pytest.mark.parametrize("kind, inputs, attrs, outputs", CASES, ids=[case[0] for case in CASES])
def test_an_operator_runs_by_itself(kind, inputs, attrs, outputs):
    scope = scope_with(inputs)
    groups = ({name: [name] for name in side} for side in (inputs, outputs))
    core.Operator(kind, *groups, attrs).run(scope, paddle.CPUPlace())
    for name, wanted in outputs.items():
        np.testing.assert_allclose(np.array(scope.find_var(name).get_tensor()), wanted, rtol=1e-6)


@pytest.mark.parametrize("kind, inputs, attrs, outputs", CASES, ids=[case[0] for case in CASES])
def test_the_same_in_a_program_of_declared_variables(kind, inputs, attrs, outputs):
    with OldIrGuard():
        program = paddle.static.Program()
        with paddle.static.program_guard(program):
            block = program.global_block()
            given = {
                n: block.create_var(name=n, shape=v.shape, dtype=v.dtype) for n, v in inputs.items()
            }
            made = {n: block.create_var(name=n + "_out", dtype="float64") for n in outputs}
            op = block.append_op(type=kind, inputs=given, outputs=made, attrs=attrs)
            op.desc.infer_var_type(block.desc)
            op.desc.infer_shape(block.desc)
        fetched = paddle.static.Executor().run(program, feed=inputs, fetch_list=list(made.values()))
    for value, wanted in zip(fetched, outputs.values()):
        np.testing.assert_allclose(value, wanted, rtol=1e-6)


def test_gradients_of_declared_variables():
    with OldIrGuard():
        program = paddle.static.Program()
        with paddle.static.program_guard(program):
            block = program.global_block()
            other = paddle.static.Program().global_block()
            x, still = (
                block.create_var(name=n, shape=[3], dtype="float32", stop_gradient=n == "still")
                for n in ("x", "still")
            )
            out = block.create_var(name="out", dtype="float32")
            op = block.append_op(
                type="elementwise_mul", inputs={"X": x, "Y": still}, outputs={"Out": out}
            )
            with pytest.raises(
                ValueError, match="'elementwise_mul' stands in another block.*Do this"
            ):
                op.desc.infer_shape(other)
            paddle.static.append_backward(paddle.mean(out), parameter_list=["x"])
        feed = {"x": np.float32([1, 2, 3]), "still": np.float32([3, 6, 9])}
        (gradient,) = paddle.static.Executor().run(program, feed=feed, fetch_list=["x@GRAD"])
    np.testing.assert_allclose(gradient, [1, 2, 3])


def test_numeric_gradient_through_elements_of_a_tensor():
    scope = scope_with({"x": np.float64([1, 2])})
    op, tensor = (
        core.Operator("square", {"X": ["x"]}, {"Out": ["y"]}, {}),
        scope.find_var("x").get_tensor(),
    )
    assert tensor._get_double_element(1) == 2.0 and tensor._dtype() == core.VarDesc.VarType.FP64
    tensor._set_double_element(1, 3.0)
    op.run(scope, paddle.CPUPlace())
    assert np.array(scope.find_var("y").get_tensor()).tolist() == [1.0, 9.0]
    tensor._set_dims([2, 1])
    assert tensor.shape() == [2, 1]


def test_what_an_operator_says():
    op = core.Operator("scale", {"X": ["x"]}, {"Out": ["y"]}, {"scale": 2.0})
    assert op.type() == "scale" and op.inputs() == {"X": ["x"]} and op.outputs() == {"Out": ["y"]}
    assert op.input_vars() == ["x"] and op.output_vars() == ["y"] and not op.support_gpu()
    with pytest.raises(NotImplementedError, match="no operation of type 'nothing'.*Do this"):
        core.Operator("nothing", {"X": ["x"]}, {"Out": ["y"]}, {}).run(
            scope_with({"x": X}), paddle.CPUPlace()
        )


def test_messages():
    pb = pytest.importorskip("argosy.base.proto.framework_pb2")
    protos = {p.type: p for p in map(pb.OpProto.FromString, core.get_all_op_protos())}
    concat, dropout = protos["concat"], protos["dropout"]
    assert [(p.name, p.duplicable, p.dispensable) for p in concat.inputs] == [
        ("X", True, False), ("AxisTensor", False, True),
    ]  # fmt: skip
    assert [p.name for p in dropout.outputs if p.intermediate] == ["Mask"]
    assert {a.name: a.type for a in concat.attrs}["axis"] == pb.INT and pb.BOOLEAN == 6
    desc = pb.OpDesc(type="scale")
    desc.inputs.add(parameter="X", arguments=["x"])
    desc.outputs.add(parameter="Out", arguments=["y"])
    desc.attrs.add(name="scale", type=pb.FLOAT, f=0.5)
    desc.attrs.add(name="bias_after_scale", type=pb.BOOLEAN, b=True)
    scope = scope_with({"x": np.float32([4])})
    core.Operator.create(desc.SerializeToString()).run(scope, paddle.CPUPlace())
    assert np.array(scope.find_var("y").get_tensor()).tolist() == [2.0]
    desc.attrs.add(name="body", type=pb.BLOCK, block_idx=1)
    with pytest.raises(NotImplementedError, match="'body' is of kind BLOCK.*Do this"):
        core.Operator.create(desc.SerializeToString())


def test_signatures_of_calls():
    tracer = framework._dygraph_tracer()
    inputs, attrs, outputs = tracer._get_kernel_signature("clip", {"X": [1], "Max": [1]}, {}, {})
    assert (inputs, attrs, outputs) == (["X"], ["min", "Max"], ["Out"])
    assert tracer._get_kernel_signature("lookup_table_v2", {}, {}, {})[0] == ["Ids", "W"]
    with pytest.raises(RuntimeError, match="'nothing'.*Do this"):
        tracer._get_kernel_signature("nothing", {}, {}, {})
    assert parse_arg_and_kwargs(paddle.clip)[0] == ["x", "min", "max", "name"]
    proto = framework.OpProtoHolder.instance().get_op_proto("concat")
    canonical = framework.canonicalize_attrs(
        {"axis": np.int64(1), "op_device": None, "more": [2]}, proto
    )
    assert (
        canonical == {"axis": 1, "op_device": None, "more": [2]} and type(canonical["axis"]) is int
    )
    assert core.has_comp_grad_op_maker("relu") and core.has_empty_grad_op_maker("arg_max")
    for ask in (core.op_support_gpu, core.has_infer_inplace, core.has_grad_op_maker):
        assert ask("relu") is False
        with pytest.raises(ValueError, match="'nothing'|\"nothing\""):
            ask("nothing")
    assert core.get_op_extra_attrs("relu_grad") == {}
    kernels = core._get_all_register_op_kernels()
    with pytest.warns(UserWarning, match="library has no effect: all are in one library"):
        assert core._get_all_register_op_kernels("phi") == kernels
    assert "relu_grad" in kernels and "arg_max" in kernels and "arg_max_grad" not in kernels


def test_numbers_of_dtypes():
    types = core.VarDesc.VarType
    assert [int(t) for t in (types.BOOL, types.FP16, types.FP32, types.FP64, types.BF16)] == [
        0,
        4,
        5,
        6,
        22,
    ]
    with pytest.raises(TypeError, match="no number for uint32.*Do this"):
        int(paddle.to_tensor(np.uint32([1])).dtype)


def test_gradients_by_the_names_of_values():
    from argosy.autograd.ir_backward import grad

    with IrGuard():
        program = paddle.static.Program()
        with paddle.static.program_guard(program):
            x, w = (paddle.static.data(n, [2], "float32") for n in "xw")
            x.stop_gradient = w.stop_gradient = False
            y = x * w
            first = grad([y], [x, w], grad_outputs=[paddle.full([2], 2.0)])
            (blocked,) = grad(y + x, x, no_grad_vars=[y])
            with pytest.raises(TypeError, match="outputs: expected a Variable.*Do this"):
                grad(3, x)
        feed = {"x": np.float32([1, 2]), "w": np.float32([3, 4])}
        got = paddle.static.Executor().run(program, feed=feed, fetch_list=[*first, blocked])
    np.testing.assert_allclose(got, [[6, 8], [2, 4], [1, 1]])


def test_which_representation_was_chosen():
    assert (
        framework.use_pir_api()
        and framework.in_dynamic_or_pir_mode()
        and not framework.in_pir_mode()
    )
    with IrGuard():
        assert framework.in_pir_mode() and framework.in_dynamic_or_pir_mode()
        with OldIrGuard():
            assert not framework.in_pir_mode() and not framework.in_dynamic_or_pir_mode()
        assert framework.in_pir_mode()
    seen = []
    test_with_pir_api(lambda: seen.append((framework.use_pir_api(), paddle.in_dynamic_mode())))()
    assert seen == [(False, False), (True, False)] and paddle.in_dynamic_mode()


def test_values_as_keys():
    from argosy.autograd.backward_utils import ValueDict, ValueSet

    x, y = paddle.ones([2]), paddle.ones([2])
    found = ValueDict([(x, 1)], default_factory=list)
    assert found[x] == 1 and y not in found and found[y] == [] and len(found.copy()) == 2
    with pytest.raises(KeyError):
        ValueDict()[x]
    values = ValueSet([x, x])
    values.update([y])
    values.discard(x)
    assert list(values.copy()) == [y] and x not in values
