"""Tensors from data and other things that need Python."""

from argosy import _core
from argosy._core import Tensor
from argosy._dtypes import CONVERTIBLE, SECOND_NAMES, name_of
from argosy._framework import in_static_mode
from argosy.tensor.registry import method


def to_tensor(data, dtype=None, place=None, stop_gradient=True):
    """A new tensor with a copy of data: a number, a (nested) list, a NumPy array or a Tensor.

    dtype defaults to the data's (Python floats: the default dtype, ints: int64). stop_gradient=False
    lets gradients flow to it.
    """
    if isinstance(data, (list, tuple)) and _core.program_recording() is not None:
        data = _recorded(data)
    t = _core.to_tensor(data, dtype, True)
    if place is not None:
        t = _on(t, place)
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


def _on(tensor, place):
    from argosy.device import is_compiled_with_cuda, to_place

    target = to_place(place)
    if target.is_gpu_place() and not is_compiled_with_cuda():
        raise ValueError(
            f"[to] this build of Argosy has no CUDA support, got {place}. Do this: use "
            "place='cpu', or build with ARGOSY_CUDA=ON."
        )
    return tensor


def _device_of(value):
    from argosy.device.place import Place

    return isinstance(value, Place) or (
        isinstance(value, str) and value.split(":")[0] in ("cpu", "gpu", "cuda", "xpu", "null")
    )


def to(self, *args, **kwargs):
    """This tensor on another device and/or with another dtype: to(device), to(dtype),
    to(other_tensor), to(device, dtype, blocking)."""
    device, dtype = kwargs.get("device"), kwargs.get("dtype")
    for value in args:
        if isinstance(value, Tensor):
            dtype, device = value.dtype, value.place
        elif _device_of(value):
            device = value
        elif isinstance(value, bool) or value is None:
            continue
        else:
            dtype = value
    out = self
    if device is not None:
        out = _on(out, device)
    if dtype is not None and _core.dtype(dtype) != out.dtype:
        out = out.astype(dtype)
    return out


def cpu(self):
    """This tensor in CPU memory."""
    return self


def cuda(self, device_id=0, blocking=True):
    """This tensor on a CUDA device."""
    return _on(self, f"gpu:{device_id or 0}")


def pin_memory(self, device_id=None, blocking=True):
    """This tensor in host memory that a GPU can read; itself where there is no GPU."""
    return self


def contiguous(self):
    """This tensor with its elements in C order without gaps; itself if it is so."""
    return self if self.is_contiguous() else _core.ops.assign(self)


def value(self):
    """This tensor (kept for old programs)."""
    return self


def get_tensor(self):
    """This tensor (kept for old programs)."""
    return self


def type(self):  # noqa: A001
    """How the tensor is stored: DENSE_TENSOR, SPARSE_COO or SELECTED_ROWS of core.VarDesc.VarType."""
    from argosy.tensor.var_desc import VarDesc

    names = {"coo": "SPARSE_COO", "row_sparse": "SELECTED_ROWS"}
    return getattr(VarDesc.VarType, names.get(self._layout, "DENSE_TENSOR"))


def is_sparse(self):
    """Whether this is a COO or CSR tensor."""
    return self._layout in ("coo", "csr")


def is_dense(self):
    """Whether this is a dense tensor."""
    return self._layout == "strided"


def is_selected_rows(self):
    """Whether this is a row-sparse tensor."""
    return self._layout == "row_sparse"


for _function in (
    to, cpu, cuda, pin_memory, contiguous, value, get_tensor, is_sparse, is_dense, is_selected_rows,
):  # fmt: skip
    method(_function)
method(property(type), "type")


def _cast_to(dtype, name):
    def cast(self):
        """This tensor cast to the dtype of that name."""
        return self.astype(dtype)

    cast.__name__ = name
    return cast


for _name, _dtype in {**{name_of(dtype): dtype for dtype in CONVERTIBLE}, **SECOND_NAMES}.items():
    method(_cast_to(_dtype, _name))
