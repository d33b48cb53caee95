"""Making parameters outside of a layer."""

from __future__ import annotations

from argosy.base import unique_name

__all__ = []


class LayerHelper:
    """Names and creates parameters for a function called ``layer_type``."""

    def __init__(self, layer_type, **kwargs):
        self.kwargs = kwargs
        self.layer_type = layer_type
        self.name = kwargs.get("name") or unique_name.generate(layer_type)

    def create_parameter(
        self, attr, shape, dtype=None, is_bias=False, default_initializer=None, **kwargs
    ):
        from argosy.nn.layer._helper import make_parameter

        return make_parameter(self.name, shape, attr, dtype, is_bias, default_initializer)
