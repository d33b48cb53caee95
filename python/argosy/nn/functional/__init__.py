"""Functions of neural networks: those generated from op definitions, and wrappers."""

from __future__ import annotations

from argosy._generated import nn_functional as _generated
from argosy._generated.nn_functional import *  # noqa: F403
from argosy._generated.tensor import tanh_

from . import flash_attention
from .activation import (
    gelu,
    gumbel_softmax,
    rrelu,
    silu,
)
from .common import (
    alpha_dropout,
    class_center_sample,
    dropout,
    dropout1d,
    dropout2d,
    dropout3d,
    feature_alpha_dropout,
    fold,
    interpolate,
    pad,
    unfold,
    upsample,
    zeropad2d,
)
from .conv import (
    conv1d,
    conv1d_transpose,
    conv2d,
    conv2d_transpose,
    conv3d,
    conv3d_transpose,
)
from .distance import (
    pairwise_distance,
    pdist,
)
from .extension import (
    diag_embed,
    sequence_mask,
)
from .flash_attention import (
    flash_attn_qkvpacked,
    flash_attn_varlen_qkvpacked,
    scaled_dot_product_attention,
    sdp_kernel,
)
from .input import (
    embedding,
    embedding_renorm_,
    one_hot,
)
from .loss import (
    adaptive_log_softmax_with_loss,
    cross_entropy,
    ctc_loss,
    hsigmoid_loss,
    margin_cross_entropy,
    rnnt_loss,
    softmax_with_cross_entropy,
    triplet_margin_with_distance_loss,
)
from .norm import (
    batch_norm,
    group_norm,
    instance_norm,
    layer_norm,
    local_response_norm,
    normalize,
    rms_norm,
)
from .pooling import (
    adaptive_avg_pool1d,
    adaptive_avg_pool2d,
    adaptive_avg_pool3d,
    adaptive_max_pool1d,
    adaptive_max_pool2d,
    adaptive_max_pool3d,
    avg_pool1d,
    avg_pool2d,
    avg_pool3d,
    fractional_max_pool2d,
    fractional_max_pool3d,
    lp_pool1d,
    lp_pool2d,
    max_pool1d,
    max_pool2d,
    max_pool3d,
    max_unpool1d,
    max_unpool2d,
    max_unpool3d,
)
from .vision import (
    affine_grid,
    grid_sample,
)

_WRITTEN = [
    "adaptive_avg_pool1d",
    "adaptive_avg_pool2d",
    "adaptive_avg_pool3d",
    "adaptive_log_softmax_with_loss",
    "adaptive_max_pool1d",
    "adaptive_max_pool2d",
    "adaptive_max_pool3d",
    "affine_grid",
    "alpha_dropout",
    "avg_pool1d",
    "avg_pool2d",
    "avg_pool3d",
    "batch_norm",
    "class_center_sample",
    "conv1d",
    "conv1d_transpose",
    "conv2d",
    "conv2d_transpose",
    "conv3d",
    "conv3d_transpose",
    "cross_entropy",
    "ctc_loss",
    "diag_embed",
    "dropout",
    "dropout1d",
    "dropout2d",
    "dropout3d",
    "embedding",
    "embedding_renorm_",
    "feature_alpha_dropout",
    "flash_attn_qkvpacked",
    "flash_attn_varlen_qkvpacked",
    "fold",
    "fractional_max_pool2d",
    "fractional_max_pool3d",
    "gelu",
    "grid_sample",
    "group_norm",
    "gumbel_softmax",
    "hsigmoid_loss",
    "instance_norm",
    "interpolate",
    "layer_norm",
    "local_response_norm",
    "lp_pool1d",
    "lp_pool2d",
    "margin_cross_entropy",
    "max_pool1d",
    "max_pool2d",
    "max_pool3d",
    "max_unpool1d",
    "max_unpool2d",
    "max_unpool3d",
    "normalize",
    "one_hot",
    "pad",
    "pairwise_distance",
    "pdist",
    "rms_norm",
    "rnnt_loss",
    "rrelu",
    "scaled_dot_product_attention",
    "sdp_kernel",
    "sequence_mask",
    "silu",
    "softmax_with_cross_entropy",
    "tanh_",
    "triplet_margin_with_distance_loss",
    "unfold",
    "upsample",
    "zeropad2d",
]

__all__ = sorted({*_generated.__all__, *_WRITTEN})
