"""Tensors from data and other things that need Python."""

from argosy import _core
from argosy._core import Tensor
from argosy._dtypes import CONVERTIBLE, SECOND_NAMES
from argosy._framework import in_static_mode
from argosy._programs.scope import DenseTensor
from argosy._support import dtype_name, into
from argosy.device import device_guard as _device_guard
from argosy.device.place import CUDAPinnedPlace, CUDAPlace, Place, checked_place, custom_devices
from argosy.tensor.registry import method


def to_tensor(data, dtype=None, place=None, stop_gradient=True):
    """A new tensor with a copy of data.

    Args:
        data (number | list | tuple | numpy.ndarray | Tensor): The values; lists may be nested.
        dtype (dtype | str, optional): Default: that of data; the default dtype for Python floats, int64 for
            ints, bool for bools.
        place (Place | str, optional): Where it goes; default: the current device.
        stop_gradient (bool): Whether no gradient flows to it.

    Returns:
        Tensor: A leaf.

    Raises:
        ValueError: data cannot become a tensor, such as lists of different lengths.

    Example:
        >>> argosy.to_tensor([[1, 2], [3, 4]], "float32")
        Tensor(shape=[2, 2], dtype=float32, place=Place(cpu), stop_gradient=True,
               [[1., 2.],
                [3., 4.]])
    """
    if isinstance(data, (list, tuple)) and _core.program_recording() is not None:
        data = _recorded(data)
    t = _core.to_tensor(data, dtype, True, not in_static_mode())
    if place is not None:
        t = on_place(t, place)
    if in_static_mode() and not t._symbolic and _core.program_recording() is not None:
        # A variable of the Program: each run starts from these values again.
        t = _core.ops.assign(t)
    t.stop_gradient = stop_gradient
    return t


def _recorded(data):
    """A nested list as one value of the Program being built, if it holds any."""
    if not isinstance(data, (list, tuple)):
        return data
    parts = [_recorded(v) for v in data]
    if not any(isinstance(v, Tensor) and v._symbolic for v in parts):
        return data
    from argosy.tensor import stack

    return stack([v if isinstance(v, Tensor) else _core.to_tensor(v, None, True) for v in parts])


def on_place(tensor, place, what="to", blocking=True):
    """The tensor on a place that the core has: a leaf, to which no gradient flows from there [= Paddle].
    Of the null device, whose tensors have no elements, only the form can be taken."""
    target = checked_place(place, what)
    pins = target.is_cuda_pinned_place()
    if tensor._symbolic and not pins and target._kind != "null":
        return (
            _core.ops.on_place(tensor, target._kind, target._index) if _core.devices() else tensor
        )
    if target == tensor.place or (pins and not _core.devices()):
        return tensor
    if tensor.place._kind == "null":
        raise ValueError(
            f"[{what}] a tensor of the null device has no elements to put on {target!r}. Do this: compute"
            " it again after device.set_device('cpu')."
        )
    null = target._kind == "null"
    if tensor._symbolic or (null and not (tensor.is_leaf or tensor.stop_gradient)):
        raise ValueError(
            f"[{what}] a value with a history, or of a Program, cannot move to {target!r}. Do this: call"
            f" device.set_device({target._kind!r}) before its inputs are made."
        )
    if null:
        with _device_guard(target):
            moved = _core.ops.empty(list(tensor.shape), tensor.dtype)
    elif pins:
        moved = _core.pin(tensor, blocking)
    elif target.is_cpu_place() and tensor.place.is_cuda_pinned_place():
        moved = _core.ops.assign(tensor.detach())
    else:
        moved = _core.copy_to(tensor, target, blocking)
    moved.stop_gradient = tensor.stop_gradient
    return moved


def _device_of(value):
    return isinstance(value, Place) or (
        isinstance(value, str)
        and value.split(":")[0] in ("cpu", "gpu", "cuda", "xpu", "null", *custom_devices())
    )


