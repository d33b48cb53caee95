"""Python numbers that a captured function makes of tensors: `int(x.sum())`, `x.item()`, `not x`.

Eager calls give numbers there. What falls back to Python captures them as values of the Program that know what
they stand for: arithmetic among them is Python's, beside a tensor they are numbers, and in the function's result
they become numbers again. What needs the number while the function is captured (its text, its hash) raises, so
that the function runs as Python. With full_graph=True they stay tensors, as in Paddle's captured functions.
"""

import operator

from argosy import _core, tensor
from argosy._capturing import exact_numbers, refuse
from argosy._core import Tensor
from argosy._dtypes import COMPLEX, INTEGER, REAL
from argosy.autograd import no_grad

from .transform.errors import CaptureError

_DTYPES = {bool: "bool", int: "int64", float: "float64"}


def _refuse(what):
    refuse(
        CaptureError(
            f"it asks for {what} a number that it makes of a tensor, which only a run knows. Do this: compute with the"
            " tensor itself"
        )
    )


class MadeNumber(Tensor):
    """A value of a Program that stands for a Python number; `kind` is its type."""

    kind = None
    _stands_for_number = True

    def __str__(self):
        _refuse("the text of")

    __repr__ = __str__

    def __format__(self, spec):
        _refuse("the text of")

    def __hash__(self):
        _refuse("the hash of")

    def __round__(self, *digits):
        _refuse("a rounding of")


_core.set_made_number(MadeNumber)


class MadeBool(MadeNumber):
    """A bool of a captured function."""

    kind = bool


class MadeInt(MadeNumber):
    """An int of a captured function."""

    kind = int


class MadeFloat(MadeNumber):
    """A float of a captured function."""

    kind = float


_CLASSES = {bool: MadeBool, int: MadeInt, float: MadeFloat}


def kind_of(x):
    """bool, int or float for a number, made of a tensor or Python's own; None for all else."""
    if isinstance(x, MadeNumber):
        return x.kind
    return type(x) if type(x) in _DTYPES else None


def made_kind(x):
    """bool, int or float for a number made of a tensor; None for all else."""
    return x.kind if isinstance(x, MadeNumber) else None


def made(x, kind=None):
    """x, one element of a tensor, as the number of a type that Python makes of it; x itself where numbers stay
    tensors. Default: the type that `item()` gives."""
    if not exact_numbers():
        return x
    if kind is None:
        if x.dtype in COMPLEX:
            _refuse("the parts of")
        kind = bool if x.dtype == _core.bool else int if x.dtype in INTEGER else float
    with no_grad():
        x = tensor.reshape(_tensor_of(x) if isinstance(x, MadeNumber) else x, [])
        if kind is int and x.dtype in REAL:
            _check(
                tensor.abs(tensor.cast(x, "float64")) < _BEYOND, "int() of NaN, infinity or more"
            )
        fresh = tensor.assign(tensor.cast(x, _DTYPES[kind]))
    fresh.stop_gradient = True
    return tagged(fresh, kind)


_BEYOND = 2.0**63


def _check(holds, what):
    """Appends an assertion, which the run of the Program makes."""
    text = f"{what} than 64 bits in a captured function, where ints have these. Do this: use floats, or do not capture it"
    _core.ops.assert_true(holds, [], 20, text)


def tagged(fresh, kind):
    """A tensor that nobody else holds, as a number of a type."""
    fresh.__class__ = _CLASSES[kind]
    return fresh


def plain(x, real):
    """The tensor of a number, a float as one of the dtype `real`; lists and the like by element."""
    if isinstance(x, MadeNumber):
        return tensor.cast(_tensor_of(x), real) if x.kind is float else _tensor_of(x)
    if type(x) in (list, tuple) and any(map(_holds_one, x)):
        return type(x)(plain(v, real) for v in x)
    if type(x) is dict and any(map(_holds_one, x.values())):
        return {k: plain(v, real) for k, v in x.items()}
    return x


def _is_double(x):
    """Whether an argument, or an element of it, is a float64 tensor or names that dtype."""
    if isinstance(x, MadeNumber):
        return False
    if isinstance(x, Tensor):
        return x.dtype == _core.float64
    if type(x) in (list, tuple):
        return any(map(_is_double, x))
    return x is _core.float64 or (type(x) is str and x in ("float64", "double"))


def _holds_one(x):
    if type(x) in (list, tuple):
        return any(map(_holds_one, x))
    if type(x) is dict:
        return any(map(_holds_one, x.values()))
    return isinstance(x, MadeNumber)


def _tensor_of(x):
    """Another handle on the value of a number, which is a tensor like others."""
    return _core.ops.assign(x)


