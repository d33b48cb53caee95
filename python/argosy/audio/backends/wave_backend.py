"""WAV files with 16 bits a sample."""

from __future__ import annotations

import wave

from argosy import tensor
from argosy._support import ArgumentError


class AudioInfo:
    """What is known of a sound file without reading its samples."""

    def __init__(self, sample_rate, num_samples, num_channels, bits_per_sample, encoding):
        self.sample_rate = sample_rate
        self.num_samples = num_samples
        self.num_channels = num_channels
        self.bits_per_sample = bits_per_sample
        self.encoding = encoding


def _open(name, filepath):
    source = filepath if hasattr(filepath, "read") else str(filepath)
    try:
        file = wave.open(source)
    except (wave.Error, EOFError) as error:
        raise NotImplementedError(
            f"[audio.{name}] {filepath} cannot be read: expected a WAV file with 16 bits a sample;"
            f" {error}. Do this: convert it."
        ) from None
    if file.getsampwidth() != 2:
        bits = 8 * file.getsampwidth()
        file.close()
        raise NotImplementedError(
            f"[audio.{name}] {filepath} has {bits} bits a sample: expected 16. Do this: convert it."
        )
    return file


def info(filepath):
    """What is known of a WAV file without reading its samples.

    Args:
        filepath (str | Path | file): the file.

    Returns:
        AudioInfo: sample_rate, num_samples, num_channels, bits_per_sample and encoding.

    Raises:
        NotImplementedError: the file is no WAV file with 16 bits a sample.

    Examples:
        >>> import os, tempfile
        >>> path = os.path.join(tempfile.mkdtemp(), "a.wav")
        >>> argosy.audio.save(path, argosy.zeros([1, 160]), 16000)
        >>> about = argosy.audio.info(path)
        >>> about.sample_rate, about.num_samples, about.num_channels, about.bits_per_sample
        (16000, 160, 1, 16)
    """
    with _open("info", filepath) as file:
        return AudioInfo(file.getframerate(), file.getnframes(), file.getnchannels(), 16, "PCM_S")


def load(filepath, frame_offset=0, num_frames=-1, normalize=True, channels_first=True):
    """The samples of a WAV file.

    Args:
        filepath (str | Path | file): What to read.
        frame_offset (int): First frame to take.
        num_frames (int): How many; -1 for all that follow.
        normalize (bool): Samples in [-1, 1); else their 16-bit numbers.
        channels_first (bool): [channels, frames], else [frames, channels].

    Returns:
        (float32 Tensor [channels, frames] or [frames, channels], sample rate).

    Raises:
        NotImplementedError: the file is no WAV file with 16 bits a sample.

    Examples:
        >>> import os, tempfile
        >>> path = os.path.join(tempfile.mkdtemp(), "a.wav")
        >>> argosy.audio.save(path, argosy.to_tensor([[0.0, 0.5, -1.0]]), 16000)
        >>> samples, rate = argosy.audio.load(path)
        >>> samples.tolist(), rate
        ([[0.0, 0.5, -1.0]], 16000)
    """
    import numpy as np

    with _open("load", filepath) as file:
        channels, rate = file.getnchannels(), file.getframerate()
        frames = np.frombuffer(file.readframes(file.getnframes()), "<i2").reshape(-1, channels)
    end = None if num_frames == -1 else frame_offset + num_frames
    samples = tensor.to_tensor(frames[frame_offset:end].astype("float32"))
    if normalize:
        samples = samples / float(1 << 15)
    return (samples.t() if channels_first else samples), rate


def save(filepath, src, sample_rate, channels_first=True, encoding=None, bits_per_sample=16):
    """Writes a WAV file with 16 bits a sample.

    Args:
        filepath (str | Path | file): Where to.
        src (Tensor): Samples: int16 numbers, or floats in [-1, 1), beyond which they are cut off.
        sample_rate (int): In Hz.
        channels_first (bool): src is [channels, frames], else [frames, channels].
        encoding (str, optional): 'PCM_16' is the only one there is.
        bits_per_sample (int): 16.

    Raises:
        ValueError: another number of bits, another encoding, or ``src`` has not 2 dimensions.

    Examples:
        >>> import io
        >>> file = io.BytesIO()
        >>> argosy.audio.save(file, argosy.zeros([2, 8]), 8000)
        >>> len(file.getvalue())
        76
    """
    if encoding not in (None, "PCM_16"):
        raise ValueError(
            f"[audio.save] encoding: expected 'PCM_16', got {encoding!r}. Do this: leave it out."
        )
    if src.ndim != 2:
        raise ArgumentError(
            f"[audio.save] src: expected 2 dimensions, got shape {list(src.shape)}. Do this: add one"
            " for the channels with unsqueeze(0)."
        )
    if bits_per_sample not in (None, 16):
        raise ValueError(
            f"[audio.save] bits_per_sample: expected 16, got {bits_per_sample}. Do this: pass 16."
        )
    frames = src.t() if channels_first else src
    if frames.dtype == "int16":
        whole = frames
    else:
        whole = tensor.clip(frames.astype("float32") * float(1 << 15), -32768.0, 32767.0)
    with wave.open(filepath if hasattr(filepath, "write") else str(filepath), "wb") as file:
        file.setnchannels(frames.shape[1])
        file.setsampwidth(2)
        file.setframerate(sample_rate)
        file.writeframes(whole.astype("int16").numpy().astype("<i2").tobytes())
