"""Functions whose parts Paddle computes at once."""

from argosy.nn.functional import swiglu

from .activation import fused_bias_act
from .attention import fused_multi_head_attention, variable_length_memory_efficient_attention
from .decoding import block_multihead_attention, masked_multihead_attention
from .feedforward import fused_feedforward
from .linear import fused_linear, fused_linear_activation, fused_matmul_bias
from .multi_transformer import fused_multi_transformer
from .norm import (
    fused_bias_dropout_residual_layer_norm,
    fused_dropout_add,
    fused_layer_norm,
    fused_rms_norm,
)
from .rotary import fused_rotary_position_embedding
from .rows import (
    blha_get_max_len,
    embedding_grad_add_to_,
    fast_ln,
    fast_rms_norm,
    fused_rms_norm_ext,
    int_bincount,
    moe_combine,
)

__all__ = [
    "blha_get_max_len",
    "block_multihead_attention",
    "embedding_grad_add_to_",
    "fast_ln",
    "fast_rms_norm",
    "fused_bias_act",
    "fused_bias_dropout_residual_layer_norm",
    "fused_dropout_add",
    "fused_feedforward",
    "fused_layer_norm",
    "fused_linear",
    "fused_linear_activation",
    "fused_matmul_bias",
    "fused_multi_head_attention",
    "fused_multi_transformer",
    "fused_rms_norm",
    "fused_rms_norm_ext",
    "fused_rotary_position_embedding",
    "int_bincount",
    "masked_multihead_attention",
    "moe_combine",
    "swiglu",
    "variable_length_memory_efficient_attention",
]
