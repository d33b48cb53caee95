"""Data sets of sounds, read from files that are there."""

from .dataset import AudioClassificationDataset
from .esc50 import ESC50
from .tess import TESS

__all__ = ["ESC50", "TESS"]
