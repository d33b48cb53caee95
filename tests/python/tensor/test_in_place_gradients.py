"""Functions that write into a tensor: where gradients go, and that leaves are refused."""

import numpy as np
import pytest

import argosy

START = [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]
ROWS = [0, 2]


def rows():
    return argosy.to_tensor(ROWS)


def some(*shape):
    return argosy.to_tensor(np.linspace(0.1, 0.9, int(np.prod(shape))).reshape(shape), "float32")


# name -> (the call, what of x still has a gradient: 1, or 0)
WRITES = {
    "fill_": (lambda x: x.fill_(3.0), np.zeros((3, 2))),
    "zero_": (lambda x: x.zero_(), np.zeros((3, 2))),
    "fill_diagonal_": (lambda x: x.fill_diagonal_(5.0), 1 - np.eye(3, 2)),
    "fill_diagonal_ offset": (lambda x: x.fill_diagonal_(5.0, 1), 1 - np.eye(3, 2, 1)),
    "fill_diagonal_tensor_": (lambda x: x.fill_diagonal_tensor_(some(2)), 1 - np.eye(3, 2)),
    "bernoulli_": (lambda x: x.bernoulli_(0.5), np.zeros((3, 2))),
    "log_normal_": (lambda x: x.log_normal_(), np.zeros((3, 2))),
    "geometric_": (lambda x: x.geometric_(0.5), np.zeros((3, 2))),
    "cauchy_": (lambda x: x.cauchy_(), np.zeros((3, 2))),
    "random_": (lambda x: x.random_(0, 5), np.zeros((3, 2))),
    "index_add_": (lambda x: x.index_add_(rows(), 0, some(2, 2)), np.ones((3, 2))),
    "scatter_add_": (
        lambda x: x.scatter_add_(0, argosy.zeros([1, 2], "int64"), some(1, 2)),
        np.ones((3, 2)),
    ),
    "masked_scatter_": (lambda x: x.masked_scatter_(x > 2, some(6)), np.array(START) <= 2),
    "where_": (lambda x: argosy.where_(x > 2, x, some(3, 2)), np.array(START) > 2),
    "put_along_axis_": (
        lambda x: x.put_along_axis_(argosy.to_tensor([[0, 1]]), 3.0, 0),
        1 - np.eye(3, 2),
    ),
}


@pytest.mark.parametrize("name", WRITES)
def test_what_was_overwritten_has_no_gradient(name):
    write, kept = WRITES[name]
    leaf = argosy.to_tensor(START, stop_gradient=False)
    x = leaf * 1
    assert write(x) is x
    weights = np.arange(1.0, 7.0).reshape(3, 2)
    (x * argosy.to_tensor(weights, "float32")).sum().backward()
    np.testing.assert_array_equal(leaf.grad.numpy(), weights * kept)


@pytest.mark.parametrize("name", WRITES)
def test_leaves_that_need_a_gradient_are_refused(name):
    write, _ = WRITES[name]
    leaf = argosy.to_tensor(START, stop_gradient=False)
    with pytest.raises(ValueError, match="leaf tensor that needs a grad"):
        write(leaf)
    with argosy.no_grad():
        assert write(leaf) is leaf
    assert leaf.is_leaf and not leaf.stop_gradient


@pytest.mark.parametrize(
    "write, factor",
    [
        (lambda x, v: x.index_add_(rows(), 0, v), 2),
        (lambda x, v: x.index_add_(index=rows(), axis=0, value=v), 2),
        (lambda x, v: x.scatter_add_(0, argosy.to_tensor([[0, 1], [2, 0]]), v), 2),
        (lambda x, v: x.masked_scatter_(argosy.to_tensor([[1, 1], [0, 0], [1, 1]], "bool"), v), 2),
        (lambda x, v: x.put_along_axis_(argosy.to_tensor([[0, 1], [2, 0]]), v, 0), 2),
        (lambda x, v: argosy.where_(x > 1, x, argosy.concat([v, v[:1]]))[:2], 2),
        (lambda x, v: x.fill_diagonal_tensor_(v[0]) + x.fill_diagonal_tensor_(v[1], -1), 4),
    ],
)
def test_values_get_the_gradient(write, factor):
    values = some(2, 2)
    values.stop_gradient = False
    out = write(argosy.zeros([3, 2]), values * 2)
    assert not out.stop_gradient
    out.sum().backward()
    np.testing.assert_array_equal(values.grad.numpy(), factor)


