"""Names that other frameworks have."""

import itertools

import numpy as np
import pytest

import argosy as paddle

X = paddle.to_tensor([[3.0, 1.0], [2.0, 5.0]])


def test_choices_and_order():
    x = paddle.to_tensor([5, 6, 7, 8])
    for r in (1, 2, 3, 5):
        for again in (False, True):
            choose = itertools.combinations_with_replacement if again else itertools.combinations
            want = [list(c) for c in choose([5, 6, 7, 8], r)]
            assert paddle.combinations(x, r, again).tolist() == want
    assert paddle.combinations(x, 0).shape == [0]
    with pytest.raises(TypeError, match=r"\[combinations\] needs a vector"):
        paddle.combinations(X)
    assert paddle.msort(X).tolist() == [[2, 1], [3, 5]]
    assert paddle.argwhere(paddle.to_tensor([0, 1, 2])).tolist() == [[1], [2]]
    assert paddle.ger(X[0], X[1]).tolist() == [[6, 15], [2, 5]]


def test_making_tensors():
    assert paddle.as_tensor(X) is not X
    assert paddle.asarray(X, copy=True) is not X
    assert paddle.as_tensor([1], dtype="float32", requires_grad=True).stop_gradient is False
    array = np.ones(2)
    assert paddle.from_numpy(array).dtype == paddle.float64
    assert paddle.FloatTensor(2, 3).shape == [2, 3]
    assert paddle.LongTensor([1.5, 2]).tolist() == [1, 2]
    assert paddle.BoolTensor().shape == [0]


def test_new_tensors_like_this_one():
    x = paddle.ones([2], dtype="float64")
    assert x.new_zeros(2, 3).shape == [2, 3] and x.new_zeros([2]).dtype == paddle.float64
    assert x.new_full([2], 7).tolist() == [7, 7]
    assert x.new_ones([2], dtype="int32", requires_grad=False).dtype == paddle.int32
    assert x.new_empty((3,), requires_grad=True).stop_gradient is False


def test_attributes():
    x = paddle.ones([2, 3])
    x.requires_grad = True
    assert not x.stop_gradient and x.requires_grad
    assert x.data.stop_gradient and x.data.shape == x.shape
    assert x.requires_grad_(False) is x and x.stop_gradient
    assert x.stride() == [3, 1] and x.stride(0) == 3 and x.itemsize == 4
    on_cpu = paddle.device.get_device() == "cpu"
    assert x.is_cuda is not on_cpu and x.get_device() == (-1 if on_cpu else 0)
    assert x.device == paddle.device.get_device() and x.to(x.device).place == x.place
    assert (
        x.int64().dtype == paddle.int64 and x.type_as(paddle.to_tensor([1])).dtype == paddle.int64
    )
    assert [p.shape for p in x.split_with_sizes([1, 2], 1)] == [[2, 1], [2, 2]]
    x.data = paddle.zeros([4])
    assert x.shape == [4]


def test_in_place():
    x = paddle.to_tensor([0.0, 0, 0])
    x.scatter_add_(0, paddle.to_tensor([0, 2, 0]), paddle.to_tensor([1.0, 2, 3]))
    assert x.tolist() == [4, 0, 2]
    y = paddle.ones([2, 3])
    assert y.t_() is y and y.shape == [3, 2]
    paddle.seed(4)
    drawn = paddle.zeros([20000]).cauchy_(1.0, 2.0).numpy()
    np.testing.assert_allclose(np.quantile(drawn, [0.25, 0.5, 0.75]), [-1, 1, 3], atol=0.15)
    drawn = paddle.zeros([20000]).log_normal_(0.5, 0.25).numpy()
    np.testing.assert_allclose([np.log(drawn).mean(), np.log(drawn).std()], [0.5, 0.25], atol=0.01)
    drawn = paddle.zeros([20000]).geometric_(0.3).numpy()
    np.testing.assert_allclose(np.ceil(drawn).mean(), 1 / 0.3, rtol=0.05)


def test_readers():
    assert list(paddle.batch(lambda: iter(range(5)), 2)()) == [[0, 1], [2, 3], [4]]
    assert list(paddle.batch(lambda: iter(range(5)), 2, drop_last=True)()) == [[0, 1], [2, 3]]
    with pytest.raises(ValueError, match=r"\[batch\] batch_size"):
        paddle.batch(lambda: iter([]), 0)


@pytest.mark.parametrize(
    "data,dtype",
    [
        (lambda: [paddle.ones([]), 2], "float64"),
        (lambda: [paddle.ones([]), 2.5], "float64"),
        (lambda: [paddle.ones([2]), [1, 2]], "float64"),
        (lambda: [paddle.ones([2]), np.ones(2, "float32")], "float32"),
        (lambda: [paddle.ones([]), True], "float32"),
        (lambda: [paddle.ones([], "int32"), paddle.ones([])], "float64"),
        (lambda: [paddle.ones([], "int32"), 1], "int64"),
        (lambda: [paddle.ones([], "float16"), np.int16(1)], "float32"),
        (lambda: [paddle.ones([], "complex64"), 1], "complex128"),
        (lambda: [[paddle.ones([]), 1], [2, 3]], "float32"),
        (lambda: [[paddle.ones([], "int64"), 2.5]], "float32"),
        (lambda: [np.ones(2), np.zeros(2)], "float32"),
        (lambda: [[np.array(1.0), 2], [3, 4]], "float32"),
        (lambda: ((1, 2), (paddle.ones([]), 4)), "float32"),
        (lambda: [range(3), range(3)], "int64"),
    ],
)
def test_to_tensor_of_lists_with_tensors_promotes_as_numpy(data, dtype):
    """Beside a tensor numbers keep their width; deeper down floats take the default dtype."""
    made = paddle.to_tensor(data())
    assert str(made.dtype) == f"paddle.{dtype}"
    flat = [float(np.real(v)) for v in np.asarray(made.numpy()).reshape(-1)]
    want = [
        float(np.real(v)) for part in data() for v in np.asarray(paddle.to_tensor(part)).reshape(-1)
    ]
    assert flat == want


