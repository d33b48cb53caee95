"""Layer under the name Module."""

from __future__ import annotations

from ..layer.layers import Layer

Module = Layer
