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
    """Frequencies in Hz on the mel scale: a number for a number, a Tensor for a Tensor.

    htk: the formula 2595 log10(1 + f / 700); else Slaney's scale, which is linear up to 1 kHz.
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
    """The inverse of :func:`hz_to_mel`."""
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
    """n_mels frequencies in Hz from f_min to f_max, equally far apart in mel."""
    mels = tensor.linspace(hz_to_mel(f_min, htk), hz_to_mel(f_max, htk), n_mels, dtype)
    return mel_to_hz(mels, htk)


def fft_frequencies(sr, n_fft, dtype="float32"):
    """The frequencies in Hz of a real FFT of n_fft points at sample rate sr: [n_fft // 2 + 1]."""
    return tensor.linspace(0, sr / 2.0, 1 + n_fft // 2, dtype)


def compute_fbank_matrix(
    sr, n_fft, n_mels=64, f_min=0.0, f_max=None, htk=False, norm="slaney", dtype="float32"
):
    """Triangular filters, equally wide in mel, over the bins of an FFT: [n_mels, n_fft // 2 + 1].

    f_max: half the sample rate if None. norm: 'slaney' gives each filter the area 1 in Hz, a number
    p each row the p-norm 1, None peaks of 1.
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
    """10 log10(spect / ref_value), with powers below amin taken as amin.

    top_db: values further than this below the largest are raised to there; None for no limit.
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
    """The matrix [n_mels, n_mfcc] of the cosine transform (DCT-II); norm: 'ortho' or None."""
    check_choice("create_dct", "norm", norm, (None, "ortho"), ArgumentError)
    places = tensor.arange(n_mels, dtype="float64").unsqueeze(1) + 0.5
    orders = tensor.arange(n_mfcc, dtype="float64").unsqueeze(0)
    waves = 2.0 * tensor.cos(places * orders * (math.pi / n_mels))
    if norm == "ortho":
        scale = tensor.full([n_mfcc], math.sqrt(0.5 / n_mels), "float64")
        scale[0] = math.sqrt(0.25 / n_mels)
        waves = waves * scale
    return waves.astype(dtype)
