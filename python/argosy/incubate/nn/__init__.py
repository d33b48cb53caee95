"""Layers whose parts Paddle computes at once. Here they are compositions of the same ops."""

from . import functional
from .layer.fused_dropout_add import (
    FusedBiasDropoutResidualLayerNorm,
    FusedDropout,
    FusedDropoutAdd,
)
from .layer.fused_linear import FusedLinear
from .layer.fused_multi_transformer import FusedMultiTransformer
from .layer.fused_transformer import (
    FusedFeedForward,
    FusedMultiHeadAttention,
    FusedTransformerEncoderLayer,
)

__all__ = [
    "FusedBiasDropoutResidualLayerNorm",
    "FusedDropout",
    "FusedDropoutAdd",
    "FusedFeedForward",
    "FusedLinear",
    "FusedMultiHeadAttention",
    "FusedMultiTransformer",
    "FusedTransformerEncoderLayer",
]
