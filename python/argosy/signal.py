"""Short-time Fourier transforms."""

from __future__ import annotations

from argosy import _core, tensor
from argosy import fft as _fft
from argosy._beside import beside
from argosy._support import ArgumentError, check_choice, sizes_of
from argosy.nn import functional as F

__all__ = ["istft", "stft"]


@beside
def frame(x, frame_length, hop_length, axis=-1):
    """Overlapping windows of x along its last axis [.., N] -> [.., frame_length, frames], or, with
    axis=0, of its first one [N, ..] -> [frames, frame_length, ..]."""
    if axis not in (0, -1):
        raise ValueError(f"[frame] axis must be 0 or -1, got {axis}. Do this: move the axis there.")
    size = x.shape[axis]
    if frame_length <= 0 or 0 <= size < frame_length or hop_length <= 0:
        raise ValueError(
            f"(InvalidArgument) [frame] frame_length must be in 1 .. {size}, the size of the axis, and hop_length"
            f" positive, got {frame_length} and {hop_length}. Do this: correct them."
        )
    count = 1 + (sizes_of(x)[axis] - frame_length) // hop_length
    start = tensor.arange(count) * hop_length
    step = tensor.arange(frame_length)
    if axis == 0:
        return x[start.unsqueeze(1) + step]
    return x[..., step.unsqueeze(1) + start]


@beside
def overlap_add(x, hop_length, axis=-1):
    """Sum of windows hop_length apart, the opposite of :func:`frame`."""
    if axis not in (0, -1):
        raise ValueError(
            f"[overlap_add] axis must be 0 or -1, got {axis}. Do this: move the axis there."
        )
    if x.ndim < 2:
        raise ValueError(
            f"(InvalidArgument) [overlap_add] x must be [.., length, count], got {list(x.shape)}. Do"
            " this: unsqueeze it."
        )
    if hop_length <= 0:
        raise ValueError(
            f"(InvalidArgument) [overlap_add] hop_length must be positive, got {hop_length}. Do this:"
            " correct it."
        )
    if axis == 0:
        x = x.transpose([*range(2, x.ndim), 1, 0])
    sizes = sizes_of(x)
    length, count = sizes[-2:]
    total = (count - 1) * hop_length + length
    start = tensor.arange(count) * hop_length
    places = (tensor.arange(length).unsqueeze(1) + start).reshape([-1])
    flat = x.reshape([-1, length * count])
    result = tensor.index_add(
        tensor.zeros([sizes_of(flat)[0], total], dtype=x.dtype), places, 1, flat
    ).reshape([*sizes[:-2], total])
    return result.transpose([result.ndim - 1, *range(result.ndim - 1)]) if axis == 0 else result


def _window(name, window, win_length, n_fft, dtype):
    """The window, centred in n_fft points."""
    if not 0 < win_length <= n_fft:
        raise ArgumentError(
            f"[{name}] win_length must be in 1 .. n_fft = {n_fft}, got {win_length}. Do this:"
            " correct it."
        )
    if window is None:
        window = tensor.ones([win_length], dtype=dtype)
    elif window.ndim != 1 or window.shape[0] not in (-1, win_length):
        raise ArgumentError(
            f"[{name}] window must have win_length = {win_length} entries, got a tensor of shape"
            f" {list(window.shape)}. Do this: correct one of them."
        )
    if win_length < n_fft:
        left = (n_fft - win_length) // 2
        window = F.pad(
            window.unsqueeze([0, 1]), [left, n_fft - win_length - left], data_format="NCL"
        )
        window = window.reshape([n_fft])
    return window


