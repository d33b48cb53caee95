"""Numbers that a captured function makes of tensors take the dtype that Python's numbers take beside tensors."""

import warnings

import pytest

import argosy

F = argosy.nn.functional
FUNCTIONS = {
    "where": lambda x, n: argosy.where(x > 1, x, n),
    "where, x": lambda x, n: argosy.where(x > 1, n, x),
    "where, both": lambda x, n: argosy.where(x > 1, n, 2.0),
    "maximum": lambda x, n: argosy.maximum(x, n),
    "method": lambda x, n: x.fmax(n),
    "add": lambda x, n: argosy.add(x, n),
    "divide": lambda x, n: argosy.divide(x, n),
    "atan2": lambda x, n: argosy.atan2(x, n),
    "clip": lambda x, n: argosy.clip(x, 0.0, n),
    "scale": lambda x, n: argosy.scale(x, n),
    "full_like": lambda x, n: argosy.full_like(x, n),
    "full": lambda x, n: argosy.full([2], n),
    "full of a comparison": lambda x, n: argosy.full([1], n > 3),
    "full of a bool": lambda x, n: argosy.full([1], x.sum() > 3),
    "masked_fill": lambda x, n: argosy.masked_fill(x, x > 1, n),
    "times": lambda x, n: x * n,
    "to_tensor": lambda x, n: argosy.to_tensor(n),
    "to_tensor of a dtype": lambda x, n: argosy.to_tensor(n, "float64"),
    "of a list": lambda x, n: argosy.stack([x.sum(), x.sum() * n]),
}


def outcome(function, x):
    made = function(x)
    return made.dtype, made.tolist()


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "int64"])
@pytest.mark.parametrize("kind", [float, int, bool])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_dtypes(name, kind, dtype):
    """Of calls in code that is rewritten (here f itself), and in code that is not (a lambda of a table)."""
    compute = FUNCTIONS[name]
    x = argosy.arange(3).astype(dtype)

    def f(x):
        return compute(x, kind(x.sum()))

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert outcome(argosy.jit.to_static(f), x) == outcome(f, x)


def direct_where(x):
    return argosy.where(x > 1, x, float(x.sum()))


def direct_maximum(x):
    return argosy.maximum(x, float(x.sum())) + x.minimum(int(x.sum()))


def direct_full(x):
    return argosy.full([2], bool(x.sum() > 1))


def direct_scale(x):
    return argosy.scale(x, float(x.astype("float64").sum() / 3))


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
@pytest.mark.parametrize("f", [direct_where, direct_maximum, direct_full, direct_scale])
def test_in_rewritten_code(f, dtype):
    x = argosy.arange(3).astype(dtype)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert outcome(argosy.jit.to_static(f), x) == outcome(f, x)


def as_int(x):
    return int(x.sum()) + 1


def as_int_of_float(x):
    return int(float(x.sum()))


def product(x):
    n = int(x.max())
    return n * n * n, n * -1


@pytest.mark.parametrize("f", [as_int, as_int_of_float])
def test_floats_that_no_int_of_64_bits_holds(f):
    captured = argosy.jit.to_static(f)
    for good in (3.5, -7.25, 2.0**62):
        assert captured(argosy.to_tensor([good], "float64")) == f(
            argosy.to_tensor([good], "float64")
        )
    for bad in (float("nan"), float("inf"), -1e30, 2.0**63):
        with pytest.raises(
            ValueError, match=r"int\(\) of NaN, infinity or more than 64 bits .*Do this"
        ):
            captured(argosy.to_tensor([bad], "float64"))


def test_products_that_leave_64_bits():
    captured = argosy.jit.to_static(product)
    for good in (3, -5, 2000000, 2097151, -2097152):
        assert captured(argosy.to_tensor([good])) == product(argosy.to_tensor([good]))
    for bad in (2097152, 3000000, 10**9, 2**62):
        with pytest.raises(ValueError, match="a product of ints takes more than 64 bits"):
            captured(argosy.to_tensor([bad]))


def test_the_largest_numbers_are_no_errors():
    def f(x):
        n = int(x.max())
        return n * 1, n - 1, n // 2 * 2

    largest = argosy.to_tensor([2**63 - 1])
    assert argosy.jit.to_static(f)(largest) == f(largest)


def test_methods_that_name_no_module_are_captured():
    def function(x):
        y = (x * 2).detach()
        return y * float(y.sum()) if y.is_contiguous() else y

    captured = argosy.jit.to_static(function)
    x = argosy.arange(3, dtype="float32")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert captured(x).tolist() == function(x).tolist() == [0.0, 12.0, 24.0]
