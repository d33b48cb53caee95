"""A list that a loop of the Program appends to."""

from ..errors import CaptureError
from . import builders


class TensorList:
    """Behaves like a list of tensors of one dtype; holds a tensor array of the Program."""

    __slots__ = ("array",)

    def __init__(self, array):
        self.array = array

    def copy(self):
        """Another list of the same elements."""
        return TensorList(self.array)

    def length(self):
        """The length, a value of the Program."""
        return builders.array_length(self.array)

    def read(self, i):
        """Element i, counted from 0."""
        return builders.array_read(self.array, i)

    def _index(self, i):
        if builders.is_tensor(i):
            return i
        if not isinstance(i, int):
            raise CaptureError(f"a list filled in a loop on tensors is indexed by {i!r}")
        return self.length() + i if i < 0 else builders.constant(i, builders.number_dtype(0))

    def _part(self, begin=None, end=None, step=None):
        return builders.array_slice(self.array, begin, end, step)

    def _of(self, values):
        """Values that Python can walk, or another such list, as an array."""
        if isinstance(values, TensorList):
            return values.array
        shape, dtype = self.array._element
        values = [builders.as_tensor(v) for v in values]
        for v in values:
            if v.dtype != dtype:
                raise CaptureError(
                    f"a list filled in a loop on tensors holds elements of {dtype}, and got {v.dtype}"
                )
        shapes = [list(v.shape) for v in values] or [shape]
        for other in shapes[1:]:
            shapes[0] = builders.common_sizes(shapes[0], other)
        return builders.create_array(values, shapes[0], dtype)

    def _cut(self, i, values):
        """A slice of it replaced by the elements of an array, or by none."""
        if i.step not in (None, 1):
            raise CaptureError(
                f"a part of a list filled in a loop on tensors is replaced or deleted in steps of {i.step}"
            )
        before, after = self._part(0, i.start) if i.start is not None else None, self._part(i.start)
        gone = builders.array_length(self._part(i.start, i.stop))
        after = builders.array_slice(after, gone)
        if values is not None:
            after = builders.array_chain(values, after)
        self.array = after if before is None else builders.array_chain(before, after)

    def _drop(self, at):
        """Takes out one element, which must be there."""
        head = builders.array_head(self.array, at + 1)
        after = self._part(at + 1)
        self.array = builders.array_chain(builders.array_head(head, at), after)

    def append(self, value):
        """list.append"""
        self.array = builders.array_write(self.array, self.length(), builders.as_tensor(value))

    def extend(self, values):
        """list.extend, by values that Python can walk or another such list"""
        self.array = builders.array_chain(self.array, self._of(values))

    def insert(self, i, value):
        """list.insert"""
        self._cut(slice(i, i), self._of([value]))

    def pop(self, i=-1):
        """list.pop"""
        if isinstance(i, int) and i == -1:
            value, self.array = builders.array_pop(self.array, self.length())
            return value
        at = self._index(i)
        value = self.read(at)
        self._drop(at)
        return value

    def reverse(self):
        """list.reverse"""
        self.array = self._part(step=-1)

    def clear(self):
        """list.clear"""
        self.array = self._part(0, 0)

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        raise CaptureError(f"{name}() of a list that a loop on tensors has filled")

    def __getitem__(self, i):
        if isinstance(i, slice):
            return TensorList(self._part(i.start, i.stop, i.step))
        return self.read(self._index(i))

    def __setitem__(self, i, value):
        if isinstance(i, slice):
            return self._cut(i, self._of(value))
        self.array = builders.array_write(self.array, self._index(i), builders.as_tensor(value))

    def __delitem__(self, i):
        if isinstance(i, slice):
            return self._cut(i, None)
        self._drop(self._index(i))

    def __add__(self, other):
        if not isinstance(other, (list, TensorList)):
            return NotImplemented
        return TensorList(builders.array_chain(self.array, self._of(other)))

    def __radd__(self, other):
        if not isinstance(other, list):
            return NotImplemented
        return TensorList(builders.array_chain(self._of(other), self.array))

    def __mul__(self, times):
        if not isinstance(times, int):
            raise CaptureError(
                "a list filled in a loop on tensors is repeated as often as a tensor says"
            )
        array = builders.array_slice(self.array, 0, 0)
        for _ in range(times):
            array = builders.array_chain(array, self.array)
        return TensorList(array)

    __rmul__ = __mul__

    def __iadd__(self, other):
        self.extend(other)
        return self

    def __len__(self):
        raise CaptureError("len() of a list whose length a Program decides, outside captured code")

    def __iter__(self):
        raise CaptureError(
            "a list whose length a Program decides is iterated outside a `for` statement. "
            "Do this: stack or concatenate it, or loop over it in a captured function."
        )

    def __repr__(self):
        return f"TensorList({self.array!r})"
