"""Collectives at the address that old programs have for them."""

from .communication import *  # noqa: F403