def test_to_tensor_of_lists_keeps_the_digits_of_python_floats():
    assert paddle.to_tensor([paddle.ones([]), 0.1]).numpy()[1] == 0.1
    assert paddle.to_tensor([paddle.ones([1]), [0.1]]).numpy()[1, 0] == 0.1


def test_numpy_takes_blocking_and_places_compare():
    x = paddle.to_tensor([1.0, 1.0], place="cpu")
    assert (x.numpy(False) == x.numpy(True)).all()
    assert x.place._equals(paddle.CPUPlace()) and not x.place._equals(paddle.CUDAPlace(0))


def test_assign_writes_into_its_output():
    whole = paddle.ones([2, 2])
    alias, row = whole.detach(), whole[0]
    assert paddle.assign(paddle.to_tensor([[1.0, 2.0], [3.0, 4.0]]), whole) is whole
    assert alias.tolist() == [[1, 2], [3, 4]] and row.tolist() == [1, 2]
    assert whole.inplace_version == 1
    paddle.assign(np.float32([[5, 6], [7, 8]]), whole)
    assert alias.tolist() == [[5, 6], [7, 8]]
    line = paddle.arange(5)
    paddle.assign(line[:-1], line[1:])
    assert line.tolist() == [0, 0, 1, 2, 3]
    other = paddle.zeros([3])  # of another shape: becomes the copy
    paddle.assign(paddle.ones([2]), other)
    assert other.tolist() == [1, 1]


def test_assign_to_an_output_keeps_history():
    x, out = paddle.to_tensor([2.0], stop_gradient=False), paddle.zeros([1])
    paddle.assign(x * 3, out)
    out.backward()
    assert x.grad.tolist() == [3]
    weight = paddle.create_parameter([2], "float32")
    with paddle.no_grad():
        paddle.assign(paddle.ones([2]), weight)
    assert weight.tolist() == [1, 1] and weight.is_leaf and not weight.stop_gradient


@pytest.mark.parametrize("flag", ["stop_gradient", "persistable"])
def test_flags_are_true_or_false(flag):
    x = paddle.ones([1])
    for value in ("False", [0], {}):
        with pytest.raises(TypeError, match=rf"Tensor\.{flag}: expected True or False, got"):
            setattr(x, flag, value)
    for value in (True, np.bool_(True), 1):
        setattr(x, flag, value)
        assert getattr(x, flag) is True


def test_shared_buffers():
    a, b = paddle.to_tensor([1.0, 2.0]), paddle.zeros([3])
    a._share_buffer_to(b)
    b[0] = 5.0
    assert a.tolist() == [5, 2] and a._is_shared_underline_tensor_with(b)
    a.stop_gradient = False
    assert a._grad_value() is None and a._grad_name() == ""
    (a * 2).sum().backward()
    a._zero_grads()
    assert a._grad_value().tolist() == [0, 0] and a._grad_name() == a.grad.name
    assert a._place_str == f"Place({paddle.device.get_device()})"


def test_get_tensor_holds_the_values():
    x = paddle.arange(6, dtype="float32").reshape([2, 3])
    held = x.get_tensor()
    assert held.shape() == [2, 3] and held._dtype() == paddle.float32 and held._numel() == 6
    assert held._ptr() == x.data_ptr() and held._layout() == "NCHW" and held.lod() == []
    assert np.array(held).tolist() == x.tolist() and held._slice(0, 1).shape() == [1, 3]
    held._set_float_element(0, 7.0)
    assert x[0, 0].item() == 7
    held.set(np.zeros([4], "int64"), paddle.CPUPlace())
    assert x.tolist() == [0, 0, 0, 0] and x.dtype == paddle.int64
    assert paddle.from_dlpack(held._to_dlpack()).tolist() == [0, 0, 0, 0]
    assert held._is_initialized()
    held._clear()
    assert not held._is_initialized() and not x._is_initialized()


@pytest.mark.parametrize(
    "name", ["_clear", "_clear_data", "_clear_dataptr", "_clear_to_zero_allocation"]
)
def test_clearing_lets_go_of_the_memory(name):
    x = paddle.ones([2, 3], "int64")
    assert x._is_dense_tensor_hold_allocation() and x._offset() == 0
    assert getattr(x, name)() is None
    assert x.size == 0 and x.dtype == paddle.int64 and not x._is_dense_tensor_hold_allocation()


def test_forced_arrays():
    x = paddle.to_tensor([1.0, 2.0], stop_gradient=False)
    array = x.numpy(force=True)
    array[0] = 5
    assert x.tolist() == [1, 2] and x.numpy(force=False).tolist() == [1, 2]
