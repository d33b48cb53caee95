"""The operations of a Program that control flow needs."""

import functools

from argosy import _core, tensor
from argosy._capturing import exact_numbers
from argosy._dtypes import COMPLEX, INTEGER
from argosy._support import is_operand, is_symbolic, listed_if_any
from argosy.nn.layer.layers import Layer

from ..errors import CaptureError

# Stands for the dtype of a tensor array.
ARRAY = "tensor array"
_LAST = 2**63 - 1


def is_tensor(x):
    """Whether ops take x as it is."""
    return is_operand(x)


@functools.lru_cache(maxsize=None)
def _control_flow():
    from argosy.static.nn import control_flow

    return control_flow


@functools.lru_cache(maxsize=None)
def _arrays():
    from argosy.tensor import array

    return array


def decides(x):
    """Is the number in x known only when a Program runs? While one is recorded that is so for all
    tensors: those that have a number now are state, which may have another one then."""
    return is_operand(x) and (x._symbolic or recording())


def recording():
    """Is a Program recorded?"""
    return _core.program_recording() is not None


def cond(pred, true_fn, false_fn):
    """Appends an `if`; both functions return equally long lists of tensors."""
    outs = _control_flow().cond(_scalar(pred), true_fn, false_fn)
    return listed_if_any(outs)


def while_loop(test, body, values):
    """Appends a loop over a list of tensors; returns their last values."""
    return listed_if_any(_control_flow().while_loop(test, body, list(values)))


def _scalar(pred):
    """A condition as a bool tensor."""
    return as_bool(pred)


def as_bool(x):
    """A tensor or Python value as a bool tensor of no dimensions, where its size is known to be 1."""
    if not is_tensor(x):
        return tensor.full([], bool(x), "bool")
    if x.dtype != _core.bool:
        x = tensor.cast(x, "bool")
    elif not x._symbolic:
        x = tensor.assign(x)
    return x if x.ndim == 0 else tensor.reshape(x, [])


def number_dtype(x):
    """The dtype that a Python number takes as a tensor."""
    if isinstance(x, bool):
        return _core.bool
    if isinstance(x, int):
        return _core.int64
    if isinstance(x, complex):
        return _core.complex64
    return _core.float64 if exact_numbers() else _core.dtype(_core.get_default_dtype())


@functools.lru_cache(maxsize=None)
def made_numbers():
    """The module of numbers made of tensors, which stands above this one."""
    from argosy.jit import made_numbers

    return made_numbers


def number_kind(x):
    """bool, int or float for what is a number in eager calls, where that is told apart; None for all else."""
    return made_numbers().kind_of(x) if exact_numbers() else None


def tagged(x, kind):
    """x, which stands for a number of a type in eager calls; None: for a tensor."""
    return x if kind is None else made_numbers().tagged(x, kind)


def kind(dtype):
    """'b', 'i', 'f' or 'c': what of Python's numbers a dtype can hold; 'a' for tensor arrays."""
    if dtype is ARRAY:
        return "a"
    dtype = _core.dtype(dtype)
    if dtype == _core.bool:
        return "b"
    return "i" if dtype in INTEGER else "c" if dtype in COMPLEX else "f"


def constant(number, dtype, shape=()):
    """A tensor filled with a number; sizes that are unknown become 1."""
    if dtype is ARRAY:
        raise CaptureError("a list is filled on only one path of a condition on tensors")
    return tensor.full([1 if d < 0 else d for d in shape], number, dtype)


def cast(x, dtype):
    """x in another dtype."""
    return tensor.cast(x, dtype)


def select(condition, x, y):
    """x where condition holds, else y."""
    return tensor.where(condition, x, y)


def both(x, y):
    """x and y, as bool tensors."""
    return tensor.logical_and(as_bool(x), as_bool(y))


def either(x, y):
    """x or y, as bool tensors."""
    return tensor.logical_or(as_bool(x), as_bool(y))


def negation(x):
    """not x, as a bool tensor."""
    return tensor.logical_not(as_bool(x))


def size(x, axis):
    """A size of a tensor that is known only when the Program runs."""
    return tensor.shape(x)[axis]


def numel(x):
    """The number of elements of a tensor, which a Program may decide."""
    return tensor.numel(x)


def reshape(x, shape):
    """x in another shape."""
    return tensor.reshape(x, shape)


def any_equal(x, y):
    """Does any element of x equal y?"""
    return (x == y).any()


def item(x, index):
    """x[index] for a symbolic index."""
    return x[index]


def type_of(x):
    """(dtype, shape) of a tensor, (ARRAY, shape of its elements) of an array."""
    if is_array(x):
        element = getattr(x, "_element", None)
        return ARRAY, list(element[0]) if element else []
    return x.dtype, list(x.shape)


