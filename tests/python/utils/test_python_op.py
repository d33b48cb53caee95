"""Ops whose functions are Python's: eager, captured, static, saved and loaded."""

import subprocess
import sys

import numpy as np
import pytest

import argosy as paddle
from argosy import static


def same(x):
    return static.MetaTensor(x.dtype, x.shape)


def _cube(x, by=1.0):
    return x.numpy() ** 3 * by


def _cube_backward(x, out, dy, by):
    return 3 * dy.numpy() * x.numpy() ** 2 * by


cube = static.register_op(
    _cube,
    name="tested_cube",
    infer_meta=lambda x, by=1.0: same(x),
    input_names=["x"],
    output_names=["out"],
    backward=_cube_backward,
)


def leaf(value, dtype="float64"):
    return paddle.to_tensor(np.asarray(value, dtype), stop_gradient=False)


@pytest.fixture
def static_mode():
    paddle.enable_static()
    yield
    paddle.disable_static()


def test_eager_values_and_gradients():
    x = leaf([1.0, -2.0])
    out = cube(x, by=2.0)
    assert out.tolist() == [2, -16] and not out.stop_gradient
    (out * paddle.to_tensor([1.0, 10.0], dtype="float64")).sum().backward()
    assert x.grad.tolist() == [6, 240]
    assert cube.op_name == "tested_cube"


def test_captured_equals_eager_for_each_constant():
    call = paddle.jit.to_static(lambda x, by: cube(x + 1, by) * 2, full_graph=True)
    for by in (1.0, 3.0):
        x = leaf([[1.0, -2.0]])
        out = call(x, by)
        out.sum().backward()
        np.testing.assert_array_equal(out.numpy(), 2 * by * (x.numpy() + 1) ** 3)
        np.testing.assert_array_equal(x.grad.numpy(), 6 * by * (x.numpy() + 1) ** 2)


def test_gradients_of_gradients_by_a_backward_that_is_an_op():
    # d/dx, d/dout and d/d(dy) of 3 dy x^2
    grad = static.register_op(
        lambda x, out, dy: 3 * dy.numpy() * x.numpy() ** 2,
        name="tested_cube2_backward",
        infer_meta=lambda x, out, dy: same(x),
        input_names=["x", "out", "dy"],
        output_names=["dx"],
        backward=lambda x, out, dy, dx, ddx: (6 * ddx * dy * x, None, 3 * ddx * x * x),
    )
    cube2 = static.register_op(
        lambda x: x.numpy() ** 3,
        name="tested_cube2",
        infer_meta=same,
        input_names=["x"],
        output_names=["out"],
        backward=grad,
    )
    x = leaf([2.0, 3.0])
    (g,) = paddle.grad(cube2(x).sum(), [x], create_graph=True)
    (gg,) = paddle.grad(g.sum(), [x])
    assert g.tolist() == [12, 27] and gg.tolist() == [12, 18]


def test_without_backward_the_parts_have_gradients_when_eager():
    f = static.register_op(
        lambda x: x * x,
        name="tested_square",
        infer_meta=same,
        input_names=["x"],
        output_names=["out"],
    )
    x = leaf([3.0])
    f(x).backward()
    assert x.grad.tolist() == [6]
    captured = paddle.jit.to_static(lambda x: f(x), full_graph=True)
    assert captured(paddle.to_tensor([2.0])).tolist() == [4]
    with pytest.raises(NotImplementedError, match=r"\[tested_square\] has no gradient.*backward="):
        captured(leaf([3.0])).backward()


def test_several_outputs_and_in_place():
    @static.register_op(
        infer_meta=lambda x, k: [static.MetaTensor(x.dtype, [-1]), static.MetaTensor("int64", [k])],
        input_names=["x"],
        output_names=["kept", "places"],
    )
    def tested_largest(x, k):
        order = np.argsort(-x.numpy(), kind="stable")[:k]
        return paddle.to_tensor(x.numpy()[order]), paddle.to_tensor(order)

    call = paddle.jit.to_static(lambda x: tested_largest(x, 2), full_graph=True)
    kept, places = call(paddle.to_tensor([1.0, 5.0, 3.0]))
    assert kept.tolist() == [5, 3] and places.tolist() == [1, 2]

    @static.register_op(
        infer_meta=same,
        input_names=["x"],
        output_names=["out"],
        inplace_map={"x": "out"},
        backward=lambda x, out, dy: dy,
    )
    def tested_increment(x):
        return x.add_(paddle.ones_like(x))

    x = paddle.to_tensor([1.0])
    assert tested_increment(x).tolist() == [2] and x.tolist() == [2]


