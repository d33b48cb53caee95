"""C++ ops as PaddlePaddle's documentation writes them, compiled and loaded for real."""

import os
import pathlib
import re
import shutil
import subprocess
import sys

import numpy as np
import pytest

import argosy as paddle
from argosy import static
from argosy.utils import cpp_extension
from argosy.utils.cpp_extension import compiler

SOURCE = pathlib.Path(__file__).with_name("extension.cc")
ATTRIBUTES = (0.5, True, 3, 1 << 40, "sum", [1, -2], [0.25], [5], ["a", "b"])


@pytest.fixture(scope="session")
def built(tmp_path_factory):
    """The folder that the workers of a test run share: one compiles, the others find it there."""
    base = tmp_path_factory.getbasetemp()
    folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "extensions"
    return folder, cpp_extension.load("tested_ops", [str(SOURCE)], build_directory=str(folder))


@pytest.fixture(scope="session")
def ops(built):
    return built[1]


@pytest.fixture
def static_mode():
    paddle.enable_static()
    yield
    paddle.disable_static()


def leaf(value, dtype="float32"):
    return paddle.to_tensor(np.asarray(value, dtype), stop_gradient=False)


def test_the_module_has_the_ops_and_no_gradients(ops):
    assert ops.__name__ == "tested_ops"
    assert "custom_relu" in ops.__all__ and "custom_relu_grad" not in ops.__all__
    parameters = "(x, y, alpha, twice, i, large, mode, ints, floats, larges, texts)"
    assert str(ops.custom_weighted.__signature__) == parameters
    assert cpp_extension.parse_op_info("custom_weighted")[0] == ["x", "y"]


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_values_and_gradients_equal_the_built_in_op(ops, dtype):
    value = np.random.default_rng(0).standard_normal((3, 4))
    results = []
    for relu in (ops.custom_relu, paddle.nn.functional.relu):
        x = leaf(value).astype(dtype)
        y = relu(x * x * x)
        (g,) = paddle.grad((y * y).sum(), [x], create_graph=True)
        (gg,) = paddle.grad(g.sum(), [x])
        results.append([t.astype("float32").numpy() for t in (y, g, gg)])
    for ours, reference in zip(*results):
        np.testing.assert_array_equal(ours, reference)


@pytest.mark.parametrize("shape", [[], [0, 3], [2, 3]])
def test_shapes_zero_size_and_views(ops, shape):
    x = paddle.to_tensor(
        np.arange(-3, -3 + max(1, np.prod(shape)), dtype="float32")[: int(np.prod(shape))].reshape(
            shape
        )
    )
    np.testing.assert_array_equal(ops.custom_relu(x).numpy(), np.maximum(x.numpy(), 0))
    if len(shape) == 2:
        turned = ops.custom_relu(x.t())
        np.testing.assert_array_equal(turned.numpy(), np.maximum(x.numpy().T, 0))


def test_attributes_of_all_types(ops):
    x, y = paddle.to_tensor([1.0, 2.0]), paddle.to_tensor([4.0, 8.0])
    expected = 2 * (
        x.numpy().astype("float64") * 0.5 + y.numpy() + 3 + (1 << 40) + 2 - 1 + 0.25 + 5
    )
    out = ops.custom_weighted(x.astype("float64"), y.astype("float64"), *ATTRIBUTES)
    np.testing.assert_array_equal(out.numpy(), expected)
    names = list(ops.custom_weighted.__signature__.parameters)[2:]
    named = ops.custom_weighted(x=x, y=y, **dict(zip(names, ATTRIBUTES)))
    np.testing.assert_allclose(named.numpy(), expected)


@pytest.mark.parametrize("with_y", [True, False])
def test_lists_and_inputs_that_may_be_missing(ops, with_y):
    a, b, y = leaf([1.0, 2.0]), leaf([3.0, 4.0]), leaf([5.0, 6.0]) if with_y else None
    out = ops.custom_sum([a, b], y) if with_y else ops.custom_sum([a, b])
    np.testing.assert_array_equal(out.numpy(), [9, 12] if with_y else [4, 6])
    out.sum().backward()
    grads = [t.grad.numpy().tolist() for t in (a, b, *([y] if with_y else []))]
    assert grads == [[1, 1], [2, 2], [3, 3]][: len(grads)]


