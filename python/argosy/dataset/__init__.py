"""Old address of helpers for data sets; the data sets are in `text` and `vision.datasets`."""

from . import common

__all__ = ["common"]
