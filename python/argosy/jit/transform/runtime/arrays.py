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

    def append(self, value):
        """list.append"""
        self.array = builders.array_write(self.array, self.length(), builders.as_tensor(value))

    def extend(self, values):
        """list.extend, by values that Python can walk"""
        for v in values:
            self.append(v)

    def pop(self, i=-1):
        """list.pop, of the last element"""
        if i != -1:
            raise CaptureError("a list filled in a loop on tensors gives up only its last element")
        value, self.array = builders.array_pop(self.array, self.length())
        return value

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        raise CaptureError(f"{name}() of a list that a loop on tensors has filled")

    def __getitem__(self, i):
        return self.read(self._index(i))

    def __setitem__(self, i, value):
        self.array = builders.array_write(self.array, self._index(i), builders.as_tensor(value))

    def __len__(self):
        raise CaptureError("len() of a list whose length a Program decides, outside captured code")

    def __iter__(self):
        raise CaptureError(
            "a list whose length a Program decides is iterated outside a `for` statement. "
            "Do this: stack or concatenate it, or loop over it in a captured function."
        )

    def __repr__(self):
        return f"TensorList({self.array!r})"
