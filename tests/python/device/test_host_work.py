"""Operations that work on the host, wherever their operands are: what they are told of values is brought
to them, and what they make is on the device."""

import numpy as np
import pytest
from tests.python.device.where import FIRST, SECOND

import argosy as paddle
from argosy import _core
from argosy.distributed._groups import default_group

pytestmark = [pytest.mark.adds_device(unless="gpu"), pytest.mark.usefixtures("streamed")]

HERE = f"Place({FIRST})"


def slow():
    """A value that is long in the making."""
    x = paddle.ones([64, 64])
    for _ in range(8):
        x = x @ x / 64
    return x


def test_print_shows_the_values(capfd):
    x = slow()
    y = paddle.static.Print(x[0, :3], message="seen")
    paddle.device.synchronize()
    assert str(y.place) == HERE and y.tolist() == [1, 1, 1]
    out = capfd.readouterr().out
    assert "seen" in out and "[1, 1, 1]" in out


def test_assert_reads_its_condition():
    x = slow()
    paddle.static.nn.control_flow.Assert((x > 0).all(), [x])
    with pytest.raises(
        ValueError, match=r"the condition is False.*= \[1, 1, \.\.\. \(4094 more\)\]"
    ):
        paddle.static.nn.control_flow.Assert((x > 1).all(), [x], summarize=2)


def index(i):
    return paddle.full([1], i, "int64")


def test_arrays_hold_what_is_on_the_device():
    ops = _core.ops
    x = paddle.to_tensor([1.0, 2.0], stop_gradient=False)
    array = ops.array_new("float32")
    for i in range(3):
        ops.array_write(array, index(i), x * (i + 1))
    read = ops.array_read(array, index(1), [2], "float32")
    assert str(read.place) == HERE and read.tolist() == [2, 4]
    length = ops.array_length(array)
    assert str(length.place) == HERE and int(length) == 3
    (read * read).sum().backward()
    assert x.grad.tolist() == [8, 16]


@pytest.fixture
def static():
    paddle.enable_static()
    yield
    paddle.disable_static()


def looped(place):
    """Squares of 0, 1, .. collected in an array by a loop, their sum, and the gradient of that."""
    main = paddle.static.Program()
    with paddle.static.program_guard(main):
        x = paddle.static.data("x", [4])
        x.stop_gradient = False
        i, n = paddle.full([1], 0, "int64"), paddle.full([1], 3, "int64")
        array = paddle.tensor.create_array("float32")
        first = paddle.tensor.array_write(x, paddle.full([1], 0, "int64"), array)

        def body(i, array):
            last = paddle.tensor.array_read(array, i)
            array = paddle.tensor.array_write(last * x, i + 1, array)
            return [i + 1, array]

        i, array = paddle.static.nn.while_loop(lambda i, array: i < n, body, [i, first])
        joined, sizes = paddle.tensor.tensor_array_to_tensor(array, axis=0, use_stack=True)
        loss = joined.sum()
        (dx,) = paddle.static.gradients(loss, x)
    feed = {"x": np.arange(4, dtype="float32")}
    return paddle.static.Executor(place).run(main, feed, [joined, sizes, dx, i])


def test_arrays_of_a_loop_in_a_program(static):
    want, got = looped("cpu"), looped(FIRST)
    assert want[0].tolist()[3] == [0, 1, 16, 81]
    for a, b in zip(want, got):
        np.testing.assert_array_equal(a, b)


def test_functions_of_python_in_a_program(static):
    main = paddle.static.Program()
    with paddle.static.program_guard(main):
        x = paddle.static.data("x", [3])
        y = paddle.static.data("y", [3])
        paddle.static.py_func(lambda t: np.asarray(t) * 2, x, y)
        z = y + 1
    feed = {"x": np.ones(3, "float32"), "y": np.zeros(3, "float32")}
    (got,) = paddle.static.Executor(SECOND).run(main, feed, [z])
    np.testing.assert_array_equal(got, [3, 3, 3])


def test_an_index_of_the_host_is_taken_as_it_is():
    array = _core.ops.array_new("float32")
    here = index(0).cpu()
    before = _core.host_waits()
    _core.ops.array_write(array, here, slow())
    assert _core.ops.array_read(array, here, [64, 64], "float32").shape == [64, 64]
    assert _core.host_waits() == before  # nothing to bring, nothing to wait for
    with pytest.raises(ValueError, match="inputs are on different devices"):
        paddle.ones([2]) + paddle.ones([2]).cpu()


def test_collectives_that_begin_and_end():
    group = default_group("tests")  # held: operations find it by its number
    assert group.nranks == 1
    ops = _core.ops
    x = slow()
    row = x.unsqueeze(0)
    begun = [
        (row, [x], ops.all_gather_begin(x, 1)),
        (x, [row], ops.reduce_scatter_begin(row, 1)),
        (row, [x], ops.gather_to_begin(x, 0, 1)),
        (x, [x, row], ops.scatter_from_begin(x, row, 0, 1)),
        (x, [x], ops.reduce_to_begin(x, 0)),
        (x, [x], ops.broadcast_from_begin(x, 0)),
        (x, [x], ops.alltoall_begin([x], [x])),
        (x, [x], ops.all_gather_unequal_begin(x, [x])),
    ]
    for wanted, held, (under_way, started) in reversed(begun):
        (got,) = ops.collective_end([under_way], held, started)
        assert str(got.place) == HERE
        np.testing.assert_array_equal(got.numpy(), wanted.numpy())