def test_writes_reach_the_memory_that_is_seen_elsewhere():
    base = argosy.zeros([4, 2])
    base[1:].index_add_(rows(), 0, argosy.ones([2, 2]))
    np.testing.assert_array_equal(base.numpy().sum(1), [0, 2, 0, 2])
    base[:1].fill_(7)
    assert base.numpy()[0].tolist() == [7, 7]


def test_forms_change_with_their_history():
    for change, shape in ((lambda x: x.t_(), [2, 3]), (lambda x: x.resize_([2, 2]), [2, 2])):
        leaf = argosy.to_tensor(START, stop_gradient=False)
        x = leaf * 1
        assert change(x) is x and x.shape == shape
        weights = argosy.arange(1, x.size + 1, dtype="float32").reshape(shape)
        (x * weights).sum().backward()
        expected = [[1, 4], [2, 5], [3, 6]] if x.size == 6 else [[1, 2], [3, 4], [0, 0]]
        np.testing.assert_array_equal(leaf.grad.numpy(), expected)
        with pytest.raises(ValueError, match="leaf tensor that needs a grad"):
            change(argosy.to_tensor(START, stop_gradient=False))


@pytest.mark.parametrize(
    "key", [0, slice(0, 2), slice(None, None, 2), (slice(1, None), 0), ([2, 0],), (Ellipsis, 1)]
)
def test_parts_are_scaled_in_place(key):
    """The product needs its left operand only for the right one's gradient, so writing over it is fine."""
    u = argosy.to_tensor(np.arange(1.0, 13).reshape(3, 4), stop_gradient=False)
    z = u * 1.0
    z[key] *= 3.0
    z[key] = z[key] * 2.0
    (z * z).sum().backward()
    factor = np.ones([3, 4])
    factor[key] = 6.0
    np.testing.assert_allclose(u.grad.numpy(), 2 * factor**2 * u.numpy())


def test_a_factor_that_is_needed_is_kept_before_it_is_written():
    u = argosy.to_tensor([1.0, 2.0, 3.0], stop_gradient=False)
    w = argosy.to_tensor(0.5, stop_gradient=False)
    z = u * 1.0
    z.multiply_(w)
    z.sum().backward()
    assert u.grad.tolist() == [0.5] * 3 and w.grad.item() == 6.0
    z = u * 1.0
    y = z * w
    z[0] = 9.0
    with pytest.raises(RuntimeError, match="multiply.*overwritten in place"):
        y.sum().backward()


@pytest.mark.parametrize(
    "name",
    ["matmul", "bmm", "multiply", "cross", "linear", "conv2d", "conv2d_transpose", "linear_rows"],
)
def test_an_operand_may_be_written_where_the_other_needs_no_gradient(name):
    functional = argosy.nn.functional
    rng = np.random.default_rng(0)
    shapes = {
        "matmul": ([2, 3], [3, 4]), "bmm": ([2, 2, 3], [2, 3, 4]), "multiply": ([2, 3], [1, 3]), "cross": ([2, 3], [2, 3]),
        "linear": ([2, 3], [3, 4]), "conv2d": ([1, 2, 5, 5], [3, 2, 3, 3]), "conv2d_transpose": ([1, 2, 4, 4], [2, 3, 3, 3]),
        "linear_rows": ([2, 3], [3]),
    }[name]  # fmt: skip
    call = getattr(argosy, name, None) or getattr(functional, name, None)
    if name == "linear_rows":
        call = lambda x, w: functional.linear(x, w, argosy.ones([1]))  # noqa: E731
    values = [rng.normal(size=shape) for shape in shapes]
    for needing in (0, 1):
        grads = []
        for written in (False, True):
            operands = [
                argosy.to_tensor(value, stop_gradient=i != needing)
                for i, value in enumerate(values)
            ]
            parts = [operand * 1.0 for operand in operands]
            y = call(*parts)
            if written:
                parts[needing][...] = 7.0
            (y * argosy.cos(y.detach())).sum().backward()
            grads.append(operands[needing].grad.numpy())
        if argosy.device.get_device() == "cpu":
            np.testing.assert_array_equal(*grads)
        else:  # convolutions of a GPU sum in any order
            np.testing.assert_allclose(*grads, rtol=1e-12)


