"""Names that test harnesses import of base and pir: tables of dtypes, marks in names, facts of the build."""

import numpy as np
import pytest

import argosy
from argosy.base import core, executor, framework
from argosy.base.backward import _append_grad_suffix_, _as_list, _some_in_set_, calc_gradient
from argosy.base.data_feeder import _PADDLE_DTYPE_2_NUMPY_DTYPE
from argosy.base.variable_index import _getitem_static, _setitem_static
from argosy.pir.core import np_type_to_paddle_type, str_to_paddle_type, vartype_to_datatype


def test_dtypes_are_attributes_of_their_type():
    for name in ("bool", "uint8", "int64", "float16", "bfloat16", "float32", "complex128"):
        assert getattr(core.DataType, name.upper()) == getattr(argosy, name)


def test_tables_of_dtypes():
    assert vartype_to_datatype[core.VarDesc.VarType.FP32] == argosy.float32
    assert framework.paddle_type_to_proto_type[argosy.int64] == core.VarDesc.VarType.INT64
    numpy_names = [
        _PADDLE_DTYPE_2_NUMPY_DTYPE[d] for d in (argosy.float32, argosy.bfloat16, argosy.bool)
    ]
    assert numpy_names == ["float32", "uint16", "bool"]
    assert np_type_to_paddle_type[np.dtype("uint16")] == argosy.bfloat16
    assert np_type_to_paddle_type[np.dtype("uint8")] == argosy.uint8
    assert str_to_paddle_type["bool_"] == str_to_paddle_type["bool"] == argosy.bool
    assert framework.convert_np_dtype_to_proto_type(np.int32) == argosy.int32
    assert [framework.dtype_to_str(d) for d in (argosy.float16, argosy.bfloat16)] == [
        "fp16",
        "bf16",
    ]
    with pytest.raises(TypeError, match="expected a floating or complex dtype, got paddle.int32"):
        framework.dtype_to_str(argosy.int32)
    assert core.size_of_dtype(argosy.float64) == 8


def test_names_and_lists():
    assert _append_grad_suffix_("x") == "x" + core.grad_var_suffix() == "x@GRAD"
    assert core.kEmptyVarName() == core.empty_var_name() == framework.EMPTY_VAR_NAME == "@EMPTY@"
    assert [_as_list(x) for x in (None, 3, (1, 2), [4])] == [[], [3], [1, 2], [4]]
    assert _some_in_set_(["a", "b"], {"b"}) and not _some_in_set_(["a"], {"b"})
    assert executor._to_name_str(["x", "y"]) == "x,y"


def test_forms_of_feeds():
    fits = executor.dimension_is_compatible_with
    assert fits([2, -1], [2, 3]) and not fits([2, 4], [2, 3]) and not fits([1], [1, 2])
    assert executor.dtype_is_compatible_with("float32", argosy.float32)
    assert not executor.dtype_is_compatible_with("int32", argosy.float32)
    made = executor._as_lodtensor([1, 2], argosy.CPUPlace(), "float64")
    assert made.shape() == [2] and np.array(made).dtype == np.float64
    assert core.broadcast_shape([2, 1], [1, 3]) == [2, 3]


def test_one_gradient_comes_alone():
    argosy.enable_static()
    try:
        with argosy.static.program_guard(argosy.static.Program()):
            x = argosy.static.data("x", [2])
            x.stop_gradient = False
            (dx,) = argosy.static.Executor().run(
                feed={"x": np.array([1, 3], "float32")}, fetch_list=[calc_gradient(x * x, x)]
            )
    finally:
        argosy.disable_static()
    assert dx.tolist() == [2.0, 6.0]


def test_flags_within_a_context():
    with framework.flag_guard("FLAGS_check_nan_inf", True):
        assert core.globals()["FLAGS_check_nan_inf"] is True
    assert core.globals()["FLAGS_check_nan_inf"] is False


def test_facts():
    assert not core.is_compiled_with_onednn() and not framework.in_pir_executor_mode()
    assert core._check_and_set_prim_vjp_skip_default_ops() and not core._enable_prim_dynamic_shape()
    core._clear_prim_vjp_skip_default_ops()
    assert core.get_available_device() == core.get_all_device_type() == []
    assert core.has_non_empty_grad_op_maker("relu") and core.has_empty_grad_op_maker("shape")
    assert framework._get_paddle_place_list(["cpu"]) == [argosy.CPUPlace()]
    with pytest.raises(TypeError, match="expected a list or tuple, got str. Do this: put it into"):
        framework._get_paddle_place_list("cpu")