def check_blocking(what, value):
    """Refuses what is no answer to whether a copy is waited for."""
    if value is not None and not isinstance(value, bool):
        raise TypeError(
            f"[{what}] blocking: expected True, False or None, got {value!r}. Do this: pass one of them;"
            " None is True."
        )


def to(
    self, *args, device=None, dtype=None, blocking=None, other=None, non_blocking=None, copy=False
):
    """This tensor on another device and/or with another dtype: to(device), to(dtype), to(other),
    to(device, dtype, blocking).

    Args:
        args: Any of the following by their kinds.
        device (Place | str, optional): Where.
        dtype (dtype | str, optional): As what.
        blocking (bool, optional): False: a copy between pinned memory and a device may still be under way
            when this returns. Others are complete.
        other (Tensor, optional): Has the device and the dtype.
        non_blocking (bool, optional): The opposite of blocking.
        copy (bool): Whether to make a copy also where the tensor is as it is wanted.

    Returns:
        Tensor: Itself if nothing changes and no dtype is given by name.

    Raises:
        TypeError: blocking is no bool.
        ValueError: There is no such device, or a tensor with a history cannot move.

    Example:
        >>> argosy.ones([2]).to("float64").dtype
        paddle.float64
    """
    recast = dtype is not None
    for value in (*args, other):
        if isinstance(value, Tensor):
            dtype, device = value.dtype, value.place
        elif _device_of(value):
            device = value
        elif isinstance(value, bool):
            blocking = value
        elif value is not None:
            dtype, recast = value, True
    check_blocking("to", blocking)
    check_blocking("to", non_blocking)
    out = self
    if device is not None:
        out = on_place(out, device, blocking=blocking is not False and not non_blocking)
    if dtype is not None and _core.dtype(dtype) != out.dtype:
        out = out.astype(dtype)
    return _core.ops.assign(self) if out is self and (copy or recast) else out


def cpu(self):
    """This tensor in CPU memory.

    Returns:
        Tensor: Itself if it is there.

    Example:
        >>> argosy.ones([2]).cpu().place
        Place(cpu)
    """
    return on_place(self, "cpu", "cpu")


def cuda(self, device_id=0, blocking=True):
    """This tensor on a CUDA device.

    Args:
        device_id (int): Its number.
        blocking (bool): False: a copy of pinned memory may still be under way when this returns.

    Returns:
        Tensor: Itself if it is there.

    Raises:
        ValueError: There is no such device.

    Example:
        >>> x = argosy.ones([2])
        >>> if argosy.device.cuda.device_count():
        ...     x = x.cuda()
    """
    check_blocking("cuda", blocking)
    return on_place(self, CUDAPlace(device_id or 0), "cuda", blocking is not False)


def pin_memory(self, blocking=True, *, device_id=None):
    """This tensor in pinned memory of the host, which copies to a device reach while the program goes on.

    Args:
        device_id (int, optional): Number of the GPU, which must be there.
        blocking (bool): False: a copy from a device may still be under way when this returns.

    Returns:
        Tensor: Itself if it is there, or where the process has no device to pin memory for.

    Raises:
        ValueError: There is no such GPU.

    Example:
        >>> x = argosy.ones([2])
        >>> x.pin_memory() is x
        True
    """
    check_blocking("pin_memory", blocking)
    if device_id is not None:
        checked_place(CUDAPlace(device_id), "pin_memory")
    return on_place(self, CUDAPinnedPlace(), "pin_memory", blocking is not False)


def record_stream(self, stream):
    """Says that work of another stream uses this tensor's memory: where the tensor is freed, the memory is
    used again only when that stream has done what is in it by then.

    Args:
        stream (Stream): It; of the tensor's device.

    Raises:
        ValueError: The stream belongs to another device, or the tensor has no memory.

    Example:
        >>> for stream in argosy.device.get_available_custom_device():
        ...     argosy.ones([2]).to(stream).record_stream(argosy.device.Stream(stream))
    """
    _core.record_stream(self, stream.device, stream._number)


