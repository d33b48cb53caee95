"""Methods of Tensor that ask the core itself: gradients, values, copies."""

from argosy import _backward, _core
from argosy._capturing import capturing
from argosy._core import Tensor
from argosy._support import alias, checked_seeds, no_dump
from argosy.device.place import checked_place, has_streams
from argosy.tensor.creation import check_blocking, on_place
from argosy.tensor.printing import tensor_repr
from argosy.tensor.registry import method


class RemovableHandle:
    """Returned by register_hook; remove() takes the hook off."""

    def __init__(self, tensor, hook_id):
        self._tensor = tensor
        self._id = hook_id

    def remove(self):
        """Removes the hook. Returns whether it was still there."""
        return _core.remove_hook(self._tensor, self._id)


def backward(self, grad_tensor=None, retain_graph=False, *, dump_backward_graph_path=None):
    """Adds the gradient of this tensor into `.grad` of every leaf with stop_gradient=False. A tensor without
    history gives a warning.

    Args:
        grad_tensor (Tensor, optional): The gradient to begin with, of this tensor's shape; default: ones.
        retain_graph (bool): Whether to keep what the ops saved, so that backward can run again.
        dump_backward_graph_path (str, optional): Only None.

    Raises:
        RuntimeError: It is a value of a Program, or the history was freed.
        ValueError: grad_tensor has another shape.
        NotImplementedError: dump_backward_graph_path is given.

    Example:
        >>> x = argosy.to_tensor([1.0, 2.0], stop_gradient=False)
        >>> (x * x).sum().backward()
        >>> x.grad.tolist()
        [2.0, 4.0]
    """
    if dump_backward_graph_path is not None:
        no_dump("backward", dump_backward_graph_path)
    if self._symbolic:
        raise RuntimeError(
            "[backward] computes at once, but this is a value of a Program being built, which gets no"
            " .grad. Do this: static.append_backward(loss) or static.gradients(loss, inputs) in static"
            " mode, argosy.grad(loss, inputs) in captured functions."
        )
    if self.stop_gradient:
        import warnings

        warnings.warn(
            f"[backward] changes no gradient: the {self.dtype} tensor of shape {list(self.shape)} has"
            " no gradient history (stop_gradient=True). Do this: compute it from a tensor with"
            " stop_gradient=False, outside no_grad().",
            stacklevel=2,
        )
    if grad_tensor is not None:
        checked_seeds("backward", "grad_tensor", grad_tensor, [self])
    _backward.run(self, grad_tensor, retain_graph)


def register_hook(self, hook):
    """Calls a function when this tensor's gradient is complete.

    Args:
        hook (callable): Gets the gradient; a Tensor that it returns replaces it.

    Returns:
        RemovableHandle: Its remove() takes the hook off.

    Raises:
        NotImplementedError: A function is being captured (jit.to_static then runs it as Python).

    Example:
        >>> x = argosy.to_tensor([1.0], stop_gradient=False)
        >>> handle = x.register_hook(lambda grad: grad * 10)
        >>> (x * 2).backward()
        >>> x.grad.tolist()
        [20.0]
    """
    if capturing():
        raise NotImplementedError(
            "[register_hook] is called in a function that is captured, whose Program calls no hooks. Do this:"
            " register it outside of the function, or use a PyLayer, whose backward is captured."
        )
    return RemovableHandle(self, _core.register_hook(self, hook))


def _register_backward_hook(self, hook):
    """Calls hook() each time a gradient was added to this leaf's `.grad`.

    Args:
        hook (callable): Takes nothing; what it returns is not looked at.

    Raises:
        ValueError: The tensor is no leaf, or needs no gradient.

    Example:
        >>> x = argosy.to_tensor([1.0], stop_gradient=False)
        >>> x._register_backward_hook(lambda: print(x.grad.tolist()))
        >>> (x * 2).backward()
        [2.0]
    """
    if self.stop_gradient or not self.is_leaf:
        raise ValueError(
            "(InvalidArgument) [_register_backward_hook] expected a leaf with stop_gradient=False, got a"
            f" tensor with is_leaf={self.is_leaf}, stop_gradient={self.stop_gradient}. Do this: use"
            " register_hook."
        )
    _core.after_accumulate(self, hook)


