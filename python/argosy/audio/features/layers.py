"""Spectral features as layers: each takes waveforms [batch, samples]."""

from __future__ import annotations

from argosy import nn, signal, tensor
from argosy._support import ArgumentError

from ..functional import compute_fbank_matrix, create_dct, get_window, power_to_db


class Spectrogram(nn.Layer):
    """Magnitudes of the short-time Fourier transform.

    Args:
        n_fft (int): Points of each transform.
        hop_length (int, optional): Samples from one to the next; a quarter of n_fft if None.
        win_length (int, optional): Points of the window; n_fft if None.
        window (str | tuple): See :func:`argosy.audio.functional.get_window`.
        power (float): Exponent of the magnitudes: 1 for amplitude, 2 for power.
        center (bool): Whether frames are centred on their place; the signal is then padded.
        pad_mode (str): How, as in ``nn.functional.pad``.
        dtype (str): Of the window.

    Shape: waveforms [batch, samples] to [batch, n_fft // 2 + 1, frames].

    Raises:
        ValueError: ``power`` is not positive.

    Examples:
        >>> argosy.audio.features.Spectrogram(n_fft=64, hop_length=16)(argosy.ones([2, 256])).shape
        paddle.Size([2, 33, 17])
    """

    def __init__(
        self,
        n_fft=512,
        hop_length=512,
        win_length=None,
        window="hann",
        power=1.0,
        center=True,
        pad_mode="reflect",
        dtype="float32",
    ):
        super().__init__()
        if power <= 0:
            raise ArgumentError(
                f"[Spectrogram] power must be positive, got {power}. Do this: pass 1 or 2."
            )
        self.power = power
        self.n_fft = n_fft
        self.win_length = n_fft if win_length is None else win_length
        self.hop_length = n_fft // 4 if hop_length is None else hop_length
        self.center = center
        self.pad_mode = pad_mode
        made = get_window(window, self.win_length, fftbins=True, dtype=dtype)
        self.register_buffer("fft_window", made)

    def forward(self, x):
        spectrum = signal.stft(
            x,
            n_fft=self.n_fft,
            hop_length=self.hop_length,
            win_length=self.win_length,
            window=self.fft_window,
            center=self.center,
            pad_mode=self.pad_mode,
        )
        return tensor.pow(tensor.abs(spectrum), self.power)


class MelSpectrogram(nn.Layer):
    """The spectrogram in bands that are equally wide in mel.

    Args:
        sr (int): Sample rate in Hz.
        n_fft (int): Points of each transform.
        hop_length (int, optional): Samples from one to the next; a quarter of n_fft if None.
        win_length (int, optional): Points of the window; n_fft if None.
        window (str | tuple): See :func:`argosy.audio.functional.get_window`.
        power (float): Exponent of the magnitudes: 1 for amplitude, 2 for power.
        center (bool): Whether frames are centred on their place; the signal is then padded.
        pad_mode (str): How, as in ``nn.functional.pad``.
        n_mels (int): Number of bands.
        f_min, f_max (float): Where they begin and end, in Hz; f_max is half of sr if None.
        htk, norm: See :func:`argosy.audio.functional.compute_fbank_matrix`.
        dtype (str): Of the window and the matrices.

    Shape: waveforms [batch, samples] to [batch, n_mels, frames].

    Examples:
        >>> layer = argosy.audio.features.MelSpectrogram(8000, n_fft=64, hop_length=16, n_mels=8)
        >>> layer(argosy.ones([2, 256])).shape
        paddle.Size([2, 8, 17])
    """

    def __init__(
        self,
        sr=22050,
        n_fft=2048,
        hop_length=512,
        win_length=None,
        window="hann",
        power=2.0,
        center=True,
        pad_mode="reflect",
        n_mels=64,
        f_min=50.0,
        f_max=None,
        htk=False,
        norm="slaney",
        dtype="float32",
    ):
        super().__init__()
        self._spectrogram = Spectrogram(
            n_fft, hop_length, win_length, window, power, center, pad_mode, dtype
        )
        self.n_mels = n_mels
        self.f_min = f_min
        self.f_max = sr // 2 if f_max is None else f_max
        self.htk = htk
        self.norm = norm
        bank = compute_fbank_matrix(sr, n_fft, n_mels, f_min, self.f_max, htk, norm, dtype)
        self.register_buffer("fbank_matrix", bank)

    def forward(self, x):
        return tensor.matmul(self.fbank_matrix, self._spectrogram(x))


