"""Inputs of Programs."""

from __future__ import annotations

from argosy import _core
from argosy._support import ArgumentError

from . import mode


class StaticModeError(RuntimeError, AssertionError):
    """Something of static mode was called outside of it."""


def data(name, shape, dtype=None, lod_level=0):
    """An input of the main Program, which runs are fed by its name.

    Args:
        name (str): What a run feeds it by. Asked for again with the same form, the input is the one
            there is; with another form it is a second one, and a run feeds its value to whichever
            of the two its results need.
        shape (list | tuple): Sizes; None or -1 where they may differ from run to run.
        dtype (str | dtype, optional): The default dtype if None.
        lod_level (int): 1 for a batch of sequences (see static.nn.sequence_pool), which is fed with
            its lengths: base.create_lod_tensor.

    Returns:
        Variable: No gradient flows to it unless its stop_gradient is set to False.

    Raises:
        TypeError: name is no str, or shape no list or tuple.

    Example:
        >>> argosy.enable_static()
        >>> x = argosy.static.data("x", [None, 3], "float32")
        >>> list(argosy.matmul(x, argosy.ones([3, 4])).shape)
        [-1, 4]
    """
    if not isinstance(name, str):
        raise TypeError(f"The type of 'name' in data must be str, but received {type(name)}.")
    if not isinstance(shape, (list, tuple)):
        raise TypeError(
            f"The type of 'shape' in data must be list or tuple, but received {type(shape)}."
        )
    if not mode.static_mode():
        raise StaticModeError(
            "[static.data] inputs are declared in static mode. Do this: call enable_static() first."
        )
    sizes = [-1 if s is None else int(s) for s in shape]
    dtype = _core.dtype(_core.get_default_dtype() if dtype is None else dtype)
    program = mode.default_main_program()
    for v in _core.program_inputs(program._handle):
        if v.name == name and list(v.shape) == sizes and v.dtype == dtype:
            return v
    if lod_level not in (0, 1):
        raise NotImplementedError(
            f"[static.data] lod_level: expected 0 or 1, got {lod_level}. Do this: pad the inner level."
        )
    made = _core.program_input(program._handle, name, sizes, dtype)
    made.stop_gradient = True
    if lod_level == 1 and _core.program_first(program._handle, name + "@LENGTHS") is None:
        _core.program_input(program._handle, name + "@LENGTHS", [-1], "int64")
    return made


class InputSpec:
    """Form of an input: shape, dtype and name.

    Args:
        shape (list | tuple): Sizes; None or -1 where they vary.
        dtype (str | dtype): Of the elements.
        name (str, optional): Of the input.
        stop_gradient (bool): Whether no gradient flows to it.

    Example:
        >>> spec = argosy.static.InputSpec([None, 3], "float32", "x")
        >>> list(spec.shape), spec.dtype, spec.name
        ([-1, 3], paddle.float32, 'x')
    """

    def __init__(self, shape, dtype="float32", name=None, stop_gradient=False):
        self.shape = self._verify(shape)
        self.dtype = _core.dtype(dtype) if dtype is not None else None
        self.name = name
        self.stop_gradient = stop_gradient

    @staticmethod
    def _verify(shape):
        if not isinstance(shape, (list, tuple)):
            raise TypeError(
                f"Type of `shape` in InputSpec should be one of (tuple, list), but received"
                f" {type(shape).__name__}."
            )
        for i, s in enumerate(shape):
            if s is not None and (isinstance(s, bool) or not isinstance(s, int)):
                raise ArgumentError(
                    f"shape[{i}] in InputSpec should be an int or None, but received"
                    f" {type(s).__name__}."
                )
        return tuple(-1 if s is None else s for s in shape)

    def _create_feed_layer(self):
        return data(self.name, shape=self.shape, dtype=self.dtype)

    @classmethod
    def from_tensor(cls, tensor, name=None):
        """The form of a Tensor.

        Args:
            tensor (Tensor): It.
            name (str, optional): The name of the input; default: the tensor's.

        Returns:
            InputSpec: Its shape and dtype.

        Raises:
            ValueError: It has no shape.

        Example:
            >>> list(argosy.static.InputSpec.from_tensor(argosy.ones([2, 3])).shape)
            [2, 3]
        """
        if not hasattr(tensor, "shape"):
            raise ArgumentError(
                f"[InputSpec.from_tensor] tensor: expected a Tensor, got {type(tensor).__name__}."
                " Do this: make it one with argosy.to_tensor(..)."
            )
        return cls(list(tensor.shape), tensor.dtype, name or tensor.name)

    @classmethod
    def from_numpy(cls, ndarray, name=None):
        """The form of a NumPy array.

        Args:
            ndarray (numpy.ndarray): It.
            name (str, optional): The name of the input.

        Returns:
            InputSpec: Its shape and dtype.

        Example:
            >>> argosy.static.InputSpec.from_numpy(np.ones([2, 3])).dtype
            paddle.float64
        """
        return cls(ndarray.shape, ndarray.dtype, name)

    def batch(self, batch_size):
        """Puts a dimension in front of the shape of this form.

        Args:
            batch_size (int | list[int] | tuple[int]): Its size, alone or as the only element of a list.

        Returns:
            InputSpec: This one.

        Raises:
            TypeError: It is no int.
            ValueError: The list has another length.

        Example:
            >>> list(argosy.static.InputSpec([3]).batch(8).shape)
            [8, 3]
        """
        size = batch_size
        if isinstance(size, (list, tuple)):
            if len(size) != 1:
                raise ValueError(
                    f"Length of batch_size: {batch_size} shall be 1, but received {len(size)}."
                )
            size = size[0]
        if isinstance(size, bool) or not isinstance(size, int):
            raise TypeError(f"type(batch_size) shall be `int`, but received {type(size).__name__}.")
        self.shape = (size, *self.shape)
        return self

    def unbatch(self):
        """Takes the first dimension off the shape of this form.

        Returns:
            InputSpec: This one.

        Raises:
            ValueError: The shape is empty.

        Example:
            >>> list(argosy.static.InputSpec([8, 3]).unbatch().shape)
            [3]
        """
        if not self.shape:
            raise ValueError("Not support to unbatch a InputSpec when len(shape) == 0.")
        self.shape = self.shape[1:]
        return self

    def __repr__(self):
        return (
            f"{type(self).__name__}(shape={self.shape}, dtype={self.dtype}, name={self.name},"
            f" stop_gradient={self.stop_gradient})"
        )

    def __hash__(self):
        return hash((self.shape, str(self.dtype), self.name, self.stop_gradient))

    def __eq__(self, other):
        same = ("shape", "dtype", "name", "stop_gradient")
        return type(self) is type(other) and all(
            getattr(self, k) == getattr(other, k) for k in same
        )

    def __ne__(self, other):
        return not self == other
