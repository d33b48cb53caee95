"""Discrete Fourier transforms.

Names end in the kind of the transform: ``fft`` complex to complex, ``rfft`` of real numbers to the
half of the spectrum that is not its mirror image, ``hfft`` of such a half to real numbers; a leading
``i`` for the inverse; a trailing ``2`` or ``n`` for transforms over several axes. ``norm`` says which
direction is divided by the number of points n: 'backward' the inverse, 'forward' the transform,
'ortho' both by sqrt(n).
"""

from __future__ import annotations

import math
import operator

from argosy import _core, tensor
from argosy._beside import beside
from argosy._core import Tensor
from argosy._support import alias, check_choice, into, need_tensor, place, sizes_of

__all__ = [
    "fft",
    "fft2",
    "fftfreq",
    "fftn",
    "fftshift",
    "hfft",
    "hfft2",
    "hfftn",
    "ifft",
    "ifft2",
    "ifftn",
    "ifftshift",
    "ihfft",
    "ihfft2",
    "ihfftn",
    "irfft",
    "irfft2",
    "irfftn",
    "rfft",
    "rfft2",
    "rfftfreq",
    "rfftn",
]
_NORMS = ("backward", "ortho", "forward")


def _is_complex(x):
    return tensor.is_complex(x)


def _to_complex(x):
    if _is_complex(x):
        return x
    if not tensor.is_floating_point(x):
        x = x.astype(_core.get_default_dtype())
    return x.astype("complex128" if x.dtype == _core.float64 else "complex64")


def _real_input(name, x):
    if _is_complex(x):
        other = name.replace("r", "", 1).replace("h", "", 1)
        raise RuntimeError(
            f"[{name}] x must be real, got {x.dtype}. Do this: use {other}, or pass x.real()."
        )
    return x


def _scale(norm, forward, count):
    """What a transform over `count` points is multiplied with; None for 1."""
    if norm != "ortho" and (norm == "backward") == forward:
        return None
    if isinstance(count, Tensor):
        return tensor.rsqrt(count) if norm == "ortho" else tensor.reciprocal(count)
    count = max(count, 1)  # of nothing there is nothing to scale
    return 1 / math.sqrt(count) if norm == "ortho" else 1 / count


def _check_norm(name, norm):
    check_choice(name, "norm", norm, _NORMS)


def _index(number):
    return operator.index(None if isinstance(number, bool) else number)


def _ints(name, what, given):
    try:
        return None if given is None else [_index(number) for number in given]
    except TypeError:
        raise ValueError(
            f"[{name}] {what}: expected a list of ints, got {given!r}. Do this: pass whole numbers,"
            " such as [4]."
        ) from None


def _axes(name, x, s, axes):
    """Sizes and axes of a transform over several of them."""
    need_tensor(name, "x", x)
    s, axes = _ints(name, "s", s), _ints(name, "axes", axes)
    if axes is None:
        axes = list(range(x.ndim)) if s is None else list(range(x.ndim - len(s), x.ndim))
    if s is not None and len(s) != len(axes):
        raise ValueError(
            f"[{name}] s and axes must have as many entries, got {len(s)} and {len(axes)}. Do this:"
            " give a size for each axis."
        )
    positive = []
    for axis in axes:
        if not -x.ndim <= axis < x.ndim:
            raise ValueError(
                f"[{name}] axis {axis} is out of range for a tensor of {x.ndim} dimensions. Do this:"
                f" use {-x.ndim} to {x.ndim - 1}."
            )
        positive.append(axis % x.ndim)
    if len(set(positive)) != len(positive):
        raise ValueError(f"[{name}] axes names one twice: {axes}. Do this: name each once.")
    for size in s or ():
        if size < 1:
            raise ValueError(
                f"[{name}] a size must be 1 or more, got {size}. Do this: pass a positive int."
            )
    return s, positive


