"""Windows for spectra."""

from argosy.tensor.spectral_windows import get_window

__all__ = ["get_window"]
