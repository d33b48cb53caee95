"""Scopes: where runs find and leave the values of state."""

from __future__ import annotations

import math
from contextlib import contextmanager

from argosy import _core
from argosy.device.place import checked_place

from .mode import recording


class DenseTensor:
    """The value of a variable of a scope, or a result that was fetched with return_numpy=False.

    ``np.array(t)`` copies it; ``set`` gives it another value.

    Args:
        tensor (Tensor, optional): The value.
        owner (tuple, optional): A scope and a name in it, whose value this follows.
        writes_through (bool): Whether what ``set`` takes becomes the value of tensor itself.

    Example:
        >>> t = argosy.static.DenseTensor()
        >>> t.set(np.ones([3, 2], "float32"))
        >>> t.shape(), float(t.numpy().sum())
        ([3, 2], 6.0)
    """

    def __init__(self, tensor=None, owner=None, writes_through=False):
        self._own = tensor
        self._writes_through = writes_through
        self._owner = owner  # (Scope, name)
        self._lengths = None  # of the sequences whose rows these are

    @property
    def _tensor(self):
        if self._owner is not None:
            return self._owner[0]._value(self._owner[1])
        return self._own

    def _known(self):
        tensor = self._tensor
        if tensor is None:
            name = f"'{self._owner[1]}'" if self._owner else "this tensor"
            raise ValueError(
                f"[DenseTensor] {name} has no value yet. Do this: run the startup program, or call"
                " set(array, place)."
            )
        return tensor

    def set(self, array, place=None):
        """Takes the values, shape and dtype of an array.

        Args:
            array (numpy.ndarray | Tensor | DenseTensor): It.
            place (Place, optional): Where to put them.
        """
        array = getattr(array, "_tensor", array)
        value = _core.to_tensor(array, None, True)
        if place is not None:
            value = value.to(checked_place(place, "DenseTensor.set"))
        value.persistable = True
        if self._owner is not None:
            _core.scope_set(self._owner[0]._handle, self._owner[1], value)
        elif self._writes_through:
            self._own._set_data(value)
        else:
            self._own = value

    def shape(self):
        """Sizes of the dimensions.

        Returns:
            list[int]: One for each.
        """
        return list(self._known().shape)

    _get_dims = shape

    def numpy(self):
        """The values.

        Returns:
            numpy.ndarray: A copy.
        """
        return _core.to_numpy(self._known(), True)

    def __array__(self, dtype=None, copy=None):
        array = _core.to_numpy(self._known(), True)
        return array if dtype is None else array.astype(dtype)

    def __float__(self):
        return float(self.numpy())

    def __len__(self):
        return self.shape()[0]

    def __getitem__(self, key):
        return self.numpy()[key]

    def recursive_sequence_lengths(self):
        """Lengths of the sequences whose rows lie here.

        Returns:
            list[list[int]]: [lengths], or [] for a plain tensor.
        """
        return [] if self._lengths is None else [list(self._lengths)]

    def set_recursive_sequence_lengths(self, lengths):
        """Says of which lengths the sequences are whose rows lie here.

        Args:
            lengths (list[list[int]]): One level, such as [[3, 1, 2]]; [] for none.

        Raises:
            ValueError: more than one level, or the lengths are not those of all rows.

        Example:
            >>> t = argosy.static.DenseTensor(argosy.ones([3, 2]))
            >>> t.set_recursive_sequence_lengths([[2, 1]])
            >>> t.recursive_sequence_lengths(), t.lod()
            ([[2, 1]], [[0, 2, 3]])
        """
        if len(lengths) > 1:
            raise ValueError(
                f"[DenseTensor] expected one level of lengths, got {len(lengths)}."
                " Do this: pass [lengths]."
            )
        own = [int(n) for n in lengths[0]] if lengths else None
        if own is not None and sum(own) != self.shape()[0]:
            raise ValueError(
                f"[DenseTensor] the lengths must add up to the number of rows: expected"
                f" {self.shape()[0]}, got {sum(own)} = sum of {own}."
                " Do this: correct them."
            )
        self._lengths = own

    def lod(self):
        """Places where sequences begin, and the end.

        Returns:
            list[list[int]]: [places], or [] for a plain tensor.
        """
        if self._lengths is None:
            return []
        places = [0]
        for n in self._lengths:
            places.append(places[-1] + n)
        return [places]

    def set_lod(self, lod):
        """Says where the sequences begin whose rows lie here.

        Args:
            lod (list[list[int]]): What lod() gives: [places]; [] for none.

        Raises:
            ValueError: The places do not end with the number of rows.

        Example:
            >>> t = argosy.static.DenseTensor(argosy.ones([3, 2]))
            >>> t.set_lod([[0, 2, 3]])
            >>> t.recursive_sequence_lengths()
            [[2, 1]]
        """
        places = lod[0] if lod else None
        self.set_recursive_sequence_lengths(
            [] if places is None else [[b - a for a, b in zip(places, places[1:])]]
        )

    def _set_dims(self, sizes):
        """Another shape for as many elements; without a value it is set's that counts."""
        if self._tensor is not None and math.prod(sizes) == self._tensor.size:
            self.set(self.numpy().reshape(sizes))

    def _clear(self):
        """Forgets the value of a tensor that belongs to no scope."""
        if self._writes_through:
            self._own._clear()
        else:
            self._own = None

    def _copy(self, place):
        """Another tensor with the same values."""
        made = DenseTensor()
        made.set(self.numpy(), place)
        return made

    def _element(self, index):
        return self.numpy().reshape(-1)[index].item()

    def _set_element(self, index, value):
        array = self.numpy()
        array.reshape(-1)[index] = value
        self.set(array)

    _get_float_element = _get_double_element = _element
    _get_complex64_element = _get_complex128_element = _element
    _set_float_element = _set_double_element = _set_element
    _set_complex64_element = _set_complex128_element = _set_element

    def _is_initialized(self):
        return self._tensor is not None and not (self._writes_through and self._own.size == 0)

    def _dtype(self):
        return self._known().dtype

    def _place(self):
        return self._known().place

    def _numel(self):
        return self._known().size

    def _ptr(self):
        return self._known().data_ptr()

    def _layout(self):
        return "NCHW"  # whatever the shape: Paddle's name for C order

    def _slice(self, begin, end):
        """Rows begin to end - 1, in the same memory."""
        return DenseTensor(self._known()._slice(begin, end))

    def _to_dlpack(self):
        return self._known().__dlpack__()

    def __repr__(self):
        return f"DenseTensor({self._tensor!r})"


