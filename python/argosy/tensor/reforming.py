"""Methods that give a tensor another shape, memory or diagonal, or fill it at random."""

import math

from argosy import _core
from argosy._beside import beside
from argosy._core import ops as _ops
from argosy._dtypes import COMPLEX, FLOATING
from argosy._framework import finfo, iinfo
from argosy._support import ArgumentError, listed, overwrite
from argosy.tensor import random
from argosy.tensor.registry import method
from argosy.tensor.spellings import sizes_one_by_one


@method
@beside
def resize_(x, shape, fill_zero=False, name=None):
    """Gives x another shape in place: what is too much is cut off, what is missing is 0.

    Args:
        shape (list[int] | tuple[int]): It.
        fill_zero (bool): Whether what is missing must be 0, which it is in any case.

    Returns:
        Tensor: x.

    Raises:
        TypeError: fill_zero is no bool.
        ValueError: shape is no list or has a negative size, or x is a leaf that needs a gradient.

    Example:
        >>> argosy.to_tensor([1, 2, 3]).resize_([2, 2]).tolist()
        [[1, 2], [3, 0]]
    """
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
@beside
def set_(x, source=None, shape=None, stride=None, offset=0, name=None):
    """Makes x a view of another tensor's memory.

    Args:
        source (Tensor, optional): The other one, of x's dtype; without it x becomes empty.
        shape (list[int], optional): The shape of x; default: source's.
        stride (list[int], optional): Its strides in elements; default: source's.
        offset (int): Where x begins, in bytes.

    Returns:
        Tensor: x.

    Raises:
        ValueError: source has another dtype, or offset is inside of an element.

    Example:
        >>> x = argosy.zeros([1], "int64")
        >>> x.set_(argosy.arange(4), shape=[2], stride=[2]).tolist()
        [0, 2]
    """
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
@beside
def random_(x, from_=0, to=None, *, generator=None):
    """Fills x with whole numbers drawn evenly from [from_, to).

    Args:
        from_ (int): The lower bound; a single number is `to`.
        to (int, optional): The upper bound; default: beyond what x's dtype holds exactly.
        generator (Generator, optional): The default one, which all draw from.

    Returns:
        Tensor: x.

    Raises:
        ValueError: from_ is not less than to.
        TypeError: generator is of another kind.

    Example:
        >>> bool((argosy.zeros([100]).random_(3) < 3).all())
        True
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
@sizes_one_by_one
def repeat(input, repeats):  # noqa: A002
    """This tensor tiled.

    Args:
        repeats (int | list[int]): How often along each dimension, one by one or as a list.

    Returns:
        Tensor: Of its dtype.

    Example:
        >>> argosy.to_tensor([1, 2]).repeat(2, 1).tolist()
        [[1, 2], [1, 2]]
    """
    return _ops.tile(input, listed(repeats))


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
    """A copy of x with other numbers on a diagonal.

    Args:
        y (Tensor): The numbers: the last dimension runs along the diagonal, the others are the remaining ones
            of x; cast to x's dtype.
        offset (int): Which diagonal: above the main one if positive, below it if negative.
        dim1 (int): The first axis of the planes.
        dim2 (int): The second.

    Returns:
        Tensor: Of x's shape and dtype.

    Raises:
        ValueError: y has another shape.

    Example:
        >>> argosy.zeros([2, 2]).fill_diagonal_tensor(argosy.to_tensor([1.0, 2.0])).tolist()
        [[1.0, 0.0], [0.0, 2.0]]
    """
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
    """fill_diagonal_tensor in place.

    Args:
        y (Tensor): The numbers: the last dimension runs along the diagonal, the others are the remaining ones.
        offset (int): Which diagonal: above the main one if positive, below it if negative.
        dim1 (int): The first axis of the planes.
        dim2 (int): The second.

    Returns:
        Tensor: x.

    Raises:
        ValueError: y has another shape.

    Example:
        >>> argosy.zeros([2, 2]).fill_diagonal_tensor_(argosy.to_tensor([1.0, 2.0])).tolist()
        [[1.0, 0.0], [0.0, 2.0]]
    """
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
    """signal.stft of this tensor.

    Args:
        n_fft (int): Points of a transform.
        hop_length (int, optional): Distance of the windows; default: n_fft // 4.
        win_length (int, optional): Size of the window; default: n_fft.
        window (Tensor, optional): Its weights; default: ones.
        center (bool): Whether window t is centred at sample t * hop_length.
        pad_mode (str): How the signal is continued for that: 'reflect' or 'constant'.
        normalized (bool): Whether to divide by sqrt(n_fft).
        onesided (bool, optional): Whether to give n_fft // 2 + 1 bins; default: of a real tensor.

    Returns:
        Tensor: Complex, [.., bins, frames].

    Example:
        >>> argosy.ones([8]).stft(4).shape
        paddle.Size([3, 9])
    """
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
    """signal.istft of this tensor.

    Args:
        n_fft (int): Points of a transform.
        hop_length (int, optional): Distance of the windows; default: n_fft // 4.
        win_length (int, optional): Size of the window; default: n_fft.
        window (Tensor, optional): Its weights; default: ones.
        center (bool): Whether window t is centred at sample t * hop_length.
        normalized (bool): Whether stft divided by sqrt(n_fft).
        onesided (bool): Whether there are n_fft // 2 + 1 bins.
        length (int, optional): Samples of the result; default: those that the windows cover.
        return_complex (bool): Whether the signal is complex.

    Returns:
        Tensor: [.., samples].

    Example:
        >>> argosy.ones([8]).stft(4).istft(4).shape
        paddle.Size([8])
    """
    from argosy import signal

    return signal.istft(
        x, n_fft, hop_length, win_length, window, center, normalized, onesided, length,
        return_complex,
    )  # fmt: skip


@method
def to_sparse_coo(x, sparse_dim):
    """A COO tensor of what is not 0 in this one.

    Args:
        sparse_dim (int): How many dimensions have coordinates; the others are dense.

    Returns:
        Tensor: Sparse, of the same shape and dtype.

    Example:
        >>> x = argosy.to_tensor([[0.0, 2.0], [0.0, 0.0]]).to_sparse_coo(2)
        >>> x.indices().tolist(), x.values().tolist()
        ([[0], [1]], [2.0])
    """
    from argosy.sparse.tensor import from_dense

    return from_dense(x, sparse_dim)


@method
def to_sparse_csr(x):
    """A CSR tensor of what is not 0 in this one, [m, n] or [batch, m, n].

    Returns:
        Tensor: Sparse, of the same shape and dtype.

    Example:
        >>> x = argosy.to_tensor([[0.0, 2.0], [0.0, 0.0]]).to_sparse_csr()
        >>> x.crows().tolist(), x.cols().tolist()
        ([0, 1, 1], [1])
    """
    return to_sparse_coo(x, x.ndim).to_sparse_csr()


@method
def is_same_shape(x, y):
    """Whether another tensor has the shape of this one.

    Args:
        y (Tensor): The other one.

    Returns:
        bool: That.

    Example:
        >>> argosy.ones([2]).is_same_shape(argosy.ones([3]))
        False
    """
    return list(x.shape) == list(y.shape)
