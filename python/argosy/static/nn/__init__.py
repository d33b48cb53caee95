"""Layers and control flow of static Programs."""

from . import sequence_lod
from .call import py_func, static_pylayer
from .common import embedding, fc, sparse_embedding
from .control_flow import Assert, Print, case, cond, switch_case, while_loop
from .ctr import continuous_value_model, data_norm
from .layers import (
    batch_norm,
    bilinear_tensor_product,
    conv2d,
    conv2d_transpose,
    conv3d,
    conv3d_transpose,
    deform_conv2d,
    group_norm,
    instance_norm,
    layer_norm,
    nce,
    prelu,
    row_conv,
    spectral_norm,
)
from .sequence import (
    sequence_conv,
    sequence_expand,
    sequence_first_step,
    sequence_last_step,
    sequence_pool,
    sequence_softmax,
)

__all__ = [
    "Assert",
    "Print",
    "batch_norm",
    "bilinear_tensor_product",
    "case",
    "cond",
    "continuous_value_model",
    "conv2d",
    "conv2d_transpose",
    "conv3d",
    "conv3d_transpose",
    "data_norm",
    "deform_conv2d",
    "embedding",
    "fc",
    "group_norm",
    "instance_norm",
    "layer_norm",
    "nce",
    "prelu",
    "py_func",
    "row_conv",
    "sequence_conv",
    "sequence_expand",
    "sequence_first_step",
    "sequence_last_step",
    "sequence_pool",
    "sequence_softmax",
    "sparse_embedding",
    "spectral_norm",
    "static_pylayer",
    "switch_case",
    "while_loop",
]