def create_lod_tensor(data, recursive_seq_lens, place=None):
    """A batch of sequences to feed.

    Args:
        data (numpy.ndarray | list | DenseTensor): Rows of all sequences, one after the other; or a
            list of sequences of integers.
        recursive_seq_lens (list): [[length of each sequence]].
        place (Place): Where the data go.

    Returns:
        DenseTensor: The rows, which know the lengths.

    Example:
        >>> t = argosy.static.scope.create_lod_tensor(np.ones([3, 2]), [[2, 1]], argosy.CPUPlace())
        >>> t.lod()
        [[0, 2, 3]]
    """
    import numpy

    if isinstance(data, DenseTensor):
        data = data.numpy()
    elif isinstance(data, list):
        data = numpy.concatenate([numpy.asarray(s) for s in data]).astype("int64").reshape(-1, 1)
    made = DenseTensor()
    made.set(data, place)
    made.set_recursive_sequence_lengths(recursive_seq_lens)
    return made


class ScopeVariable:
    """A name in a Scope.

    Args:
        scope (Scope): The scope.
        name (str): The name.

    Example:
        >>> scope = argosy.static.Scope()
        >>> variable = argosy.static.scope.ScopeVariable(scope, "x")
        >>> variable.get_tensor().set(np.ones([2], "float32"))
        >>> scope.local_var_names()
        ['x']
    """

    def __init__(self, scope, name):
        self._scope = scope
        self.name = name

    def get_tensor(self):
        """Its value.

        Returns:
            DenseTensor: Follows later changes.
        """
        return DenseTensor(owner=(self._scope, self.name))