def _takes_numbers(function):
    """Whether a function of the library tells by itself what the number of a tensor is: those that are made from
    descriptions of ops do."""
    plain = getattr(function, "__func__", function)
    module = getattr(plain, "__module__", None) or ""  # None: of a method that is bound in C++
    return getattr(plain, "_takes_made_numbers", False) or module.startswith("argosy._generated")


def taking_tensors(function):
    """A function of the library, which takes tensors where it is given numbers of tensors. A float becomes a
    float64 where other arguments are: it has its 64 bits there, as Python's have."""
    if _takes_numbers(function):
        return function
    owner = getattr(function, "__self__", None)

    def call(*args, **kwargs):
        if any(map(_holds_one, args)) or any(map(_holds_one, kwargs.values())):
            double = any(map(_is_double, (owner, *args, *kwargs.values())))
            real = "float64" if double else _core.get_default_dtype()
            args = tuple(plain(x, real) for x in args)
            kwargs = {k: plain(v, real) for k, v in kwargs.items()}
        return function(*args, **kwargs)

    return call


# --- arithmetic ---


def _beside(number, x):
    """A tensor of the dtype that the number has beside the tensor x."""
    dtype = x.dtype
    if number.kind is bool:
        return _tensor_of(number)
    if number.kind is int:
        dtype = _core.int64 if dtype == _core.bool else dtype
    elif dtype not in REAL + COMPLEX:
        dtype = _core.get_default_dtype()
    return tensor.cast(_tensor_of(number), dtype)


def _number(x, kind):
    """A number of either sort as a tensor of a type."""
    dtype = _DTYPES[kind]
    return (
        tensor.cast(_tensor_of(x), dtype)
        if isinstance(x, MadeNumber)
        else tensor.full([], x, dtype)
    )


def _binary(compute, divides, compares):
    def method(self, other, swapped=False):
        kind = kind_of(other)
        if kind is None:
            if not isinstance(other, Tensor):
                return NotImplemented
            a, b = _beside(self, other), other
            return compute(b, a) if swapped else compute(a, b)
        if divides and (swapped or isinstance(other, MadeNumber) or other == 0):
            _refuse("a division by")  # Python raises where it is 0
        if type(other) is int and not -(2**63) <= other < 2**63:
            _refuse("arithmetic of")
        wide = float if float in (self.kind, kind) or compute is operator.truediv else int
        a, b = _number(self, wide), _number(other, wide)
        result = compute(b, a) if swapped else compute(a, b)
        if wide is int and compute is operator.mul:
            product = tensor.cast(a, "float64") * tensor.cast(b, "float64")
            off = tensor.abs(product - tensor.cast(result, "float64"))  # 2^64 at least, or rounding
            _check(off < _BEYOND, "a product of ints takes more")
        return tagged(tensor.assign(result), bool if compares else wide)

    return method


def _swapped(method):
    def reflected(self, other):
        return method(self, other, True)

    return reflected


for _name, _divides in (
    ("add", False), ("sub", False), ("mul", False), ("truediv", True), ("floordiv", True), ("mod", True),
):  # fmt: skip
    _method = _binary(getattr(operator, _name), _divides, False)
    setattr(MadeNumber, f"__{_name}__", _method)
    setattr(MadeNumber, f"__r{_name}__", _swapped(_method))
    setattr(MadeNumber, f"__i{_name}__", _method)
for _name in ("lt", "le", "gt", "ge", "eq", "ne"):
    setattr(MadeNumber, f"__{_name}__", _binary(getattr(operator, _name), False, True))


def _decided(self, *args):
    _refuse("an operation on")


for _name in (
    "pow", "rpow", "ipow", "divmod", "rdivmod", "and", "rand", "or", "ror", "xor", "rxor", "lshift", "rlshift",
    "rshift", "rrshift", "invert", "trunc", "floor", "ceil", "matmul", "rmatmul", "getitem",
):  # fmt: skip
    setattr(MadeNumber, f"__{_name}__", _decided)


def _unary(compute):
    def method(self):
        kind = int if self.kind is bool else self.kind
        return tagged(tensor.assign(compute(_number(self, kind))), kind)

    return method


def _attribute(name):
    return property(lambda self: _refuse(f"the attribute '{name}' of"))


# What numbers and tensors may both have, such as `real`, is another thing of either.
for _name in {*dir(int), *dir(float)}:
    if not _name.startswith("_"):
        setattr(MadeNumber, _name, _attribute(_name))

MadeNumber.__neg__ = _unary(operator.neg)
MadeNumber.__pos__ = _unary(lambda x: x)
MadeNumber.__abs__ = _unary(abs)
