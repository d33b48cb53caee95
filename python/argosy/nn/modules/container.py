"""LayerList and LayerDict under the names ModuleList and ModuleDict."""

from __future__ import annotations

from ..layer.container import LayerDict, LayerList

ModuleList = LayerList
ModuleDict = LayerDict
