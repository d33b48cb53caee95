"""Layers and control flow of static Programs."""

from .common import embedding, fc
from .control_flow import case, cond, switch_case, while_loop

__all__ = ["case", "cond", "embedding", "fc", "switch_case", "while_loop"]
