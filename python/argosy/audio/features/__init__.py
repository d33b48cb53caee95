"""Spectral features as layers."""

from argosy.audio.features.layers import (
    MFCC,
    LogMelSpectrogram,
    MelSpectrogram,
    Spectrogram,
)

__all__ = ["LogMelSpectrogram", "MFCC", "MelSpectrogram", "Spectrogram"]
