"""What one process needs of fleet."""

from . import utils
from .utils import recompute

__all__ = ["utils"]