@pytest.mark.parametrize(
    "make",
    [
        lambda z: z.expand([2, 3]), lambda z: argosy.broadcast_to(z, [2, 3]), lambda z: z.expand_as(argosy.zeros([2, 3])),
        lambda z: argosy.broadcast_tensors([z, argosy.zeros([2, 1])])[0], lambda z: argosy.meshgrid(argosy.zeros([2]), z)[1],
    ],
)  # fmt: skip
def test_what_was_expanded_is_written_one_by_one(make):
    z = argosy.to_tensor([1.0, 2.0, 3.0])
    v = make(z)
    v[0, 1] = 9.0
    assert v.tolist() == [[1, 9, 3], [1, 2, 3]] and z.tolist() == [1, 2, 3]
    v = make(z)
    v.add_(argosy.to_tensor([[0.0], [1.0]]))
    assert v.tolist() == [[1, 2, 3], [2, 3, 4]] and z.tolist() == [1, 2, 3]
    u = argosy.to_tensor([1.0, 2.0, 3.0], stop_gradient=False)
    v = make(u * 2.0)
    v[1] = 0.0
    v.sum().backward()
    assert u.grad.tolist() == [2, 2, 2]


# What stands before `=` is read, written through the view and assigned.
AUGMENTED = {
    "power": ("z[::2] **= 2", lambda z: np.array([[2 * z[0]], [z[1] * 0 + 1], [2 * z[2]]])[:, 0]),
    "product": ("z[::2] *= z[1]", None),
    "quotient": ("z[1] /= 2", lambda z: np.array([z[0] * 0 + 1, z[1] * 0 + 0.5, z[2] * 0 + 1])),
    "all": ("z[...] **= 2", lambda z: 2 * z),
    "exp": ("z[1] = z[1].exp_()", lambda z: np.array([z[0] * 0 + 1, np.exp(z[1]), z[2] * 0 + 1])),
    "twice": (
        "z[0] **= 2; z[0] **= 2",
        lambda z: np.array([4 * z[0] ** 3, z[1] * 0 + 1, z[2] * 0 + 1]),
    ),
}


@pytest.mark.parametrize("name", AUGMENTED)
def test_parts_that_are_written_through_themselves(name):
    text, gradient = AUGMENTED[name]
    leaf = argosy.to_tensor(START, "float64", stop_gradient=False)
    z = leaf * 1
    exec(text, {"z": z})
    z.sum().backward()
    start = np.array(START)
    if gradient is None:
        expected = np.array([start[1], start[0] + start[2] + 1, start[1]])
    else:
        expected = gradient(start)
    np.testing.assert_allclose(leaf.grad.numpy(), expected, rtol=1e-12)
    plain = {"z": start.copy()}
    exec(text.replace(".exp_()", "").replace("= z[1]", "= np.exp(z[1])") if name == "exp" else text,
         plain | {"np": np})  # fmt: skip
    np.testing.assert_allclose(z.numpy(), plain["z"], rtol=1e-12)


def test_a_value_that_was_there_is_no_write():
    z = argosy.to_tensor(START)
    version = z.inplace_version
    z[1] = z[1]
    assert z.inplace_version == version and z.tolist() == START
    z[1] = z[0]
    assert z.inplace_version == version + 1 and z.tolist() == [START[0], START[0], START[2]]


@pytest.mark.parametrize(
    "call", ["reshape_([2, 3])", "transpose_([1, 0])", "unsqueeze_(0)", "t_()"]
)
def test_a_saved_operand_of_another_form_is_refused(call):
    leaf = argosy.to_tensor(START, stop_gradient=False)
    x = leaf * 1
    y = (x * x).sum()
    eval("x." + call, {"x": x})
    with pytest.raises(RuntimeError, match="another form in place since"):
        y.backward()


def test_results_may_get_another_form():
    leaf = argosy.to_tensor(START, stop_gradient=False)
    y = argosy.exp(leaf)
    y.reshape_([2, 3]).sum().backward()
    np.testing.assert_allclose(leaf.grad.numpy(), np.exp(START), rtol=1e-6)
