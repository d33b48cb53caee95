"""Paddle's name of the module of functions over sequences."""

from .sequence import *  # noqa: F403
from .sequence import __all__  # noqa: F401
