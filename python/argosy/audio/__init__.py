"""Sound: spectral features as layers, their parts as functions, WAV files."""

from argosy.audio import backends, datasets, features, functional
from argosy.audio.backends.wave_backend import info, load, save

__all__ = ["backends", "datasets", "features", "functional", "info", "load", "save"]
