"""Mel scales, filter banks, decibels and cosine transforms."""

from __future__ import annotations

import math

from argosy import tensor
from argosy._core import Tensor
from argosy._support import ArgumentError, check_choice
from argosy.nn import functional as F

# Slaney's scale: linear to 1 kHz (15 mel), then 27 mel for each factor of 6.4.
_HERTZ_PER_MEL = 200.0 / 3
_KNEE_HERTZ = 1000.0
_KNEE_MEL = _KNEE_HERTZ / _HERTZ_PER_MEL
_LOG_STEP = math.log(6.4) / 27.0


def hz_to_mel(freq, htk=False):
    """Frequencies in Hz on the mel scale.

    Args:
        freq (float | Tensor): in Hz.
        htk (bool): the formula 2595 log10(1 + f / 700); else Slaney's scale, which is linear up to 1 kHz.

    Returns:
        A number for a number, a Tensor for a Tensor.

    Examples:
        >>> argosy.audio.functional.hz_to_mel(1000.0), argosy.audio.functional.hz_to_mel(1000.0, htk=True)
        (15.0, 999.9855)
    """
    if not isinstance(freq, Tensor):
        if htk:
            return 2595.0 * math.log10(1.0 + freq / 700.0)
        if freq < _KNEE_HERTZ:
            return freq / _HERTZ_PER_MEL
        return _KNEE_MEL + math.log(freq / _KNEE_HERTZ) / _LOG_STEP
    if htk:
        return 2595.0 * tensor.log10(1.0 + freq / 700.0)
    high = _KNEE_MEL + tensor.log(tensor.clip(freq, min=_KNEE_HERTZ) / _KNEE_HERTZ) / _LOG_STEP
    return tensor.where(freq < _KNEE_HERTZ, freq / _HERTZ_PER_MEL, high)


def mel_to_hz(mel, htk=False):
    """The inverse of :func:`hz_to_mel`.

    Args:
        mel (float | Tensor): on the mel scale.
        htk (bool): see there.

    Returns:
        A number for a number, a Tensor for a Tensor, in Hz.

    Examples:
        >>> argosy.audio.functional.mel_to_hz(15.0)
        1000.0
    """
    if not isinstance(mel, Tensor):
        if htk:
            return 700.0 * (10.0 ** (mel / 2595.0) - 1.0)
        if mel < _KNEE_MEL:
            return mel * _HERTZ_PER_MEL
        return _KNEE_HERTZ * math.exp(_LOG_STEP * (mel - _KNEE_MEL))
    if htk:
        return 700.0 * (10.0 ** (mel / 2595.0) - 1.0)
    high = _KNEE_HERTZ * tensor.exp(_LOG_STEP * (tensor.clip(mel, min=_KNEE_MEL) - _KNEE_MEL))
    return tensor.where(mel < _KNEE_MEL, mel * _HERTZ_PER_MEL, high)


def mel_frequencies(n_mels=64, f_min=0.0, f_max=11025.0, htk=False, dtype="float32"):
    """Frequencies in Hz that are equally far apart in mel.

    Args:
        n_mels (int): how many.
        f_min, f_max (float): the first and the last, in Hz.
        htk (bool): see :func:`hz_to_mel`.
        dtype (str): of the result.

    Returns:
        Tensor [n_mels].

    Examples:
        >>> argosy.audio.functional.mel_frequencies(3, 0.0, 1000.0).tolist()
        [0.0, 500.0, 1000.0]
    """
    mels = tensor.linspace(hz_to_mel(f_min, htk), hz_to_mel(f_max, htk), n_mels, dtype)
    return mel_to_hz(mels, htk)