def test_in_place(ops):
    a, b = leaf([1.0, 2.0]), leaf([3.0, 4.0])
    c = a * 2
    out = ops.custom_accumulate(c, b)
    assert out is c and c.tolist() == [5, 8]
    (out * 3).sum().backward()
    assert a.grad.tolist() == [6, 6] and b.grad.tolist() == [3, 3]
    with pytest.raises(ValueError, match=r"\[custom_accumulate\] writes over a leaf.*clone"):
        ops.custom_accumulate(a, b)
    with paddle.no_grad():
        assert ops.custom_accumulate(a, b).tolist() == [4, 6]


def test_several_outputs(ops):
    x = paddle.to_tensor([7.0, 8.5])
    quotient, rest = ops.custom_divmod(x, 3)
    assert (
        quotient.dtype == paddle.int64 and quotient.tolist() == [2, 2] and rest.tolist() == [1, 2.5]
    )
    parts = ops.custom_split(paddle.arange(6).reshape([6, 1]), 3)
    assert [p.tolist() for p in parts] == [[[0], [1]], [[2], [3]], [[4], [5]]]


def test_captured_equals_eager(ops):
    def f(x, y):
        parts = ops.custom_split(ops.custom_relu(x), 2)
        return ops.custom_sum([parts[0], parts[1]], y) * 2

    grads = []
    for call in (f, paddle.jit.to_static(f, full_graph=True)):
        x, y = leaf([[-1.0, 2.0], [3.0, -4.0]]), leaf([[1.0, 1.0]])
        out = call(x, y)
        (out * out).sum().backward()
        grads.append((out.tolist(), x.grad.tolist(), y.grad.tolist()))
    assert grads[0] == grads[1]


def test_captured_in_place(ops):
    @paddle.jit.to_static(full_graph=True)
    def f(x, y):
        z = x + 1
        ops.custom_accumulate(z, y)
        return z

    assert f(paddle.to_tensor([1.0]), paddle.to_tensor([2.0])).tolist() == [4]


def train_static(ops, folder):
    main, startup = static.Program(), static.Program()
    with static.program_guard(main, startup):
        x = static.data("x", [None, 2])
        w = static.create_parameter(
            [2, 2], "float32", default_initializer=paddle.nn.initializer.Constant(1.0)
        )
        hidden = ops.custom_relu(paddle.matmul(x, w))
        out = ops.custom_sum([hidden, hidden], None)
        loss = paddle.mean(out)
        paddle.optimizer.SGD(0.1).minimize(loss)
    assert list(hidden.shape) == [-1, 2] and hidden.dtype == paddle.float32
    exe = static.Executor()
    exe.run(startup)
    feed = {"x": np.array([[1, 2], [-3, 1]], "float32")}
    losses = [float(exe.run(main, feed=feed, fetch_list=[loss])[0]) for _ in range(2)]
    static.save_inference_model(str(folder / "model"), [x], [out], exe, program=main)
    program, _, fetches = static.load_inference_model(str(folder / "model"), exe)
    return losses, main, exe.run(program, feed=feed, fetch_list=fetches)[0]


def test_static_programs_train_and_are_saved(ops, static_mode, tmp_path):
    losses, main, loaded = train_static(ops, tmp_path)
    # By hand: each step takes 0.1 * 0.75 * [1, 2] from the rows of w, since custom_sum's gradient for
    # its second operand is twice that for the first.
    assert losses == [pytest.approx(3.0), pytest.approx(2.625)]
    np.testing.assert_allclose(loaded, [[4.5, 4.5], [0, 0]], rtol=1e-6)
    assert "custom_relu" in [op.type for op in main.global_block().ops]


def test_operations_are_appended_by_type(ops, static_mode):
    x = static.data("x", [None, 2])
    block = static.default_main_program().global_block()
    outs = [block.create_var(name=n, dtype="float32", shape=[-1, 2]) for n in ("a", "q", "r")]
    outs[1] = block.create_var(name="n", dtype="int64", shape=[-1, 2])
    block.append_op("custom_sum", {"X@VECTOR": [x, x], "Y": []}, {"Out": outs[0]})
    block.append_op(
        "custom_divmod", {"X": [outs[0]]}, {"Quotient": outs[1], "Rest": outs[2]}, {"by": 3}
    )
    feed = {"x": np.array([[2, 3.5]], "float32")}
    made = static.Executor().run(feed=feed, fetch_list=outs)
    assert [m.tolist() for m in made] == [[[4, 7]], [[1, 2]], [[1, 1]]]
    with pytest.raises(TypeError, match="custom_divmod.*'by'"):
        block.append_op("custom_divmod", {"X": x}, {"Quotient": outs[1], "Rest": outs[2]})