def contiguous(self):
    """This tensor with its elements in C order without gaps.

    Returns:
        Tensor: Itself if it is so, else a copy.

    Example:
        >>> x = argosy.ones([2, 3]).t()
        >>> x.is_contiguous(), x.contiguous().is_contiguous()
        (False, True)
    """
    return self if self.is_contiguous() else _core.ops.assign(self)


def fill_constant(shape, dtype, value, force_cpu=False, out=None, place=None, name=None):
    """full with its arguments in another order (kept for old programs).

    Args:
        shape (list[int] | tuple[int] | Tensor): The sizes.
        dtype (dtype | str): Of the result.
        value (number | str | Tensor): Of every element; a text is read as a number.
        force_cpu (bool): Whether the result is on the CPU wherever others are.
        out (Tensor, optional): A tensor that becomes the result.
        place (Place | str, optional): Where the result goes.
        name (str, optional): Has no effect.

    Returns:
        Tensor: Of the shape.

    Example:
        >>> argosy.tensor.fill_constant([2], "int64", 3).tolist()
        [3, 3]
    """
    if isinstance(value, str):  # whole numbers may be larger than floats have all of
        value = int(value) if value.strip().lstrip("+-").isdecimal() else float(value)
    made = _core.ops.full(shape, value, dtype)
    if force_cpu or place is not None:
        made = made.to("cpu" if force_cpu else place)
    return into(out, made)


def value(self):
    """This tensor (kept for old programs).

    Returns:
        Tensor: Itself.

    Example:
        >>> x = argosy.ones([2])
        >>> x.value() is x
        True
    """
    return self


def get_tensor(self):
    """What holds this tensor's values, as scopes give it: shape() and _dtype() are methods there.

    Returns:
        DenseTensor: It. What it is given with ``set`` is this tensor's value afterwards.

    Example:
        >>> x = argosy.ones([2])
        >>> x.get_tensor().set(np.zeros([3], "float32"))
        >>> x.get_tensor().shape(), x.tolist()
        ([3], [0.0, 0.0, 0.0])
    """
    return DenseTensor(self, writes_through=True)


def type(self):  # noqa: A001
    """How the tensor is stored: DENSE_TENSOR, SPARSE_COO or SELECTED_ROWS of core.VarDesc.VarType."""
    from argosy.tensor.var_desc import VarDesc

    names = {"coo": "SPARSE_COO", "row_sparse": "SELECTED_ROWS"}
    return getattr(VarDesc.VarType, names.get(self._layout, "DENSE_TENSOR"))


def is_sparse(self):
    """Whether this is a COO or CSR tensor.

    Returns:
        bool: That.

    Example:
        >>> argosy.ones([2, 2]).is_sparse(), argosy.ones([2, 2]).to_sparse_coo(2).is_sparse()
        (False, True)
    """
    return self._layout in ("coo", "csr")


def is_dense(self):
    """Whether this is a dense tensor.

    Returns:
        bool: That.

    Example:
        >>> argosy.ones([2]).is_dense()
        True
    """
    return self._layout == "strided"


def is_selected_rows(self):
    """Whether this is a row-sparse tensor, such as the gradient of a sparse embedding.

    Returns:
        bool: That.

    Example:
        >>> argosy.ones([2]).is_selected_rows()
        False
    """
    return self._layout == "row_sparse"


for _function in (
    to, cpu, cuda, pin_memory, record_stream, contiguous, value, get_tensor, is_sparse, is_dense, is_selected_rows,
):  # fmt: skip
    method(_function)
method(property(type), "type")


def _cast_to(dtype, name):
    def cast(self):
        return self.astype(dtype)

    cast.__name__ = name
    cast.__doc__ = f"""This tensor cast to {dtype_name(dtype)}.

    Returns:
        Tensor: Of the same shape.

    Example:
        >>> argosy.ones([2]).{name}().dtype
        {dtype!r}
    """
    return cast


for _name, _dtype in {
    **{dtype_name(dtype): dtype for dtype in CONVERTIBLE},
    **SECOND_NAMES,
}.items():
    method(_cast_to(_dtype, _name))