BUILD = """
import numpy as np, sys
import argosy as paddle
from argosy import static

def register():
    static.register_op(
        lambda x, by: x.numpy() * np.asarray(by, "float32"), name="saved_scale",
        infer_meta=lambda x, by: static.MetaTensor(x.dtype, x.shape),
        input_names=["x"], output_names=["out"], backward=lambda x, out, dy, by: dy * by)

paddle.enable_static()
exe = static.Executor()
if sys.argv[2] == "load":
    register()
program, _, fetches = static.load_inference_model(sys.argv[1], exe)
print(exe.run(program, feed={"x": np.ones((2, 2), "float32")}, fetch_list=fetches)[0].tolist())
"""


def test_static_saved_and_loaded(static_mode, tmp_path):
    scaled = static.register_op(
        lambda x, by: x.numpy() * np.asarray(by, "float32"),
        name="saved_scale",
        infer_meta=lambda x, by: same(x),
        input_names=["x"],
        output_names=["out"],
        backward=lambda x, out, dy, by: dy * paddle.to_tensor(by),
    )
    main, startup = static.Program(), static.Program()
    with static.program_guard(main, startup):
        x = static.data("x", [None, 2])
        w = static.create_parameter(
            [2, 2], "float32", default_initializer=paddle.nn.initializer.Constant(1.0)
        )
        out = scaled(paddle.matmul(x, w), by=[2.0, 4.0])
        loss = out.sum()
        paddle.optimizer.SGD(0.5).minimize(loss)
    assert list(out.shape) == [-1, 2]
    exe = static.Executor()
    exe.run(startup)
    feed = {"x": np.ones((1, 2), "float32")}
    assert exe.run(main, feed=feed, fetch_list=[loss])[0] == 12
    # The gradient of w is by's, in each row.
    assert exe.run(main, feed=feed, fetch_list=[out])[0].tolist() == [[0, -8]]
    static.save_inference_model(str(tmp_path / "m"), [x], [out], exe, program=main)

    def run(how):
        command = [sys.executable, "-c", BUILD, str(tmp_path / "m"), how]
        return subprocess.run(command, capture_output=True, text=True)

    assert eval(run("load").stdout) == [[-4, -24], [-4, -24]]
    assert "'saved_scale'" in run("nothing").stderr
    assert "static.register_op" in run("nothing").stderr


def test_registering_again_takes_the_new_functions():
    def register(factor, outputs=("out",)):
        return static.register_op(
            lambda x: x.numpy() * factor,
            name="tested_again",
            infer_meta=same,
            input_names=["x"],
            output_names=list(outputs),
        )

    register(2)
    assert register(3)(paddle.to_tensor([1.0])).tolist() == [3]
    with pytest.raises(ValueError, match="'tested_again' already, with other"):
        register(2, ("a", "b"))
    with pytest.raises(ValueError, match=r"\[relu\] there is an op of this name already"):
        static.register_op(
            lambda x: x, name="relu", infer_meta=same, input_names=["x"], output_names=["out"]
        )


def test_wrong_use_says_so():
    with pytest.raises(ValueError, match="infer_meta is missing"):
        static.register_op(lambda x: x, input_names=["x"], output_names=["y"])
    with pytest.raises(ValueError, match="input_names is missing"):
        static.register_op(lambda x: x, infer_meta=same, output_names=["y"])
    with pytest.raises(TypeError, match=r"takes \*args"):
        static.register_op(
            lambda *args: 1, name="a", infer_meta=same, input_names=["x"], output_names=["y"]
        )
    with pytest.raises(TypeError, match=r"\[tested_cube\] takes 1 Tensors \(x\), got 2"):
        cube(leaf([1.0]), leaf([1.0]))
    with pytest.raises(
        TypeError, match=r"\[tested_cube\] by: expected a Tensor, or a number.*object"
    ):
        cube(leaf([1.0]), object())


def test_a_result_of_another_form_and_an_error_inside():
    wrong = static.register_op(
        lambda x, fail: np.zeros([3], "int32") if not fail else 1 // 0,
        name="tested_wrong",
        infer_meta=lambda x, fail: same(x),
        input_names=["x"],
        output_names=["out"],
        backward=lambda x, out, dy, fail: dy,
    )
    with pytest.raises(ValueError, match=r"\[tested_wrong\] output 0.*float32\[2\].*int32\[3\]"):
        wrong(paddle.to_tensor([1.0, 2.0]), False)
    with pytest.raises(ZeroDivisionError):
        wrong(paddle.to_tensor([1.0, 2.0]), True)