def test_the_entry_that_generated_wrappers_call(ops):
    from argosy import _C_ops

    x = paddle.to_tensor([-1.0, 7.0])
    assert [t.tolist() for t in _C_ops._run_custom_op("custom_relu", x)] == [[0, 7]]
    assert len(_C_ops._run_custom_op("custom_divmod", x, 3)) == 2
    with pytest.raises(ValueError, match="'none' is loaded.*load_op_library"):
        _C_ops._run_custom_op("none", x)


def test_a_program_without_its_extension_says_what_to_load(ops, static_mode, tmp_path):
    train_static(ops, tmp_path)
    code = (
        "import sys, argosy\nargosy.enable_static()\n"
        "argosy.static.load_inference_model(sys.argv[1], argosy.static.Executor())"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "model")], capture_output=True, text=True
    )
    assert done.returncode
    assert re.search(r"'custom_(relu|sum)'.*load that first.*load_op_library", done.stderr, re.S)


def test_what_was_built_is_found_again(built, capfd):
    folder, ops = built
    again = cpp_extension.load(
        "tested_ops", [str(SOURCE)], build_directory=str(folder), verbose=True
    )
    assert again.custom_relu(paddle.to_tensor([-1.0, 1.0])).tolist() == [0, 1]
    assert "-fPIC" not in capfd.readouterr().out
    library = next((folder / "tested_ops").glob("tested_ops_*.so"))
    assert cpp_extension.load_op_meta_info_and_register_op(str(library)) == ops.__all__


def test_wrong_calls_say_so(ops):
    x = paddle.to_tensor([1.0, 2.0])
    with pytest.raises(TypeError, match=r"\[custom_divmod\].*'by'.*custom_divmod\(x, by\)"):
        ops.custom_divmod(x)
    with pytest.raises(OSError, match=r"^\(External\) mode must be sum, got max"):
        ops.custom_weighted(x, x, *ATTRIBUTES[:4], "max", *ATTRIBUTES[5:])
    with pytest.raises(OSError, match='"ReluForward" is not implemented for data type `int64`'):
        ops.custom_relu(paddle.to_tensor([1]))
    with pytest.raises(
        ValueError, match=r"\[custom_liar\] output 0 is not of the form.*\[2\].*\[4\]"
    ):
        ops.custom_liar(x)
    with pytest.raises(ValueError, match=r"\[custom_shapeless\] shapes.*SetInferShapeFn"):
        ops.custom_shapeless(x, x)


BAD = """
#include "paddle/extension.h"
std::vector<paddle::Tensor> F(const paddle::Tensor& x) { return {x}; }
"""


@pytest.mark.parametrize(
    "described, error",
    [
        # A name that is taken, what a gradient reads that is not there, an unknown type.
        (
            'PD_BUILD_OP(relu).Inputs({"X"}).Outputs({"O"}).SetKernelFn(PD_KERNEL(F));',
            "of this name already",
        ),
        (
            'PD_BUILD_OP(bad_a).Inputs({"X"}).Outputs({"O"}).SetKernelFn(PD_KERNEL(F));'
            'PD_BUILD_GRAD_OP(bad_a).Inputs({"Z"}).Outputs({paddle::Grad("X")}).SetKernelFn(PD_KERNEL(F));',
            r"\[bad_a_grad\] input 'Z' is neither",
        ),
        (
            'PD_BUILD_OP(bad_b).Inputs({"X"}).Outputs({"O"}).Attrs({"a: char"}).SetKernelFn(PD_KERNEL(F));',
            r"\[bad_b\] attribute 'a: char': expected",
        ),
        (
            'PD_BUILD_OP(bad_c).Inputs({"X"}).Outputs({"O"}).SetKernelFn(PD_KERNEL(F))',
            "compiling .*failed",
        ),
    ],
)
def test_what_cannot_be_registered_leaves_nothing_behind(tmp_path, described, error):
    source = tmp_path / "bad.cc"
    source.write_text(BAD + described)
    with pytest.raises((ValueError, RuntimeError), match=error):
        cpp_extension.load(
            "bad", [str(source)], build_directory=str(tmp_path), extra_cxx_cflags=["-O0"]
        )
    with pytest.raises(ValueError):
        cpp_extension.parse_op_info("bad_a")


def test_a_library_of_another_version_is_refused(tmp_path):
    source = tmp_path / "old.cc"
    source.write_text(
        'extern "C" const char argosy_abi_0123456789ab[];\n'
        "__attribute__((used)) static const char* const mark = argosy_abi_0123456789ab;\n"
    )
    library = tmp_path / "old.so"
    subprocess.run(["c++", "-shared", "-fPIC", str(source), "-o", str(library)], check=True)
    with pytest.raises(
        RuntimeError, match=r"old.so was compiled for another.*0123456789ab.*build it again"
    ):
        cpp_extension.load_op_library(library)
    with pytest.raises(FileNotFoundError, match="does not exist"):
        cpp_extension.load_op_library(tmp_path / "none.so")