def fft_frequencies(sr, n_fft, dtype="float32"):
    """The frequencies in Hz of a real FFT.

    Args:
        sr (int): sample rate in Hz.
        n_fft (int): points of the transform.
        dtype (str): of the result.

    Returns:
        Tensor [n_fft // 2 + 1].

    Examples:
        >>> argosy.audio.functional.fft_frequencies(8000, 4).tolist()
        [0.0, 2000.0, 4000.0]
    """
    return tensor.linspace(0, sr / 2.0, 1 + n_fft // 2, dtype)


def compute_fbank_matrix(
    sr, n_fft, n_mels=64, f_min=0.0, f_max=None, htk=False, norm="slaney", dtype="float32"
):
    """Triangular filters, equally wide in mel, over the bins of an FFT.

    Args:
        sr (int): sample rate in Hz.
        n_fft (int): points of the transform.
        n_mels (int): number of filters.
        f_min, f_max (float): where they begin and end, in Hz; f_max is half the sample rate if None.
        htk (bool): see :func:`hz_to_mel`.
        norm (str | float, optional): 'slaney' gives each filter the area 1 in Hz, a number p each row the
            p-norm 1, None peaks of 1.
        dtype (str): of the result.

    Returns:
        Tensor [n_mels, n_fft // 2 + 1].

    Examples:
        >>> bank = argosy.audio.functional.compute_fbank_matrix(8000, 64, n_mels=4, norm=1)
        >>> bank.shape, bank.sum(1).tolist()
        (paddle.Size([4, 33]), [1.0, 1.0, 1.0, 1.0])
    """
    if f_max is None:
        f_max = sr / 2.0
    bins = fft_frequencies(sr, n_fft, dtype)
    edges = mel_frequencies(n_mels + 2, f_min, f_max, htk, dtype)
    widths = edges[1:] - edges[:-1]
    distances = edges.unsqueeze(1) - bins.unsqueeze(0)
    rising = -distances[:-2] / widths[:-1].unsqueeze(1)
    falling = distances[2:] / widths[1:].unsqueeze(1)
    weights = F.relu(tensor.minimum(rising, falling))
    if norm == "slaney":
        return weights * (2.0 / (edges[2:] - edges[:-2])).unsqueeze(1)
    if isinstance(norm, (int, float)):
        return F.normalize(weights, p=norm, axis=-1)
    return weights


def power_to_db(spect, ref_value=1.0, amin=1e-10, top_db=80.0):
    """``10 log10(spect / ref_value)``, with powers below amin taken as amin.

    Args:
        spect (Tensor): powers.
        ref_value (float): the power of 0 dB, positive.
        amin (float): see above, positive.
        top_db (float, optional): values further than this below the largest are raised to there; None for
            no limit.

    Returns:
        Tensor like spect.

    Raises:
        ValueError: ``amin`` or ``ref_value`` is not positive, or ``top_db`` negative.

    Examples:
        >>> argosy.audio.functional.power_to_db(argosy.to_tensor([1.0, 100.0, 0.0])).tolist()
        [0.0, 20.0, -60.0]
    """
    for name, value in (("amin", amin), ("ref_value", ref_value)):
        if value <= 0:
            raise ValueError(
                f"[power_to_db] {name} must be positive, got {value}. Do this: correct it."
            )
    if top_db is not None and top_db < 0:
        raise ValueError(
            f"[power_to_db] top_db must not be negative, got {top_db}. Do this: pass 0 or more."
        )
    decibels = 10.0 * tensor.log10(tensor.clip(spect, min=amin))
    decibels = decibels - 10.0 * math.log10(max(ref_value, amin))
    return decibels if top_db is None else tensor.maximum(decibels, decibels.max() - top_db)


def create_dct(n_mfcc, n_mels, norm="ortho", dtype="float32"):
    """The matrix of the cosine transform (DCT-II).

    Args:
        n_mfcc, n_mels (int): its columns and rows.
        norm (str, optional): 'ortho' makes the columns orthonormal; None.
        dtype (str): of the result.

    Returns:
        Tensor [n_mels, n_mfcc].

    Raises:
        ValueError: ``norm`` is another word.

    Examples:
        >>> dct = argosy.audio.functional.create_dct(4, 4)
        >>> bool(argosy.allclose(dct.T @ dct, argosy.eye(4), atol=1e-5))
        True
    """
    check_choice("create_dct", "norm", norm, (None, "ortho"), ArgumentError)
    places = tensor.arange(n_mels, dtype="float64").unsqueeze(1) + 0.5
    orders = tensor.arange(n_mfcc, dtype="float64").unsqueeze(0)
    waves = 2.0 * tensor.cos(places * orders * (math.pi / n_mels))
    if norm == "ortho":
        scale = tensor.full([n_mfcc], math.sqrt(0.5 / n_mels), "float64")
        scale[0] = math.sqrt(0.25 / n_mels)
        waves = waves * scale
    return waves.astype(dtype)