def test_lists_of_whole_operations_have_no_effect_which_a_warning_says():
    argosy._support._told.discard(("core._set_prim_forward_blacklist", "names"))
    with pytest.warns(UserWarning, match="has no effect: Programs compute the same by whole"):
        core._set_prim_forward_blacklist("softmax")


def test_parts_of_variables_by_functions():
    x = argosy.arange(6).reshape([2, 3])
    assert _getitem_static(x, (1, slice(0, 2))).tolist() == [3, 4]
    assert _setitem_static(x, (0, 0), 7).tolist() == [[7, 1, 2], [3, 4, 5]]
    assert x[0, 0].item() == 0


def test_capsules_are_tensors_of_scopes():
    made = core.LoDTensor()
    made.set(np.arange(6.0).reshape(2, 3), argosy.CPUPlace())
    again = core.from_dlpack(made._to_dlpack())
    assert isinstance(again, core.DenseTensor) and again.shape() == [2, 3]
    assert argosy.to_tensor(again).tolist() == [[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]]
    with pytest.raises(TypeError):
        core.from_dlpack(3)


def test_errors_that_programs_of_paddle_expect(tmp_path):
    with pytest.raises(ValueError, match="should be an int or None, but received str"):
        argosy.static.InputSpec(["a"])
    with pytest.raises(AssertionError, match="metrics must have one element"):
        argosy.optimizer.lr.ReduceOnPlateau(1.0).step(np.ones([2]))
    argosy.enable_static()
    try:
        with pytest.raises(FileNotFoundError, match="there is no file .*nothing.pdmodel"):
            argosy.static.load_inference_model(str(tmp_path / "nothing"), argosy.static.Executor())
    finally:
        argosy.disable_static()


def test_counted_calls_are_there_for_programs(capsys):
    x = argosy.ones([2, 2])
    with argosy.amp.debugging.collect_operator_stats():
        argosy.matmul(x, x) + x.astype("bfloat16").astype("float32")
    found = core.get_low_precision_op_list()
    assert found["matmul_v2"] == found["elementwise_add"] == "0,0,1,0" and "cast" in found
    assert "op count" in capsys.readouterr().out
    core.clear_low_precision_op_list()
    assert core.get_low_precision_op_list() == {}


def test_parameters_of_programs_of_values():
    from argosy.pir.core import create_parameter

    one = argosy.nn.initializer.Constant(1.0)
    argosy.enable_static()
    try:
        main, startup = argosy.static.Program(), argosy.static.Program()
        with argosy.static.program_guard(main, startup):
            made = create_parameter("float32", [2], name="w_of_values", initializer=one)
            assert made.name == "w_of_values" and main.all_parameters()[0] is made
            with pytest.raises(ValueError, match="initializer is missing. Do this: pass one"):
                create_parameter("float32", [2])
            with pytest.raises(NotImplementedError, match="trainable is not supported"):
                create_parameter("float32", [2], initializer=one, trainable=False)
            with pytest.raises(ValueError, match="unknown arguments: .* got other"):
                create_parameter("float32", [2], initializer=one, other=1)
            exe = argosy.static.Executor()
            exe.run(startup)
            assert exe.run(main, fetch_list=[made * 2])[0].tolist() == [2.0, 2.0]
    finally:
        argosy.disable_static()


def test_sources_and_endings_of_files():
    from argosy.jit.dy2static.utils import func_to_source_code
    from argosy.jit.translated_layer import INFER_MODEL_SUFFIX, INFER_PARAMS_SUFFIX

    def inner(x):
        return x

    assert func_to_source_code(inner) == "def inner(x):\n    return x\n"
    assert func_to_source_code(inner, dedent=False).startswith("    def inner")
    with pytest.raises(
        TypeError, match="expected a function or method, got int. Do this: pass one"
    ):
        func_to_source_code(3)
    assert (INFER_MODEL_SUFFIX, INFER_PARAMS_SUFFIX) == (".pdmodel", ".pdiparams")


def test_classes_that_programs_name():
    from argosy.autograd.autograd import Hessian, Jacobian
    from argosy.jit.dy2static.utils import Dygraph2StaticException
    from argosy.jit.pir_translated_layer import PirTranslatedLayer
    from argosy.jit.sot.utils.exceptions import InnerError
    from argosy.static.log_helper import get_logger

    x = argosy.ones([2])
    x.stop_gradient = False
    assert isinstance(argosy.autograd.jacobian(x * x, x), Jacobian)
    assert isinstance(argosy.autograd.hessian((x * x).sum(), x), Hessian)
    assert PirTranslatedLayer is argosy.jit.TranslatedLayer
    assert all(issubclass(kind, Exception) for kind in (Dygraph2StaticException, InnerError))
    assert get_logger("argosy.test", "INFO").name == "argosy.test"
