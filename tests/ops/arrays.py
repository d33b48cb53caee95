"""NumPy arrays as tensors and back, in the layouts that the harness tries."""

import numpy as np

from argosy import _core


def rounded(x, dtype):
    """x as the values that dtype can hold; bfloat16 as float32."""
    if dtype != "bfloat16":
        return x.astype(dtype)
    bits = np.ascontiguousarray(x, np.float32).view(np.uint32)
    bits = ((bits + 0x7FFF + (bits >> 16 & 1)) & 0xFFFF0000).astype(np.uint32)
    return bits.view(np.float32).reshape(np.shape(x))


def tensor(x, dtype=None, layout=None):
    """A Tensor of a NumPy array. layout: how its elements lie in memory (LAYOUTS)."""
    x = np.asarray(x)
    if layout is not None:
        x = layout(x)
    t = _core.to_tensor(x, "uint16" if x.dtype == np.uint16 else None, layout is None)
    return t if dtype is None or str(t.dtype).endswith("." + dtype) else _core.ops.cast(t, dtype)


def array(t):
    """A Tensor's values as a NumPy array; bfloat16 as float32."""
    x = t.numpy()
    if dtype_of(t) == "bfloat16":
        x = (x.astype(np.uint32) << 16).view(np.float32).reshape(x.shape)
    return x


def dtype_of(t):
    return str(t.dtype).rpartition(".")[2]


def transposed(x):
    return x.T.copy().T


def stepped(x):
    if x.ndim == 0:
        return x
    big = np.zeros([2 * n + 1 for n in x.shape], x.dtype)
    view = big[tuple(slice(1, 2 * n + 1, 2) for n in x.shape)]
    view = np.asarray(view)
    view[...] = x
    return view


LAYOUTS = {"contiguous": None, "transposed": transposed, "stepped": stepped}


def flat(outputs):
    """Outputs of a call as a list of tensors."""
    if isinstance(outputs, (list, tuple)):
        return [t for o in outputs for t in flat(o)]
    return [outputs]