def _resized(x, sizes, axes):
    """x cut or filled up with zeros at the end of axes."""
    if sizes is None:
        return x
    for size, axis in zip(sizes, axes):
        have = x.shape[axis]
        late = have < 0 or isinstance(size, Tensor)  # known when the Program runs
        if late or have < size:
            x = tensor.concat([x, _zeros(x, axis, size if late else size - have)], axis)
        if late or have > size:
            x = tensor.slice(x, [axis], [0], [size])
    return x


@beside
def _zeros(x, axis, size):
    """Zeros as large as x but for axis."""
    shape = sizes_of(x)
    shape[axis] = size
    return tensor.zeros(shape, dtype=x.dtype)


def _c2c(x, axes, norm, forward):
    sizes = sizes_of(x)
    count = 1
    for axis in axes:
        count = count * sizes[axis]
    if isinstance(count, Tensor):
        count = count.astype("float64" if x.dtype == _core.complex128 else "float32")
    scale = _scale(norm, forward, count)
    if isinstance(scale, Tensor):
        return _core.ops.fft_c2c(x, axes, forward, 1.0) * scale
    return _core.ops.fft_c2c(x, axes, forward, 1.0 if scale is None else scale)


def _full(name, x, s, axes, norm, forward):
    s, axes = _axes(name, x, s, axes)
    _check_norm(name, norm)
    return _c2c(_resized(_to_complex(x), s, axes), axes, norm, forward)


