"""Tensor arrays: Python lists in eager mode, values of the Program while one is built."""

from argosy import _core
from argosy._core import Tensor


def create_array(dtype="float32", initialized_list=None):
    """An array of tensors that array_write fills.

    Args:
        dtype (str): Of its elements.
        initialized_list (list | tuple, optional): Tensors to start with.
    """
    initial = [] if initialized_list is None else initialized_list
    if not isinstance(initial, (list, tuple)):
        raise TypeError(
            "[create_array] initialized_list: expected a list or tuple of Tensors, got"
            f" {type(initial).__name__}."
            " Do this: put them into a list."
        )
    for v in initial:
        if not isinstance(v, Tensor):
            raise TypeError(
                "[create_array] initialized_list: expected Tensors, got an element of type"
                f" {type(v).__name__}."
                " Do this: convert it by to_tensor."
            )
    if _core.program_recording() is None:
        return list(initial)
    array = _core.ops.array_new(dtype)
    for v in initial:
        array = array_write(v, length_of(array), array)
    return array


def _check_index(name, i):
    if not isinstance(i, Tensor):
        raise TypeError(
            f"[{name}] i: expected a Tensor of one integer, got {type(i).__name__}."
            " Do this: use paddle.full([1], i, 'int64')."
        )
    if i.size != 1:
        raise AssertionError(
            f"[{name}] i: expected one integer, got a Tensor of shape {i.shape}."
            " Do this: reshape it to [1]."
        )


def array_write(x, i, array=None):
    """Puts x at place i of array (a new one if None) and returns the array.

    Args:
        x (Tensor): Any shape.
        i (Tensor): int64, one element: at most the array's length.
        array (list | Tensor, optional): Changed in place.
    """
    _check_index("array_write", i)
    if array is None:
        array = create_array(x.dtype)
    if isinstance(array, list):
        at = int(i)
        if at > len(array):
            raise AssertionError(
                f"[array_write] i: expected at most the array's length {len(array)}, got {at}."
                " Do this: write the places in order."
            )
        array[at : at + 1] = [x]
        return array
    _core.ops.array_write(array, i, x)
    known = getattr(array, "_element", None)
    shape = list(x.shape)
    if known is not None and len(known[0]) == len(shape):
        shape = [a if a == b else -1 for a, b in zip(known[0], shape)]
    array._element = (shape, x.dtype)
    return array


def array_read(array, i):
    """Element i (int64 Tensor of one element) of array."""
    _check_index("array_read", i)
    if isinstance(array, list):
        at = int(i)
        if at >= len(array):
            raise AssertionError(
                f"[array_read] i: expected less than the array's length {len(array)}, got {at}."
                " Do this: write this place first."
            )
        return array[at]
    if not isinstance(array, Tensor) or array._layout != "tensor_array":
        raise TypeError(
            f"[array_read] array: expected a tensor array, got {type(array).__name__}."
            " Do this: make it with create_array."
        )
    element = getattr(array, "_element", None)
    if element is None:
        raise ValueError(
            "[array_read] nothing was written to this array yet, so the form of its elements is not"
            " known. Do this: write an element before the loop that reads it."
        )
    return _core.ops.array_read(array, i, *element)


def array_length(array):
    """Number of elements: an int64 Tensor [1] while a Program is built, an int in eager mode."""
    length = length_of(array)
    return length if isinstance(length, int) else _core.ops.reshape(length, [1])


def length_of(array):
    """Number of elements: an int64 Tensor [] while a Program is built, an int in eager mode."""
    if isinstance(array, list):
        return len(array)
    if not isinstance(array, Tensor) or array._layout != "tensor_array":
        raise TypeError(
            f"[array_length] array: expected a tensor array, got {type(array).__name__}."
            " Do this: make it with create_array."
        )
    return _core.ops.array_length(array)


def tensor_array_to_tensor(input, axis=1, use_stack=False, name=None):
    """The elements of an array concatenated (or stacked) along axis, and their sizes there (int32)."""
    from argosy.tensor import concat, stack  # it imports this module

    if isinstance(input, list):
        joined = stack(input, axis) if use_stack else concat(input, axis)
        sizes = [1 if use_stack else v.shape[axis] for v in input]
        return joined, _core.to_tensor(sizes, "int32", True)
    element = getattr(input, "_element", None)
    if element is None:
        raise ValueError(
            "[tensor_array_to_tensor] nothing was written to this array yet."
            " Do this: call array_write first."
        )
    shape = [-1 if not use_stack and d == axis else s for d, s in enumerate(element[0])]
    return _core.ops.array_join(input, axis, use_stack, shape)