def retain_grads(self):
    """Keeps the gradient of this tensor, which is no leaf, in `.grad`.

    Raises:
        NotImplementedError: A function is being captured (jit.to_static then runs it as Python).

    Example:
        >>> x = argosy.to_tensor([1.0], stop_gradient=False)
        >>> y = x * 2
        >>> y.retain_grads()
        >>> (y * y).backward()
        >>> y.grad.tolist()
        [4.0]
    """
    if capturing() and self._symbolic:
        raise NotImplementedError(
            "[retain_grads] is called in a function that is captured, whose gradients are those of its arguments and of"
            " parameters. Do this: call it outside of the function, on what it returns, or do not capture this one."
        )
    _core.retain_grads(self)


def gradient(self):
    """The gradient as an array.

    Returns:
        numpy.ndarray | None: None if there is none.

    Example:
        >>> x = argosy.to_tensor([1.0], stop_gradient=False)
        >>> (x * 2).backward()
        >>> x.gradient().tolist()
        [2.0]
    """
    return None if self.grad is None else self.grad.numpy()


def clear_gradient(self, set_to_zero=True):
    """Resets the gradient.

    Args:
        set_to_zero (bool): Whether it becomes zeros; else it is dropped.

    Example:
        >>> x = argosy.to_tensor([1.0], stop_gradient=False)
        >>> (x * 2).backward()
        >>> x.clear_gradient()
        >>> x.grad.tolist()
        [0.0]
    """
    _core.clear_grads(self, set_to_zero)


def numpy(self, blocking=True, *, copy=True, force=False):
    """The values as a NumPy array.

    Args:
        blocking (bool): May be False, but there is nothing to wait for.
        copy (bool): Whether the array has memory of its own.
        force (bool): Whether to copy to the CPU and leave the history first. Tensors elsewhere and with a
            history need not be asked twice: without it the result is the same.

    Returns:
        numpy.ndarray: Of the same shape and dtype; bfloat16 gives its bits as uint16.

    Example:
        >>> argosy.to_tensor([1, 2]).numpy()
        array([1, 2])
    """
    if blocking is not True:
        check_blocking("numpy", blocking)
    if force:
        self = self.detach().cpu()
    return _core.to_numpy(self, copy)


def item(self, *args):
    """One element as a Python number.

    Args:
        args (int): Its index, one number for each dimension, or its position in C order; nothing for a tensor
            of one element.

    Returns:
        bool | int | float | complex: It.

    Raises:
        ValueError: There are several elements and no index, or not one number for each dimension.

    Example:
        >>> x = argosy.to_tensor([[1, 2], [3, 4]])
        >>> x.item(1, 0), x.item(3), x.sum().item()
        (3, 4, 10)
    """
    if len(args) <= 1:
        return _core.item(self, *args)
    if len(args) != self.ndim:
        raise ValueError(
            f"(InvalidArgument) item(): expected one index, or one for each of the {self.ndim} dimensions of"
            f" {self.shape}, got {len(args)}. Do this: give all, or the position in C order."
        )
    position = 0
    for index, size in zip(args, self.shape):
        if not -size <= index < size:
            raise ValueError(
                f"(InvalidArgument) item(): index {index} is outside a dimension of size {size}: got {args} for"
                f" {self.shape}. Do this: check the index; negative ones count from the end."
            )
        position = position * size + (index + size if index < 0 else index)
    return _core.item(self, position)


def tolist(self):
    """The values as Python numbers.

    Returns:
        list | number: Nested lists, one level for each dimension; a number for a 0-d tensor.

    Example:
        >>> argosy.ones([2, 1]).tolist()
        [[1.0], [1.0]]
    """
    return _core.tolist(self)


def dim(self):
    """The number of dimensions.

    Returns:
        int: That.

    Example:
        >>> argosy.ones([2, 3]).dim()
        2
    """
    return self.ndim


def element_size(self):
    """The size of one element.

    Returns:
        int: Bytes.

    Example:
        >>> argosy.ones([2], "float64").element_size()
        8
    """
    return self.dtype.itemsize


def detach_(self):
    """Drops the history of this tensor in place.

    Returns:
        Tensor: Itself.

    Example:
        >>> y = argosy.to_tensor([1.0], stop_gradient=False) * 2
        >>> y.detach_().stop_gradient
        True
    """
    return _core.detach_(self)


@alias(obj="x")
def is_tensor(x):
    """Whether something is a Tensor, dense or sparse.

    Args:
        x: Anything; ``obj`` is its other name.

    Returns:
        bool: That.

    Example:
        >>> argosy.is_tensor(argosy.ones([2])), argosy.is_tensor([1.0])
        (True, False)
    """
    return isinstance(x, Tensor)