class LogMelSpectrogram(nn.Layer):
    """The mel spectrogram in decibels.

    Args:
        sr (int): Sample rate in Hz.
        n_fft (int): Points of each transform.
        hop_length (int, optional): Samples from one to the next; a quarter of n_fft if None.
        win_length (int, optional): Points of the window; n_fft if None.
        window (str | tuple): See :func:`argosy.audio.functional.get_window`.
        power (float): Exponent of the magnitudes: 1 for amplitude, 2 for power.
        center (bool): Whether frames are centred on their place; the signal is then padded.
        pad_mode (str): How, as in ``nn.functional.pad``.
        n_mels (int): Number of bands.
        f_min, f_max (float): Where they begin and end, in Hz; f_max is half of sr if None.
        htk, norm: See :func:`argosy.audio.functional.compute_fbank_matrix`.
        ref_value, amin, top_db (float): See :func:`argosy.audio.functional.power_to_db`.
        dtype (str): Of the window and the matrices.

    Shape: waveforms [batch, samples] to [batch, n_mels, frames].

    Examples:
        >>> layer = argosy.audio.features.LogMelSpectrogram(8000, n_fft=64, hop_length=16, n_mels=8)
        >>> layer(argosy.ones([2, 256])).shape
        paddle.Size([2, 8, 17])
    """

    def __init__(
        self,
        sr=22050,
        n_fft=512,
        hop_length=None,
        win_length=None,
        window="hann",
        power=2.0,
        center=True,
        pad_mode="reflect",
        n_mels=64,
        f_min=50.0,
        f_max=None,
        htk=False,
        norm="slaney",
        ref_value=1.0,
        amin=1e-10,
        top_db=None,
        dtype="float32",
    ):
        super().__init__()
        self._melspectrogram = MelSpectrogram(
            sr, n_fft, hop_length, win_length, window, power, center, pad_mode, n_mels, f_min,
            f_max, htk, norm, dtype,
        )  # fmt: skip
        self.ref_value = ref_value
        self.amin = amin
        self.top_db = top_db

    def forward(self, x):
        return power_to_db(self._melspectrogram(x), self.ref_value, self.amin, self.top_db)


class MFCC(nn.Layer):
    """Mel-frequency cepstral coefficients: the cosine transform of the log mel spectrogram.

    Args:
        sr (int): Sample rate in Hz.
        n_mfcc (int): Number of coefficients, at most n_mels.
        n_fft (int): Points of each transform.
        hop_length (int, optional): Samples from one to the next; a quarter of n_fft if None.
        win_length (int, optional): Points of the window; n_fft if None.
        window (str | tuple): See :func:`argosy.audio.functional.get_window`.
        power (float): Exponent of the magnitudes: 1 for amplitude, 2 for power.
        center (bool): Whether frames are centred on their place; the signal is then padded.
        pad_mode (str): How, as in ``nn.functional.pad``.
        n_mels (int): Number of bands.
        f_min, f_max (float): Where they begin and end, in Hz; f_max is half of sr if None.
        htk, norm: See :func:`argosy.audio.functional.compute_fbank_matrix`.
        ref_value, amin, top_db (float): See :func:`argosy.audio.functional.power_to_db`.
        dtype (str): Of the window and the matrices.

    Shape: waveforms [batch, samples] to [batch, n_mfcc, frames].

    Raises:
        ValueError: ``n_mfcc`` exceeds ``n_mels``.

    Examples:
        >>> layer = argosy.audio.features.MFCC(8000, n_mfcc=4, n_fft=64, hop_length=16, n_mels=8)
        >>> layer(argosy.ones([2, 256])).shape
        paddle.Size([2, 4, 17])
    """

    def __init__(
        self,
        sr=22050,
        n_mfcc=40,
        n_fft=512,
        hop_length=None,
        win_length=None,
        window="hann",
        power=2.0,
        center=True,
        pad_mode="reflect",
        n_mels=64,
        f_min=50.0,
        f_max=None,
        htk=False,
        norm="slaney",
        ref_value=1.0,
        amin=1e-10,
        top_db=None,
        dtype="float32",
    ):
        super().__init__()
        if n_mfcc > n_mels:
            raise ArgumentError(
                f"[MFCC] n_mfcc cannot be larger than n_mels: got {n_mfcc} and {n_mels}. Do this:"
                " take more bands."
            )
        self._log_melspectrogram = LogMelSpectrogram(
            sr, n_fft, hop_length, win_length, window, power, center, pad_mode, n_mels, f_min,
            f_max, htk, norm, ref_value, amin, top_db, dtype,
        )  # fmt: skip
        self.register_buffer("dct_matrix", create_dct(n_mfcc, n_mels, dtype=dtype))

    def forward(self, x):
        return tensor.matmul(self.dct_matrix, self._log_melspectrogram(x), transpose_x=True)
