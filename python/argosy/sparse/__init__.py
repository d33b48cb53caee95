"""Sparse tensors and functions of them."""

from argosy.sparse import nn
from argosy.sparse.binary import (
    add,
    addmm,
    divide,
    mask_as,
    masked_matmul,
    matmul,
    multiply,
    mv,
    subtract,
)
from argosy.sparse.creation import sparse_coo_tensor, sparse_csr_tensor
from argosy.sparse.unary import (
    abs,
    asin,
    asinh,
    atan,
    atanh,
    cast,
    coalesce,
    deg2rad,
    expm1,
    is_same_shape,
    isnan,
    log1p,
    neg,
    pca_lowrank,
    pow,
    rad2deg,
    reshape,
    sin,
    sinh,
    slice,
    sqrt,
    square,
    sum,
    tan,
    tanh,
    transpose,
)

__all__ = [
    "abs", "add", "addmm", "asin", "asinh", "atan", "atanh", "cast", "coalesce", "deg2rad",
    "divide", "expm1", "is_same_shape", "isnan", "log1p", "mask_as", "masked_matmul", "matmul",
    "multiply", "mv", "neg", "nn", "pca_lowrank", "pow", "rad2deg", "reshape", "sin", "sinh",
    "slice", "sparse_coo_tensor", "sparse_csr_tensor", "sqrt", "square", "subtract", "sum", "tan",
    "tanh", "transpose",
]  # fmt: skip