def _iterate(self):
    for i in range(len(self)):
        yield self[i]


def _array(self, dtype=None, copy=None):
    array = _core.to_numpy(self, copy is not False)
    return array if dtype is None else array.astype(dtype)


def _deepcopy(self, memo):
    copy = type(self).__new__(type(self))
    copy._set_data(on_place(_core.to_tensor(self, None, True), self.place))
    copy.stop_gradient = self.stop_gradient
    copy.persistable = self.persistable
    if getattr(self, "__dict__", None):
        import copy as copier

        for key, value in self.__dict__.items():
            setattr(copy, key, copier.deepcopy(value, memo))
    memo[id(self)] = copy
    return copy


def _rebuild(cls, array, dtype, stop_gradient, state):
    t = cls.__new__(cls)
    value = _core.to_tensor(array, None, True)
    if value.dtype != dtype:
        value = _core.ops.view_dtype(value, dtype)
    t._set_data(value)
    t.stop_gradient = stop_gradient
    for key, item_ in (state or {}).items():
        setattr(t, key, item_)
    return t


def _reduce(self, protocol=None):
    state = dict(getattr(self, "__dict__", None) or {})
    return (_rebuild, (type(self), self.numpy(), self.dtype, self.stop_gradient, state))


def _dlpack(self, stream=None, *, max_version=None, dl_device=None, copy=None):
    """The protocol of arrays: a capsule without a version, which any max_version allows. Memory of CPUs and
    GPUs is shared, on whatever stream: what was computed is there. That of other devices is copied where the
    CPU is asked for."""
    if _dlpack_device(self)[0] == _DLPACK_KINDS["gpu"] and dl_device in (
        None,
        _dlpack_device(self),
    ):
        return _core.to_dlpack(self.detach().clone() if copy else self)
    if stream not in (None, -1) or dl_device not in (None, _DLPACK_CPU):
        raise BufferError(
            f"[__dlpack__] expected the CPU and no stream, got {dl_device} and {stream}. Do this: leave"
            " them out."
        )
    if _dlpack_device(self) == _DLPACK_CPU:
        return _core.to_dlpack(self.detach().clone() if copy else self)
    if dl_device is None or copy is False:
        raise BufferError(
            f"[__dlpack__] memory of {self.place!r} cannot be shared. Do this: pass what .cpu() gives, or ask"
            f" for a copy by dl_device={_DLPACK_CPU}."
        )
    return _core.to_dlpack(self.detach().cpu())


_DLPACK_CPU = (1, 0)
_DLPACK_KINDS = {"cpu": 1, "pinned": 1, "gpu": 2}  # others are extensions
_DLPACK_EXTENSION = 12


def _dlpack_device(self):
    return (_DLPACK_KINDS.get(self.place._kind, _DLPACK_EXTENSION), self.place._index)


def _from_dlpack(dlpack, device=None, copy=None):
    place = None if device is None else checked_place(device, "from_dlpack")
    moves = place is not None and not place.is_cpu_place()
    if moves and (copy is False or not has_streams(place)):
        raise BufferError(
            f"[from_dlpack] device: expected the CPU, got {device!r}, where the memory is not. Do this: leave"
            " out device, or copy=False."
        )
    capsule = dlpack.__dlpack__() if hasattr(dlpack, "__dlpack__") else dlpack
    shared = _core.from_dlpack(capsule)
    if moves:
        return _core.copy_to(shared, place, True)
    return shared.detach().clone() if copy else shared


def _complex(self):
    return complex(self.item())


method(staticmethod(_from_dlpack), "_from_dlpack")
for _function in (
    backward, register_hook, _register_backward_hook, retain_grads, gradient, clear_gradient, numpy, item, tolist, dim,
    element_size, detach_, is_tensor,
):  # fmt: skip
    method(_function)
for _name, _function in {
    "clear_grad": clear_gradient,
    "ndimension": dim,
    "__array__": _array,
    "__complex__": _complex,
    "__deepcopy__": _deepcopy,
    "__dlpack__": _dlpack,
    "__dlpack_device__": _dlpack_device,
    "__iter__": _iterate,
    "__reduce_ex__": _reduce,
    "__repr__": tensor_repr,
    "__str__": tensor_repr,
}.items():
    method(_function, _name)