def _half(name, x, s, axes, norm, forward):
    """Real numbers to the first half of the spectrum along the last axis."""
    s, axes = _axes(name, x, s, axes)
    _check_norm(name, norm)
    x = _real_input(name, x)
    y = _resized(_to_complex(x), s, axes)
    last = axes[-1]
    size = sizes_of(y)[last]
    if isinstance(size, int) and size == 0:
        return _zeros(y, last, 1)
    y = _c2c(y, [last], norm, forward)
    y = tensor.slice(y, [last], [0], [size // 2 + 1])
    return _c2c(y, axes[:-1], norm, forward) if len(axes) > 1 else y


def _whole(name, x, s, axes, norm, forward):
    """The first half of a spectrum along the last axis to real numbers."""
    s, axes = _axes(name, x, s, axes)
    _check_norm(name, norm)
    x = _to_complex(x)
    last = axes[-1]
    size = 2 * (sizes_of(x)[last] - 1) if s is None else s[-1]
    if isinstance(size, int) and size == 0:
        return tensor.real(_zeros(_resized(x, s, axes), last, 0))
    if isinstance(size, int) and size < 0:
        raise ValueError(
            f"[{name}] the result would have {size} points along axis {last}. Do this: give its"
            " size."
        )
    half = size // 2 + 1
    x = _resized(x, None if s is None else [*s[:-1], half], axes)
    if len(axes) > 1:
        x = _c2c(x, axes[:-1], norm, forward)
    mirrored = tensor.slice(x, [last], [1], [size - half + 1])
    mirrored = tensor.conj(tensor.flip(mirrored, [last]))
    found = tensor.real(_c2c(tensor.concat([x, mirrored], last), [last], norm, forward))
    return tensor.slice(found, [last], [0], [size]) if isinstance(size, Tensor) else found


def _axis(name, axis):
    if not isinstance(axis, int) or isinstance(axis, bool):
        raise ValueError(
            f"[{name}] axis: expected an int, got {axis!r}. Do this: use {name}n for several axes."
        )
    return [axis]


@alias(input="x", dim="axis")
def fft(x, n=None, axis=-1, norm="backward", name=None, *, out=None):
    """The discrete Fourier transform along an axis.

    Args:
        x (Tensor): Real or complex; integers become the default dtype.
        n (int, optional): Points of the transform, to which x is cut or filled up with zeros; default: all.
        axis (int): Along which.
        norm (str): What is divided: 'backward', the inverse transform by the number of points; 'forward', the
            transform by it; 'ortho', both by its square root.
        out (Tensor, optional): A tensor that becomes the result.

    Returns:
        Tensor: complex64, or complex128 for 64-bit numbers, of x's shape but for n on the axis.

    Raises:
        ValueError: An axis or a number of points is out of range, or norm another one.

    Example:
        >>> argosy.fft.fft(argosy.to_tensor([1.0, 2.0, 3.0])).tolist()
        [(6+0j), (-1.5+0.866j), (-1.5-0.866j)]
    """
    return into(out, _full("fft", x, n if n is None else [n], _axis("fft", axis), norm, True))


@alias(input="x", dim="axis")
def ifft(x, n=None, axis=-1, norm="backward", name=None, *, out=None):
    """The inverse of :func:`fft`.

    Args:
        x (Tensor): Real or complex; integers become the default dtype.
        n (int, optional): Points of the transform, to which x is cut or filled up with zeros; default: all.
        axis (int): Along which.
        norm (str): What is divided: 'backward', the inverse transform by the number of points; 'forward', the
            transform by it; 'ortho', both by its square root.
        out (Tensor, optional): A tensor that becomes the result.

    Returns:
        Tensor: complex64, or complex128 for 64-bit numbers, of x's shape but for n on the axis.

    Raises:
        ValueError: An axis or a number of points is out of range, or norm another one.

    Example:
        >>> x = argosy.to_tensor([1.0, 2.0, 3.0])
        >>> argosy.fft.ifft(argosy.fft.fft(x)).real().tolist()
        [1.0, 2.0, 3.0]
    """
    return into(out, _full("ifft", x, n if n is None else [n], _axis("ifft", axis), norm, False))


@alias(input="x", dim="axis")
def rfft(x, n=None, axis=-1, norm="backward", name=None, *, out=None):
    """The discrete Fourier transform of real numbers along an axis, without the half of the spectrum that is
    the mirror image of the other.

    Args:
        x (Tensor): Real; integers become the default dtype.
        n (int, optional): Points of the transform, to which x is cut or filled up with zeros; default: all.
        axis (int): Along which.
        norm (str): What is divided: 'backward', the inverse transform by the number of points; 'forward', the
            transform by it; 'ortho', both by its square root.
        out (Tensor, optional): A tensor that becomes the result.

    Returns:
        Tensor: complex64, or complex128 for 64-bit numbers, with n // 2 + 1 entries on the axis.

    Raises:
        ValueError: An axis or a number of points is out of range, or norm another one.
        RuntimeError: x is complex.

    Example:
        >>> argosy.fft.rfft(argosy.ones([4])).tolist()
        [(4+0j), 0j, 0j]
    """
    return into(out, _half("rfft", x, n if n is None else [n], _axis("rfft", axis), norm, True))


@alias(input="x", dim="axis")
def irfft(x, n=None, axis=-1, norm="backward", name=None, *, out=None):
    """The inverse of :func:`rfft`.

    Args:
        x (Tensor): Real or complex; integers become the default dtype.
        n (int, optional): Points of the result; default: 2 (size - 1).
        axis (int): Along which.
        norm (str): What is divided: 'backward', the inverse transform by the number of points; 'forward', the
            transform by it; 'ortho', both by its square root.
        out (Tensor, optional): A tensor that becomes the result.

    Returns:
        Tensor: float32, or float64 for 64-bit numbers, with n entries on the axis.

    Raises:
        ValueError: An axis or a number of points is out of range, or norm another one.

    Example:
        >>> x = argosy.to_tensor([1.0, 2.0, 3.0])
        >>> argosy.fft.irfft(argosy.fft.rfft(x), n=3).tolist()
        [1.0, 2.0, 3.0]
    """
    return into(out, _whole("irfft", x, n if n is None else [n], _axis("irfft", axis), norm, False))


@alias(input="x", dim="axis")
def hfft(x, n=None, axis=-1, norm="backward", name=None, *, out=None):
    """The discrete Fourier transform of a signal whose second half is the conjugate mirror image of the first,
    which x is.

    Args:
        x (Tensor): Real or complex; integers become the default dtype.
        n (int, optional): Points of the result; default: 2 (size - 1).
        axis (int): Along which.
        norm (str): What is divided: 'backward', the inverse transform by the number of points; 'forward', the
            transform by it; 'ortho', both by its square root.
        out (Tensor, optional): A tensor that becomes the result.

    Returns:
        Tensor: float32, or float64 for 64-bit numbers, with n entries on the axis.

    Raises:
        ValueError: An axis or a number of points is out of range, or norm another one.

    Example:
        >>> argosy.fft.hfft(argosy.to_tensor([1.0, 2.0, 3.0])).tolist()
        [8.0, -2.0, 0.0, -2.0]
    """
    return into(out, _whole("hfft", x, n if n is None else [n], _axis("hfft", axis), norm, True))


@alias(input="x", dim="axis")
def ihfft(x, n=None, axis=-1, norm="backward", name=None, *, out=None):
    """The inverse of :func:`hfft`.

    Args:
        x (Tensor): Real; integers become the default dtype.
        n (int, optional): Points of the transform, to which x is cut or filled up with zeros; default: all.
        axis (int): Along which.
        norm (str): What is divided: 'backward', the inverse transform by the number of points; 'forward', the
            transform by it; 'ortho', both by its square root.
        out (Tensor, optional): A tensor that becomes the result.

    Returns:
        Tensor: complex64, or complex128 for 64-bit numbers, with n // 2 + 1 entries on the axis.

    Raises:
        ValueError: An axis or a number of points is out of range, or norm another one.
        RuntimeError: x is complex.

    Example:
        >>> x = argosy.to_tensor([1.0, 2.0, 3.0, 2.0])
        >>> argosy.fft.hfft(argosy.fft.ihfft(x)).tolist()
        [1.0, 2.0, 3.0, 2.0]
    """
    return into(out, _half("ihfft", x, n if n is None else [n], _axis("ihfft", axis), norm, False))


@alias(input="x", dim="axes")
def fftn(x, s=None, axes=None, norm="backward", name=None, *, out=None):
    """The discrete Fourier transform along several axes.

    Args:
        x (Tensor): Real or complex; integers become the default dtype.
        s (list[int] | tuple[int], optional): Points of the transform on each axis, to which x is cut or filled up
            with zeros; default: all.
        axes (list[int] | tuple[int], optional): Which; default: the last ones, as many as s has, or all.
        norm (str): What is divided: 'backward', the inverse transform by the number of points; 'forward', the
            transform by it; 'ortho', both by its square root.
        out (Tensor, optional): A tensor that becomes the result.

    Returns:
        Tensor: complex64, or complex128 for 64-bit numbers, of x's shape but for s on the axes.

    Raises:
        ValueError: An axis or a number of points is out of range, or norm another one.

    Example:
        >>> argosy.fft.fftn(argosy.ones([2, 2])).tolist()
        [[(4+0j), 0j], [0j, 0j]]
    """
    return into(out, _full("fftn", x, s, axes, norm, True))


@alias(input="x", dim="axes")
def ifftn(x, s=None, axes=None, norm="backward", name=None, *, out=None):
    """The inverse of :func:`fftn`.

    Args:
        x (Tensor): Real or complex; integers become the default dtype.
        s (list[int] | tuple[int], optional): Points of the transform on each axis, to which x is cut or filled up
            with zeros; default: all.
        axes (list[int] | tuple[int], optional): Which; default: the last ones, as many as s has, or all.
        norm (str): What is divided: 'backward', the inverse transform by the number of points; 'forward', the
            transform by it; 'ortho', both by its square root.
        out (Tensor, optional): A tensor that becomes the result.

    Returns:
        Tensor: complex64, or complex128 for 64-bit numbers, of x's shape but for s on the axes.

    Raises:
        ValueError: An axis or a number of points is out of range, or norm another one.

    Example:
        >>> x = argosy.to_tensor([[1.0, 2.0], [3.0, 4.0]])
        >>> argosy.fft.ifftn(argosy.fft.fftn(x)).real().tolist()
        [[1.0, 2.0], [3.0, 4.0]]
    """
    return into(out, _full("ifftn", x, s, axes, norm, False))


@alias(input="x", dim="axes")
def rfftn(x, s=None, axes=None, norm="backward", name=None, *, out=None):
    """The discrete Fourier transform of real numbers along several axes, the last of which has half of the spectrum.

    Args:
        x (Tensor): Real; integers become the default dtype.
        s (list[int] | tuple[int], optional): Points of the transform on each axis, to which x is cut or filled up
            with zeros; default: all.
        axes (list[int] | tuple[int], optional): Which; default: the last ones, as many as s has, or all.
        norm (str): What is divided: 'backward', the inverse transform by the number of points; 'forward', the
            transform by it; 'ortho', both by its square root.
        out (Tensor, optional): A tensor that becomes the result.

    Returns:
        Tensor: complex64, or complex128 for 64-bit numbers, with s[-1] // 2 + 1 entries on the last axis.

    Raises:
        ValueError: An axis or a number of points is out of range, or norm another one.
        RuntimeError: x is complex.

    Example:
        >>> argosy.fft.rfftn(argosy.ones([2, 4])).shape
        paddle.Size([2, 3])
    """
    return into(out, _half("rfftn", x, s, axes, norm, True))


@alias(input="x", dim="axes")
def irfftn(x, s=None, axes=None, norm="backward", name=None, *, out=None):
    """The inverse of :func:`rfftn`.

    Args:
        x (Tensor): Real or complex; integers become the default dtype.
        s (list[int] | tuple[int], optional): Points of the result on each axis; default: those of x, on the last
            axis 2 (size - 1).
        axes (list[int] | tuple[int], optional): Which; default: the last ones, as many as s has, or all.
        norm (str): What is divided: 'backward', the inverse transform by the number of points; 'forward', the
            transform by it; 'ortho', both by its square root.
        out (Tensor, optional): A tensor that becomes the result.

    Returns:
        Tensor: float32, or float64 for 64-bit numbers, with s entries on the axes.

    Raises:
        ValueError: An axis or a number of points is out of range, or norm another one.

    Example:
        >>> x = argosy.to_tensor([[1.0, 2.0], [3.0, 4.0]])
        >>> argosy.fft.irfftn(argosy.fft.rfftn(x)).tolist()
        [[1.0, 2.0], [3.0, 4.0]]
    """
    return into(out, _whole("irfftn", x, s, axes, norm, False))


@alias(input="x", dim="axes")
def hfftn(x, s=None, axes=None, norm="backward", name=None, *, out=None):
    """:func:`hfft` over several axes: x is the first half of a signal along the last one.

    Args:
        x (Tensor): Real or complex; integers become the default dtype.
        s (list[int] | tuple[int], optional): Points of the result on each axis; default: those of x, on the last
            axis 2 (size - 1).
        axes (list[int] | tuple[int], optional): Which; default: the last ones, as many as s has, or all.
        norm (str): What is divided: 'backward', the inverse transform by the number of points; 'forward', the
            transform by it; 'ortho', both by its square root.
        out (Tensor, optional): A tensor that becomes the result.

    Returns:
        Tensor: float32, or float64 for 64-bit numbers, with s entries on the axes.

    Raises:
        ValueError: An axis or a number of points is out of range, or norm another one.

    Example:
        >>> argosy.fft.hfftn(argosy.ones([2, 3])).shape
        paddle.Size([2, 4])
    """
    return into(out, _whole("hfftn", x, s, axes, norm, True))


@alias(input="x", dim="axes")
def ihfftn(x, s=None, axes=None, norm="backward", name=None, *, out=None):
    """The inverse of :func:`hfftn`.

    Args:
        x (Tensor): Real; integers become the default dtype.
        s (list[int] | tuple[int], optional): Points of the transform on each axis, to which x is cut or filled up
            with zeros; default: all.
        axes (list[int] | tuple[int], optional): Which; default: the last ones, as many as s has, or all.
        norm (str): What is divided: 'backward', the inverse transform by the number of points; 'forward', the
            transform by it; 'ortho', both by its square root.
        out (Tensor, optional): A tensor that becomes the result.

    Returns:
        Tensor: complex64, or complex128 for 64-bit numbers, with s[-1] // 2 + 1 entries on the last axis.

    Raises:
        ValueError: An axis or a number of points is out of range, or norm another one.
        RuntimeError: x is complex.

    Example:
        >>> x = argosy.to_tensor([[1.0, 2.0], [3.0, 4.0]])
        >>> argosy.fft.hfftn(argosy.fft.ihfftn(x)).tolist()
        [[1.0, 2.0], [3.0, 4.0]]
    """
    return into(out, _half("ihfftn", x, s, axes, norm, False))


def _two(name, x, s, axes):
    need_tensor(name, "x", x)
    axes = [-2, -1] if axes is None else _ints(name, "axes", axes)
    if x.ndim < 2 or len(axes) != 2:
        raise ValueError(
            f"[{name}] transforms two axes: got a tensor of {x.ndim} dimensions and axes {axes}. Do"
            " this: use the form that ends in n."
        )
    return s, axes


@alias(input="x", dim="axes")
def fft2(x, s=None, axes=(-2, -1), norm="backward", name=None, *, out=None):
    """The discrete Fourier transform along two axes.

    Args:
        x (Tensor): Real or complex; integers become the default dtype.
        s (list[int] | tuple[int], optional): Points of the transform on each axis, to which x is cut or filled up
            with zeros; default: all.
        axes (list[int] | tuple[int]): The two.
        norm (str): What is divided: 'backward', the inverse transform by the number of points; 'forward', the
            transform by it; 'ortho', both by its square root.
        out (Tensor, optional): A tensor that becomes the result.

    Returns:
        Tensor: complex64, or complex128 for 64-bit numbers, of x's shape but for s on the axes.

    Raises:
        ValueError: An axis or a number of points is out of range, or norm another one.

    Example:
        >>> argosy.fft.fft2(argosy.ones([2, 2])).tolist()
        [[(4+0j), 0j], [0j, 0j]]
    """
    return fftn(x, *_two("fft2", x, s, axes), norm, out=out)


@alias(input="x", dim="axes")
def ifft2(x, s=None, axes=(-2, -1), norm="backward", name=None, *, out=None):
    """The inverse of :func:`fft2`.

    Args:
        x (Tensor): Real or complex; integers become the default dtype.
        s (list[int] | tuple[int], optional): Points of the transform on each axis, to which x is cut or filled up
            with zeros; default: all.
        axes (list[int] | tuple[int]): The two.
        norm (str): What is divided: 'backward', the inverse transform by the number of points; 'forward', the
            transform by it; 'ortho', both by its square root.
        out (Tensor, optional): A tensor that becomes the result.

    Returns:
        Tensor: complex64, or complex128 for 64-bit numbers, of x's shape but for s on the axes.

    Raises:
        ValueError: An axis or a number of points is out of range, or norm another one.

    Example:
        >>> x = argosy.to_tensor([[1.0, 2.0], [3.0, 4.0]])
        >>> argosy.fft.ifft2(argosy.fft.fft2(x)).real().tolist()
        [[1.0, 2.0], [3.0, 4.0]]
    """
    return ifftn(x, *_two("ifft2", x, s, axes), norm, out=out)


@alias(input="x", dim="axes")
def rfft2(x, s=None, axes=(-2, -1), norm="backward", name=None, *, out=None):
    """The discrete Fourier transform of real numbers along two axes, the last of which has half of the spectrum.

    Args:
        x (Tensor): Real; integers become the default dtype.
        s (list[int] | tuple[int], optional): Points of the transform on each axis, to which x is cut or filled up
            with zeros; default: all.
        axes (list[int] | tuple[int]): The two.
        norm (str): What is divided: 'backward', the inverse transform by the number of points; 'forward', the
            transform by it; 'ortho', both by its square root.
        out (Tensor, optional): A tensor that becomes the result.

    Returns:
        Tensor: complex64, or complex128 for 64-bit numbers, with s[-1] // 2 + 1 entries on the last axis.

    Raises:
        ValueError: An axis or a number of points is out of range, or norm another one.
        RuntimeError: x is complex.

    Example:
        >>> argosy.fft.rfft2(argosy.ones([2, 4])).shape
        paddle.Size([2, 3])
    """
    return rfftn(x, *_two("rfft2", x, s, axes), norm, out=out)


@alias(input="x", dim="axes")
def irfft2(x, s=None, axes=(-2, -1), norm="backward", name=None, *, out=None):
    """The inverse of :func:`rfft2`.

    Args:
        x (Tensor): Real or complex; integers become the default dtype.
        s (list[int] | tuple[int], optional): Points of the result on each axis; default: those of x, on the last
            axis 2 (size - 1).
        axes (list[int] | tuple[int]): The two.
        norm (str): What is divided: 'backward', the inverse transform by the number of points; 'forward', the
            transform by it; 'ortho', both by its square root.
        out (Tensor, optional): A tensor that becomes the result.

    Returns:
        Tensor: float32, or float64 for 64-bit numbers, with s entries on the axes.

    Raises:
        ValueError: An axis or a number of points is out of range, or norm another one.

    Example:
        >>> x = argosy.to_tensor([[1.0, 2.0], [3.0, 4.0]])
        >>> argosy.fft.irfft2(argosy.fft.rfft2(x)).tolist()
        [[1.0, 2.0], [3.0, 4.0]]
    """
    return irfftn(x, *_two("irfft2", x, s, axes), norm, out=out)


@alias(input="x", dim="axes")
def hfft2(x, s=None, axes=(-2, -1), norm="backward", name=None, *, out=None):
    """:func:`hfft` over two axes: x is the first half of a signal along the last one.

    Args:
        x (Tensor): Real or complex; integers become the default dtype.
        s (list[int] | tuple[int], optional): Points of the result on each axis; default: those of x, on the last
            axis 2 (size - 1).
        axes (list[int] | tuple[int]): The two.
        norm (str): What is divided: 'backward', the inverse transform by the number of points; 'forward', the
            transform by it; 'ortho', both by its square root.
        out (Tensor, optional): A tensor that becomes the result.

    Returns:
        Tensor: float32, or float64 for 64-bit numbers, with s entries on the axes.

    Raises:
        ValueError: An axis or a number of points is out of range, or norm another one.

    Example:
        >>> argosy.fft.hfft2(argosy.ones([2, 3])).shape
        paddle.Size([2, 4])
    """
    return hfftn(x, *_two("hfft2", x, s, axes), norm, out=out)


@alias(input="x", dim="axes")
def ihfft2(x, s=None, axes=(-2, -1), norm="backward", name=None, *, out=None):
    """The inverse of :func:`hfft2`.

    Args:
        x (Tensor): Real; integers become the default dtype.
        s (list[int] | tuple[int], optional): Points of the transform on each axis, to which x is cut or filled up
            with zeros; default: all.
        axes (list[int] | tuple[int]): The two.
        norm (str): What is divided: 'backward', the inverse transform by the number of points; 'forward', the
            transform by it; 'ortho', both by its square root.
        out (Tensor, optional): A tensor that becomes the result.

    Returns:
        Tensor: complex64, or complex128 for 64-bit numbers, with s[-1] // 2 + 1 entries on the last axis.

    Raises:
        ValueError: An axis or a number of points is out of range, or norm another one.
        RuntimeError: x is complex.

    Example:
        >>> x = argosy.to_tensor([[1.0, 2.0], [3.0, 4.0]])
        >>> argosy.fft.hfft2(argosy.fft.ihfft2(x)).tolist()
        [[1.0, 2.0], [3.0, 4.0]]
    """
    return ihfftn(x, *_two("ihfft2", x, s, axes), norm, out=out)


def _positions(name, n, d):
    if n * d == 0:
        raise ValueError(f"[{name}] n and d must not be 0, got {n} and {d}. Do this: correct them.")


def fftfreq(n, d=1.0, dtype=None, name=None, *, out=None, device=None, requires_grad=False):
    """Frequencies of the entries of :func:`fft`: 0, 1, .., -2, -1 over n d.

    Args:
        n (int): Points of the transform.
        d (float): Distance of the samples.
        dtype (dtype | str, optional): A floating dtype; default: the default dtype.
        out (Tensor, optional): A tensor of that dtype that becomes the result.
        device (Place | str, optional): Where the result goes.
        requires_grad (bool): Whether the result is to get a gradient.

    Returns:
        Tensor: [n].

    Example:
        >>> argosy.fft.fftfreq(4).tolist()
        [0.0, 0.25, -0.5, -0.25]
    """
    _positions("fftfreq", n, d)
    dtype = _core.get_default_dtype() if dtype is None else dtype
    places = tensor.concat(
        [tensor.arange(0, (n + 1) // 2, dtype=dtype), tensor.arange(-(n // 2), 0, dtype=dtype)]
    )
    return place(places / (n * d), out, device, requires_grad)


def rfftfreq(n, d=1.0, dtype=None, name=None, *, out=None, device=None, requires_grad=False):
    """Frequencies of the entries of :func:`rfft`: 0, 1, .. over n d.

    Args:
        n (int): Points of the transform.
        d (float): Distance of the samples.
        dtype (dtype | str, optional): A floating dtype; default: the default dtype.
        out (Tensor, optional): A tensor of that dtype that becomes the result.
        device (Place | str, optional): Where the result goes.
        requires_grad (bool): Whether the result is to get a gradient.

    Returns:
        Tensor: [n // 2 + 1].

    Example:
        >>> argosy.fft.rfftfreq(4, d=0.5).tolist()
        [0.0, 0.5, 1.0]
    """
    _positions("rfftfreq", n, d)
    dtype = _core.get_default_dtype() if dtype is None else dtype
    return place(tensor.arange(0, n // 2 + 1, dtype=dtype) / (n * d), out, device, requires_grad)


def _rolled(x, axes, inverse):
    need_tensor("ifftshift" if inverse else "fftshift", "x", x)
    if isinstance(axes, Tensor):
        axes = axes.tolist()
    axes = range(x.ndim) if axes is None else [axes] if isinstance(axes, int) else axes
    axes, sizes = list(axes), sizes_of(x)
    steps = [-(sizes[a] // 2) if inverse else sizes[a] // 2 for a in axes]
    return tensor.roll(x, steps, axes)


@alias(input="x", dim="axes")
def fftshift(x, axes=None, name=None):
    """Moves frequency 0 to the middle.

    Args:
        x (Tensor): Of any dtype.
        axes (int | list[int] | tuple[int], optional): Along which; default: all.

    Returns:
        Tensor: Of x's shape and dtype.

    Example:
        >>> argosy.fft.fftshift(argosy.to_tensor([0, 1, 2, -2, -1])).tolist()
        [-2, -1, 0, 1, 2]
    """
    return _rolled(x, axes, False)


@alias(input="x", dim="axes")
def ifftshift(x, axes=None, name=None):
    """The inverse of :func:`fftshift`.

    Args:
        x (Tensor): Of any dtype.
        axes (int | list[int] | tuple[int], optional): Along which; default: all.

    Returns:
        Tensor: Of x's shape and dtype.

    Example:
        >>> argosy.fft.ifftshift(argosy.to_tensor([-2, -1, 0, 1, 2])).tolist()
        [0, 1, 2, -2, -1]
    """
    return _rolled(x, axes, True)
