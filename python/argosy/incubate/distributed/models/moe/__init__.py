"""Mixtures of experts."""

from __future__ import annotations

from .gate import BaseGate, GShardGate, NaiveGate, SwitchGate  # noqa: F401
from .grad_clip import ClipGradForMOEByGlobalNorm
from .moe_layer import MoELayer  # noqa: F401

ClipGradByGlobalNorm = ClipGradForMOEByGlobalNorm