def spec(x):
    """What stand_in() needs to make a tensor or array of the type of x."""
    if is_array(x):
        element = getattr(x, "_element", None) or ([], x.dtype)
        return ARRAY, element
    return x.dtype, list(x.shape)


def stand_in(spec):
    """A tensor or array of a type whose value does not matter."""
    dtype, shape = spec
    return create_array([], *shape) if dtype is ARRAY else constant(0, dtype, shape)


def of_unknown_size(x, shape):
    """x, with the sizes forgotten that are -1 in `shape`."""
    if is_array(x):
        element = getattr(x, "_element", None)
        if element:
            x._element = (list(shape), element[1])
        return x
    if all(a == b for a, b in zip(shape, x.shape)):
        return x
    return _core.program_forget_sizes(x if x._symbolic else tensor.assign(x), shape)


def is_array(x):
    """Is x a tensor array of the Program?"""
    return is_symbolic(x) and x._layout == "tensor_array"


def create_array(values, shape, dtype):
    """A tensor array that holds `values`, for elements of a shape and dtype."""
    array = _arrays().create_array(dtype, values)
    array._element = (shape, dtype)
    return array


def array_write(array, index, value):
    """The array with one element set."""
    return _arrays().array_write(value, index, array)


def array_read(array, index):
    """One element of the array."""
    return _arrays().array_read(array, index)


def array_pop(array, length):
    """(last element, the array without it)"""
    rest = _core.ops.array_take(array, length - 1)
    rest._element = array._element
    return array_read(array, length - 1), rest


def array_slice(array, begin=None, end=None, step=None):
    """array[begin:end:step] as an array."""
    step = 1 if step is None else step
    if not isinstance(step, int):
        raise CaptureError(
            "a list filled in a loop on tensors is sliced in steps that a tensor says"
        )
    if step == 0:
        raise ValueError("slice step cannot be zero")
    forward = step >= 0
    if begin is None:
        begin = 0 if forward else _LAST
    if end is None:
        end = _LAST if forward else -_LAST - 1
    bounds = [
        constant(i, number_dtype(0)) if isinstance(i, int) else index(i) for i in (begin, end)
    ]
    part = _core.ops.array_slice(array, array_length(array), *bounds, step)
    part._element = array._element
    return part


def array_head(array, count):
    """The first `count` elements, which must be there."""
    head = _core.ops.array_take(array, count)
    head._element = array._element
    return head


def array_chain(first, second):
    """One array behind another."""
    (a, dtype), (b, _) = first._element, second._element
    whole = _core.ops.array_chain(first, array_length(first), second)
    whole._element = (common_sizes(a, b), dtype)
    return whole


def common_sizes(a, b):
    """The sizes that both shapes have, -1 where they differ; those of b if it has another rank."""
    return [x if x == y else -1 for x, y in zip(a, b)] if len(a) == len(b) else list(b)


def array_length(array):
    """The number of elements as an int64 tensor of no dimensions."""
    return _arrays().length_of(array)


def array_stack(array, axis, stack):
    """The elements stacked, or joined along an axis."""
    return _arrays().tensor_array_to_tensor(array, axis, stack)[0]


def as_tensor(x):
    """A tensor or number as a tensor."""
    return x if is_tensor(x) else constant(x, number_dtype(x))


def index(x):
    """An int64 tensor of no dimensions."""
    if x.dtype != _core.int64:
        x = tensor.cast(x, "int64")
    return x if x.ndim == 0 else tensor.reshape(x, [])


def minimum(x, y):
    """The smaller of two int64 tensors."""
    return tensor.minimum(x, y)


def ceil_division(distance, step):
    """Steps that cover a distance, for a step of either sign that a Program decides."""
    return -(-distance // step)


def check(condition, message):
    """Appends an assertion."""
    text = "" if message is None else str(message)
    _control_flow().Assert(as_bool(condition), name=text)


def print_(values):
    """Appends operations that print tensors; other values go before the next tensor as text."""
    text = []
    for v in values:
        if is_symbolic(v):
            _control_flow().Print(v, message=" ".join(text))
            text = []
        else:
            text.append(str(v))
    if text:
        print(*text)


def extreme(name, x, y):
    """maximum or minimum of tensors and numbers."""
    if not is_tensor(x):
        x = constant(x, y.dtype)
    if not is_tensor(y):
        y = constant(y, x.dtype)
    return getattr(tensor, name)(x, y)


def is_layer(x):
    """Is x an argosy.nn.Layer?"""
    return isinstance(x, Layer)
