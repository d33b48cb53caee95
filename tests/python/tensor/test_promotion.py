"""Ops that promote otherwise than most: 0-d tensors that decide, kinds that mix."""

import numpy as np
import pytest

import argosy
from argosy.static import Executor, Program, data, program_guard

A = argosy.to_tensor(np.arange(1, 7, dtype="float32").reshape(2, 3))
B = argosy.to_tensor(np.arange(1, 7).reshape(3, 2))


@pytest.mark.parametrize(
    ("left", "right", "expected"),
    [
        ("float32", "float64", "float64"),
        ("float64", "float32", "float64"),
        ("float16", "float32", "float32"),
        ("float32", "float32", "float32"),
    ],
)
@pytest.mark.parametrize(
    "name", ["maximum", "minimum", "fmax", "fmin", "floor_divide", "atan2", "outer"]
)
def test_0d_operands_that_decide(name, left, right, expected):
    f = getattr(argosy, name)
    x, y = argosy.to_tensor([1.0, 2.0, 3.0], left), argosy.to_tensor(2.0, right)
    assert f(x, y).dtype == f(y, x).dtype == getattr(argosy, expected)
    assert np.allclose(f(x, y).astype("float64"), f(x.astype("float64"), y.astype("float64")), 1e-3)
    assert (x + y).dtype == x.dtype  # as in most ops


def test_0d_integers_that_decide():
    x = argosy.to_tensor([5, 6], "int32")
    assert (x // argosy.to_tensor(2)).dtype == argosy.int64
    assert (x // 2).dtype == argosy.int32 and (x + argosy.to_tensor(2)).dtype == argosy.int32


def test_0d_operands_that_decide_get_gradients():
    x = argosy.to_tensor([1.0, 5.0], stop_gradient=False)
    y = argosy.to_tensor(2.0, "float64", stop_gradient=False)
    argosy.maximum(x, y).sum().backward()
    assert x.grad.dtype == argosy.float32 and x.grad.tolist() == [0, 1]
    assert y.grad.dtype == argosy.float64 and y.grad.item() == 1


@pytest.mark.parametrize(
    "product",
    [
        argosy.matmul,
        argosy.mm,
        lambda x, y: x @ y,
        lambda x, y: argosy.inner(x, y.t()),
        lambda x, y: argosy.tensordot(x, y, 1),
        argosy.nn.functional.linear,
    ],
)
def test_products_mix_kinds(product):
    exact = A.numpy() @ B.numpy()
    for x, y in (
        (A, B),
        (A.astype("int32"), B.astype("float32")),
        (A.astype("int64"), B.astype("float32")),
    ):
        assert product(x, y).dtype == argosy.float32 and np.array_equal(product(x, y), exact)
    whole = product(A.astype("int32"), B)
    assert whole.dtype == argosy.int64 and np.array_equal(whole, exact)
    assert product(A.astype("complex64"), B).dtype == argosy.complex64


def test_gradients_of_products_that_mix_kinds():
    x = A.clone().detach()
    x.stop_gradient = False
    (x @ B).sum().backward()
    assert x.grad.dtype == argosy.float32 and x.grad.tolist() == [[3, 7, 11], [3, 7, 11]]


def test_products_that_mix_kinds_in_programs():
    argosy.enable_static()
    try:
        main = Program()
        with program_guard(main, Program()):
            out = data("x", [None, 3]) @ data("y", [3, 2], "int64")
            assert out.dtype == argosy.float32
        feed = {"x": A.numpy(), "y": B.numpy()}
        (found,) = Executor().run(main, feed=feed, fetch_list=[out])
    finally:
        argosy.disable_static()
    assert found.dtype == np.float32 and np.array_equal(found, A.numpy() @ B.numpy())


def test_other_ops_do_not_mix_kinds():
    for f in (argosy.add, argosy.maximum, lambda x, y: argosy.bmm(x.unsqueeze(0), y.unsqueeze(0))):
        with pytest.raises(TypeError, match="do not mix"):
            f(A, B.t() if f in (argosy.add, argosy.maximum) else B)


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_complex_linear_has_the_gradients_of_its_product(dtype):
    rng = np.random.default_rng(0)
    given = [
        (rng.normal(size=s) + 1j * rng.normal(size=s)).astype(dtype) for s in ((2, 3), (3, 4), (4,))
    ]

    def gradients(f):
        tensors = [argosy.to_tensor(a, stop_gradient=False) for a in given]
        out = f(*tensors)
        (
            out * argosy.to_tensor(np.arange(8).reshape(2, 4) + 1j).astype(dtype)
        ).abs().sum().backward()
        return [out, *(t.grad for t in tensors)]

    found = gradients(argosy.nn.functional.linear)
    expected = gradients(lambda x, w, b: argosy.matmul(x, w) + b)
    for a, b in zip(found, expected):
        assert np.allclose(a, b, 1e-5)