CUDA_SOURCE = pathlib.Path(__file__).with_name("extension.cu")
NVCC = next(
    (p for p in (shutil.which("nvcc"), "/usr/local/cuda/bin/nvcc") if p and os.path.exists(p)), None
)
cuda = pytest.mark.skipif(NVCC is None, reason="there is no nvcc")


@pytest.fixture(scope="session")
def cuda_ops(tmp_path_factory):
    base = tmp_path_factory.getbasetemp()
    folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "cuda_extensions"
    flags = [] if paddle.device.is_available() else ["-arch=sm_90"]
    return cpp_extension.load(
        "tested_cuda_ops",
        [str(CUDA_SOURCE)],
        extra_cuda_cflags=flags,
        build_directory=str(folder),
    )


@cuda
def test_an_op_with_kernels_for_gpus(cuda_ops):
    """On the CPU its source computes by a loop; on a GPU by kernels on the current stream."""
    here = paddle.get_device()
    value = np.random.default_rng(0).standard_normal((3, 700))
    for dtype in ("float32", "float64"):
        x = leaf(value).astype(dtype)
        x.stop_gradient = False
        y = cuda_ops.custom_cube(x * 2.0)
        (g,) = paddle.grad((y * y).sum(), [x])
        assert str(y.place) == str(g.place) == str(x.place)
        tolerance = 1e-4 if dtype == "float32" else 1e-9
        np.testing.assert_allclose(y.numpy(), (2 * x.numpy()) ** 3, tolerance)
        np.testing.assert_allclose(g.numpy(), 384 * x.numpy() ** 5, tolerance)
    number = 1 + int(here.split(":")[1]) if here.startswith("gpu") else 0
    assert cuda_ops.custom_where(x).tolist() == [number, number]
    with paddle.device_guard("cpu"):
        assert cuda_ops.custom_where(paddle.ones([2])).tolist() == [0, 0]
    step = paddle.jit.to_static(lambda x: cuda_ops.custom_cube(paddle.tanh(x)) * 2.0 - x)
    x = leaf(value)
    for _ in range(5):
        want = 2 * np.tanh(x.numpy()) ** 3 - x.numpy()
        np.testing.assert_allclose(step(x).numpy(), want, 1e-4, 1e-5)
        x = x + 0.1
    if here.startswith("gpu"):
        with paddle.device.stream_guard(paddle.device.Stream()):
            x = paddle.ones([1 << 20])
            for _ in range(20):
                x = cuda_ops.custom_cube(x * 2.0) * 0.125  # on that stream, in order
            np.testing.assert_array_equal(x.numpy(), np.ones(1 << 20, "float32"))
    with pytest.raises(OSError, match='function "cube" is not implemented for data type `int64`'):
        cuda_ops.custom_cube(paddle.ones([2], "int64"))


@cuda
def test_a_setup_script_with_cuda(tmp_path):
    (tmp_path / "setup.py").write_text(
        "from argosy.utils.cpp_extension import CUDAExtension, setup\n"
        f"setup(name='cuda_set_up', ext_modules=CUDAExtension(sources=[{str(CUDA_SOURCE)!r}],"
        " extra_compile_args={'cxx': ['-O0'], 'nvcc': ['-arch=sm_90', '-DNAMED']}))\n"
    )
    command = [sys.executable, "setup.py", "-q", "build", "--build-lib", "out"]
    subprocess.run(command, cwd=tmp_path, check=True, capture_output=True)
    program = "import numpy, argosy, cuda_set_up as o; argosy.set_device('cpu');"
    program += "print(o.custom_cube(argosy.ones([1]) * 2).numpy())"
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "PYTHONPATH": f"{tmp_path}/out:{os.environ.get('PYTHONPATH', '')}"},
        capture_output=True,
        text=True,
    )
    assert done.stdout == "[8.]\n", done.stdout + done.stderr