@beside
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
    """Transforms of overlapping windows of a signal.

    Args:
        x (Tensor): [N] or [B, N], real or complex.
        n_fft (int): Points of a transform.
        hop_length (int, optional): Distance of the windows; default: n_fft // 4.
        win_length (int, optional): Size of the window, which is centred in n_fft points; default: n_fft.
        window (Tensor, optional): [win_length] weights; default: ones.
        center (bool): Whether to fill up the signal on both sides by n_fft // 2, so that window t is centred at
            sample t * hop_length.
        pad_mode (str): With what: 'reflect' or 'constant'.
        normalized (bool): Whether to divide by sqrt(n_fft).
        onesided (bool, optional): Whether to give the first n_fft // 2 + 1 bins only, which is the default for a
            real x and not possible for a complex one.

    Returns:
        Tensor: Complex, [.., bins, frames].

    Raises:
        AssertionError: x has another number of dimensions or fewer samples than n_fft, pad_mode is another one,
            a length is out of range, the window does not fit, or onesided meets a complex x.

    Example:
        >>> argosy.signal.stft(argosy.ones([8]), n_fft=4).shape
        paddle.Size([3, 9])
    """
    if x.ndim not in (1, 2):
        raise AssertionError(
            f"[stft] x must have 1 or 2 dimensions, got {x.ndim}. Do this: reshape it."
        )
    is_complex = tensor.is_complex(x)
    onesided = not is_complex if onesided is None else onesided
    if is_complex and onesided:
        raise AssertionError(
            "[stft] onesided must be False for a complex signal. Do this: leave it out."
        )
    check_choice("stft", "pad_mode", pad_mode, ("reflect", "constant"), AssertionError)
    hop_length = n_fft // 4 if hop_length is None else hop_length
    if hop_length <= 0:
        raise ArgumentError(
            f"[stft] hop_length must be positive, got {hop_length}. Do this: correct it; it is n_fft // 4"
            " unless given."
        )
    if n_fft <= 0 or 0 <= x.shape[-1] < n_fft:
        raise ArgumentError(
            f"[stft] n_fft must be in 1 .. {x.shape[-1]}, the samples of x, got {n_fft}. Do this: use"
            " fewer points, or a longer signal."
        )
    win_length = n_fft if win_length is None else win_length
    real = "float64" if x.dtype in (_core.float64, _core.complex128) else "float32"
    if tensor.is_integer(x):
        x = x.astype(real)
    window = _window("stft", window, win_length, n_fft, real)
    signal = x if x.ndim == 2 else x.unsqueeze(0)
    if center:
        signal = _padded(signal, n_fft // 2, pad_mode)
    frames = frame(signal, n_fft, hop_length) * window.unsqueeze(1)
    norm = "ortho" if normalized else "backward"
    result = (_fft.rfft if onesided else _fft.fft)(frames, axis=-2, norm=norm)
    return result if x.ndim == 2 else result.squeeze(0)


@beside
def _padded(x, count, mode):
    if mode == "constant" or count == 0:
        zeros = tensor.zeros([sizes_of(x)[0], count], dtype=x.dtype)
        return tensor.concat([zeros, x, zeros], 1)
    left = tensor.flip(x[:, 1 : count + 1], [1])
    right = tensor.flip(x[:, -count - 1 : -1], [1])
    return tensor.concat([left, x, right], 1)


@beside
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
    """The signal that transforms of its windows belong to: the inverse of :func:`stft` with the same arguments,
    by least squares.

    Args:
        x (Tensor): Complex, [bins, frames] or [batch, bins, frames].
        n_fft (int): Points of a transform.
        hop_length (int, optional): Distance of the windows; default: n_fft // 4.
        win_length (int, optional): Size of the window; default: n_fft.
        window (Tensor, optional): Its weights, [win_length]; default: ones.
        center (bool): Whether window t is centred at sample t * hop_length.
        normalized (bool): Whether stft divided by sqrt(n_fft).
        onesided (bool): Whether x has the first n_fft // 2 + 1 bins, else n_fft.
        length (int, optional): Samples of the result; default: those that the windows cover.
        return_complex (bool): Whether the signal is complex, for onesided=False.

    Returns:
        Tensor: [samples] or [batch, samples].

    Raises:
        AssertionError: x has another number of dimensions or bins, a length is out of range, the window does not
            fit, or return_complex meets onesided.
        ValueError: A sample has no weight in any window.

    Paper: Signal Estimation from Modified Short-Time Fourier Transform (Griffin and Lim, 1984).

    Example:
        >>> x = argosy.arange(8, dtype="float32")
        >>> argosy.signal.istft(argosy.signal.stft(x, 4), 4).tolist()
        [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0]
    """
    if x.ndim not in (2, 3):
        raise AssertionError(
            f"[istft] x must have 2 or 3 dimensions, got {x.ndim}. Do this: reshape it."
        )
    bins = n_fft // 2 + 1 if onesided else n_fft
    if x.shape[-2] not in (-1, bins):
        raise AssertionError(
            f"[istft] x must have {bins} bins for n_fft={n_fft} and onesided={onesided}, got"
            f" {x.shape[-2]}. Do this: use the arguments of stft."
        )
    if return_complex and onesided:
        raise AssertionError(
            "[istft] a complex signal needs onesided=False. Do this: pass it to stft, too."
        )
    hop_length = n_fft // 4 if hop_length is None else hop_length
    win_length = n_fft if win_length is None else win_length
    if not 0 < hop_length <= win_length:
        raise ArgumentError(
            f"[istft] hop_length must be in 1 .. win_length = {win_length}, got {hop_length}. Do this:"
            " correct it."
        )
    real = "float64" if x.dtype == _core.complex128 else "float32"
    window = _window("istft", window, win_length, n_fft, real)
    spectra = x if x.ndim == 3 else x.unsqueeze(0)
    norm = "ortho" if normalized else "backward"
    if onesided:
        frames = _fft.irfft(spectra, n_fft, -2, norm)
    else:
        frames = _fft.ifft(spectra, None, -2, norm)
        frames = frames if return_complex else tensor.real(frames)
    weights = window.unsqueeze(1)
    result = overlap_add(frames * weights, hop_length)
    count = sizes_of(frames)[-1]
    envelope = overlap_add((weights * weights).expand([n_fft, count]), hop_length)
    start = n_fft // 2 if center else 0
    total = sizes_of(result)[-1]
    end = (total - start if center else total) if length is None else start + length
    result, envelope = result[:, start:end], envelope[start:end]
    if not envelope._symbolic and float(envelope.abs().min()) < 1e-11:
        raise ValueError(
            "[istft] the windows leave samples without weight (the sum of their squares is 0). Do"
            " this: use a smaller hop_length or another window."
        )
    result = result / envelope
    batch, found = sizes_of(result)
    if length is not None and (result.shape[-1] < 0 or found < length):
        rest = length - found if result.shape[-1] >= 0 else (length - found).clip(0)
        zeros = tensor.zeros([batch, rest], dtype=result.dtype)
        result = tensor.concat([result, zeros], 1)
    return result if x.ndim == 3 else result.squeeze(0)