class Scope:
    """Values by name. A name not found in it is looked for in its parent.

    Example:
        >>> scope = argosy.static.Scope()
        >>> scope.var("x").get_tensor().set(np.ones([2], "float32"))
        >>> kid = scope.new_scope()
        >>> kid.find_var("x").get_tensor().numpy().tolist()
        [1.0, 1.0]
        >>> scope.size(), scope.local_var_names(), kid.size()
        (1, ['x'], 0)
        >>> scope.drop_kids()
        >>> scope.erase(["x"])
        >>> scope.find_var("x") is None
        True
    """

    def __init__(self, _parent=None):
        self._parent = _parent
        self._handle = _core.scope_new(None if _parent is None else _parent._handle)
        self._kids = []

    def _value(self, name):
        return _core.scope_get(self._handle, name)

    def var(self, name):
        """A variable, which is made here if it is not found.

        Args:
            name (str): Its name.

        Returns:
            ScopeVariable: It.
        """
        if not _core.scope_has(self._handle, name):
            _core.scope_set(self._handle, name, None)
        return ScopeVariable(self, name)

    def find_var(self, name):
        """A variable of this scope or of those above it.

        Args:
            name (str): Its name.

        Returns:
            ScopeVariable | None: None if there is none.
        """
        return ScopeVariable(self, name) if _core.scope_has(self._handle, name) else None

    def new_scope(self):
        """Makes a scope whose parent is this one.

        Returns:
            Scope: The new one.
        """
        self._kids.append(Scope(self))
        return self._kids[-1]

    def drop_kids(self):
        """Forgets the scopes that new_scope made."""
        self._kids.clear()

    def erase(self, names):
        """Removes variables.

        Args:
            names (list[str]): Theirs.
        """
        for name in names:
            _core.scope_erase(self._handle, name)

    def local_var_names(self):
        """Names of the variables made here.

        Returns:
            list[str]: Without those of parents.
        """
        return _core.scope_names(self._handle)

    def size(self):
        """The number of the variables made here.

        Returns:
            int: Without those of parents.
        """
        return len(self.local_var_names())


_global = Scope()
_current = _global


def global_scope():
    """The scope that runs use unless they are given another.

    Returns:
        Scope: It.

    Example:
        >>> scope = argosy.static.Scope()
        >>> with argosy.static.scope_guard(scope):
        ...     argosy.static.global_scope() is scope
        True
    """
    return _current


@contextmanager
def scope_guard(scope):
    """A context in which another scope is the global one.

    Args:
        scope (Scope): It.

    Returns:
        A context manager.

    Raises:
        TypeError: It is no Scope.

    Example:
        >>> with argosy.static.scope_guard(argosy.static.Scope()):
        ...     argosy.static.global_scope().size()
        0
    """
    global _current
    if not isinstance(scope, Scope):
        raise TypeError(
            f"[scope_guard] scope: expected a Scope, got {type(scope).__name__}."
            " Do this: pass static.Scope()."
        )
    before, _current = _current, scope
    try:
        yield
    finally:
        _current = before


def set_state(handle, value, scope):
    """Puts a value of the state's shape and dtype into `scope`."""
    set_states([(handle, value)], scope)


def set_states(pairs, scope):
    """set_state of several (handle, value): if one does not fit, none is put."""
    with recording(None):
        fitting = [(handle, _fitting(handle, value)) for handle, value in pairs]
        for handle, value in fitting:
            if handle._symbolic:
                _core.scope_set(scope._handle, handle.name, _core.to_tensor(value, None, True))
            else:
                handle._copy_from(value)


def _fitting(handle, value):
    """A tensor of the value with the state's shape and dtype."""
    value = _core.to_tensor(getattr(value, "_tensor", value), None, False)
    if value._symbolic:
        raise TypeError(
            f"[set_value] '{handle.name}' cannot take a variable of a Program, which has no value."
            " Do this: give an array."
        )
    expected = [int(s) for s in handle.shape]
    if list(value.shape) != expected and value.size == handle.size:
        value = value.reshape(expected)
    if list(value.shape) != expected:
        raise ValueError(
            f"[set_value] '{handle.name}' has another shape: expected {expected}, got"
            f" {list(value.shape)}. Do this: build the Program as it was built when the value"
            " was saved."
        )
    if value.dtype != handle.dtype:
        bits = {value.dtype, handle.dtype} == {_core.uint16, _core.bfloat16}  # one array in NumPy
        value = _core.ops.view_dtype(value, handle.dtype) if bits else value.astype(handle.dtype)
    return value
