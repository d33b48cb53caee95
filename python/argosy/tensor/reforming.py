"""Methods that give a tensor another shape, memory or diagonal, or fill it at random."""

import math

from argosy import _core
from argosy._core import ops as _ops
from argosy._dtypes import COMPLEX, FLOATING
from argosy._framework import finfo, iinfo
from argosy._support import ArgumentError, overwrite
from argosy.tensor import random
from argosy.tensor.registry import method


@method
def resize_(x, shape, fill_zero=False, name=None):
    """Gives x another shape, in place: what is too much is cut off, what is missing is 0, also
    without fill_zero (which leaves open what it is)."""
    if not isinstance(fill_zero, bool):
        raise TypeError(
            f"[resize_] fill_zero: expected a bool, got {type(fill_zero).__name__}. Do this: pass True"
            " or False."
        )
    if not isinstance(shape, (list, tuple)):
        raise ValueError(
            f"[resize_] shape: expected a list or tuple, got {type(shape).__name__}. Do this: pass"
            " [size, ..]."
        )
    if any(size < 0 for size in shape):
        raise ValueError(f"[resize_] sizes must not be negative, got {shape}. Do this: name all.")
    flat, wanted = _ops.flatten(_ops.assign(x)), math.prod(shape)
    if wanted > x.size:
        flat = _ops.concat([flat, _ops.zeros([wanted - x.size], x.dtype)])
    if x.is_leaf and not x.stop_gradient and _core.is_grad_enabled():
        raise ValueError(
            "[resize_] cannot resize a leaf tensor that needs a gradient. Do this: call it under"
            " no_grad, or on a copy."
        )
    x._become(_ops.reshape(_ops.slice(flat, [0], [0], [wanted]), list(shape)))
    return x


@method
def set_(x, source=None, shape=None, stride=None, offset=0, name=None):
    """Makes x a view of source's memory: shape and strides (in elements; source's own if None),
    from `offset` bytes on. Without a source x becomes empty."""
    if source is None:
        x._set_data(_ops.empty([0], x.dtype))
        return x
    if source.dtype != x.dtype:
        raise ValueError(
            f"[set_] source: expected the dtype {x.dtype} of x, got {source.dtype}. Do this: cast it"
            " with .astype(..)."
        )
    if shape is None:
        shape, stride = list(source.shape), list(source.strides) if stride is None else stride
    if stride is None:
        stride = [math.prod(shape[i + 1 :]) for i in range(len(shape))]
    size = source.element_size()
    if offset % size:
        raise ValueError(
            f"[set_] offset: expected a multiple of {size} bytes, one element, got {offset}. Do this:"
            " round it."
        )
    x._set_data(_ops.as_strided(source, list(shape), list(stride), offset // size))
    return x


@method
def random_(x, from_=0, to=None, *, generator=None):
    """Fills x with whole numbers drawn evenly from [from_, to).

    to: beyond what x's dtype holds exactly if None; a single number is `to`, and from_ then 0.
    generator: None, or a Generator; all draw from the default stream.
    """
    random.is_default_generator("random_", generator)
    if to is None and from_ != 0:
        from_, to = 0, from_
    if to is None:
        to = _first_inexact(x.dtype)
    if from_ >= to:
        raise ValueError(
            f"[random_] expected from_ < to, got {from_} and {to}. Do this: exchange them."
        )
    return overwrite(x, random.randint(from_, to, list(x.shape), "int64").astype(x.dtype))


def _first_inexact(dtype):
    """The whole number after which a floating dtype leaves some out; of integers the largest."""
    return round(2 / finfo(dtype).eps) if dtype in FLOATING else iinfo(dtype).max


@method
def repeat(input, *repeats):  # noqa: A002
    """input tiled: repeats may be given one by one or as a list."""
    if len(repeats) == 1 and isinstance(repeats[0], (list, tuple)):
        repeats = repeats[0]
    return _ops.tile(input, list(repeats))


def _diagonal_axes(name, x, dim1, dim2):
    for axis in (dim1, dim2):
        if not -x.ndim <= axis < x.ndim:
            raise ArgumentError(
                f"[{name}] expected axes in [{-x.ndim}, {x.ndim}), got {axis}. Do this: correct it."
            )
    if dim1 % x.ndim == dim2 % x.ndim:
        raise ArgumentError(f"[{name}] dim1 and dim2 are the same axis. Do this: name two.")


@method
def fill_diagonal_tensor(x, y, offset=0, dim1=0, dim2=1, name=None):
    """A copy of x with y on the diagonal of axes dim1 and dim2: y's last dimension runs along it,
    the others are x's remaining ones."""
    _diagonal_axes("fill_diagonal_tensor", x, dim1, dim2)
    wanted = list(_ops.diagonal(x, offset, dim1, dim2).shape)
    if list(y.shape) != wanted and -1 not in wanted:
        raise ArgumentError(
            f"[fill_diagonal_tensor] y: expected the shape {wanted}, got {list(y.shape)}. Do this:"
            " reshape or expand it."
        )
    return _ops.diagonal_scatter(x, y.astype(x.dtype), offset, dim1, dim2)


@method
def fill_diagonal_tensor_(x, y, offset=0, dim1=0, dim2=1, name=None):
    """fill_diagonal_tensor in place."""
    return overwrite(x, fill_diagonal_tensor(x, y, offset, dim1, dim2))


@method
def stft(
    x,
    n_fft,
    hop_length=None,
    win_length=None,
    window=None,
    center=True,
    pad_mode="reflect",
    normalized=False,
    onesided=None,
    name=None,
):
    """signal.stft of x."""
    from argosy import signal

    if onesided is None:
        onesided = x.dtype not in COMPLEX
    return signal.stft(
        x, n_fft, hop_length, win_length, window, center, pad_mode, normalized, onesided
    )


@method
def istft(
    x,
    n_fft,
    hop_length=None,
    win_length=None,
    window=None,
    center=True,
    normalized=False,
    onesided=True,
    length=None,
    return_complex=False,
    name=None,
):
    """signal.istft of x."""
    from argosy import signal

    return signal.istft(
        x, n_fft, hop_length, win_length, window, center, normalized, onesided, length,
        return_complex,
    )  # fmt: skip


@method
def to_sparse_coo(x, sparse_dim):
    """A sparse tensor of what is not 0 in x, with coordinates of the first sparse_dim dimensions."""
    from argosy.sparse.tensor import from_dense

    return from_dense(x, sparse_dim)


@method
def to_sparse_csr(x):
    """A sparse tensor of what is not 0 in x [m, n] or [batch, m, n], in compressed rows."""
    return to_sparse_coo(x, x.ndim).to_sparse_csr()


method(lambda x, y: list(x.shape) == list(y.shape), "is_same_shape")