def test_what_cuda_sources_need(tmp_path, monkeypatch):
    source = tmp_path / "a.cu"
    source.write_text("")
    for name in ("CUDA_HOME", "CUDA_PATH"):
        monkeypatch.setenv(name, "/nowhere")
    monkeypatch.setattr(compiler.shutil, "which", lambda name: None if name == "nvcc" else name)
    if not os.path.exists("/usr/local/cuda/bin/nvcc"):
        with pytest.raises(RuntimeError, match="there is no CUDA compiler.*set CUDA_HOME"):
            cpp_extension.load("a", [str(source)], build_directory=str(tmp_path))
    # Commands, by a toolkit of which only names are there.
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "nvcc").write_text("")
    (tmp_path / "lib64").mkdir()
    monkeypatch.setenv("CUDA_HOME", str(tmp_path))
    monkeypatch.setenv("PADDLE_CUDA_ARCH_LIST", "8.0;9.0")
    objects, link = compiler._commands(
        "ops", ["a.cu", "b.cc"], "ops.so", tmp_path, cuda=True, cuda_flags=["-lineinfo"]
    )
    cu, cc = objects.values()
    assert cu[0] == str(tmp_path / "bin" / "nvcc") and "-lineinfo" in cu
    assert {f"-gencode=arch=compute_{n},code=sm_{n}" for n in (80, 90)} <= set(cu)
    assert "-DPADDLE_WITH_CUDA" in cu and "-DPADDLE_WITH_CUDA" in cc and "-lineinfo" not in cc
    assert "-lcudart" in link and f"-L{tmp_path}/lib64" in link
    assert not any(f.startswith("-gencode") for f in compiler._architectures(["-arch=sm_90"]))
    objects, link = compiler._commands("ops", ["b.cc"], "ops.so", tmp_path)
    assert "-lcudart" not in link and "-DPADDLE_WITH_CUDA" not in list(objects.values())[0]
    with pytest.raises(ValueError, match=r"a.cu: expected C\+\+ sources.*use CUDAExtension"):
        cpp_extension.CppExtension(sources=["a.cu"])
    with pytest.raises(FileNotFoundError, match="none.cc does not exist"):
        cpp_extension.load("a", ["none.cc"], build_directory=str(tmp_path))


def test_the_build_directory(monkeypatch, tmp_path):
    monkeypatch.setenv("PADDLE_EXTENSION_DIR", str(tmp_path / "here"))
    assert cpp_extension.get_build_directory() == str(tmp_path / "here")
    assert (tmp_path / "here").is_dir()


SETUP = """
from argosy.utils.cpp_extension import CppExtension, setup

setup(name="set_up_ops", ext_modules=CppExtension(sources=["ops.cc"], extra_compile_args={"cxx": ["-O0"]}))
"""


def test_a_setup_script(tmp_path):
    (tmp_path / "ops.cc").write_text(
        BAD.replace("{x}", "{paddle::square(x)}")
        + 'PD_BUILD_OP(set_up_square).Inputs({"X"}).Outputs({"O"}).SetKernelFn(PD_KERNEL(F));'
    )
    (tmp_path / "setup.py").write_text(SETUP)
    command = [sys.executable, "setup.py", "-q", "build", "--build-lib", "out"]
    subprocess.run(command, cwd=tmp_path, check=True, capture_output=True)
    shutil.rmtree(tmp_path / "build")
    code = "import argosy, set_up_ops; print(set_up_ops.set_up_square(argosy.to_tensor([3.0])).tolist())"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path / "out", capture_output=True, text=True
    )
    assert done.stdout.strip() == "[9.0]", done.stderr


def test_a_library_without_ops_is_refused():
    (library,) = {
        line.split()[-1]
        for line in pathlib.Path("/proc/self/maps").read_text().splitlines()
        if "/libm.so" in line or "/libm-" in line
    }
    with pytest.raises(ValueError, match="has no ops: expected a library that load, setup or"):
        cpp_extension.load_op_library(library)


def test_a_library_of_which_a_part_is_gone_is_built_again(tmp_path):
    """As after a loss of power, or by hand."""
    program = """
import sys
import argosy as paddle
from argosy.utils import cpp_extension
ops = cpp_extension.load("cut_ops", [sys.argv[1]], build_directory=sys.argv[2])
print(ops.custom_sine(paddle.zeros([2])).tolist())
"""
    source = SOURCE.parents[3] / "examples" / "custom_op" / "sine.cc"

    def loads():
        command = [sys.executable, "-c", program, str(source), str(tmp_path)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
        assert done.stdout.endswith("[0.0, 0.0]\n"), done.stderr
        return next((tmp_path / "cut_ops").glob("cut_ops_*.so"))

    library = loads()
    whole = library.read_bytes()
    library.write_bytes(whole[:1000])
    assert loads().read_bytes()[:1000] == whole[:1000] and library.stat().st_size > 1000
    made = library.stat().st_mtime_ns
    assert loads().stat().st_mtime_ns == made
