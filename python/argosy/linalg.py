"""Linear algebra."""

from argosy import tensor as _tensor
from argosy._core import ops as _ops
from argosy._support import check_choice as _check_choice

# Every public function of the tensor API that belongs here and exists.
_NAMES = (
    "bmm cholesky cholesky_inverse cholesky_solve cond corrcoef cov cross det diagonal dot eig eigh"
    " eigvals eigvalsh householder_product inv lstsq lu lu_solve lu_unpack matmul matrix_exp"
    " matrix_norm matrix_power matrix_rank matrix_transpose mm multi_dot mv norm ormqr pca_lowrank"
    " pinv qr slogdet solve svd svd_lowrank svdvals t transpose triangular_solve vecdot vector_norm"
).split()
__all__ = [name for name in _NAMES if hasattr(_tensor, name)]
globals().update({name: getattr(_tensor, name) for name in __all__})


def fp8_fp8_half_gemm_fused(
    x,
    y,
    transpose_x=False,
    transpose_y=False,
    bias=None,
    scale=1.0,
    output_dtype="float16",
    act="identity",
    name=None,
):
    """act(scale * x @ y + bias) of operands of 8 bits, computed in float32 and rounded once.

    Args:
        x (Tensor): [.., m, k], float8_e4m3fn or float8_e5m2.
        y (Tensor): [.., k, n], the same.
        transpose_x, transpose_y (bool): whether the last two dimensions of an operand are swapped.
        bias (Tensor, optional): [n].
        scale (float): the product is multiplied by.
        output_dtype (str): 'float16' or 'bfloat16'.
        act (str): 'identity', 'relu' or 'gelu'.

    Returns:
        Tensor: [.., m, n] of output_dtype.

    Raises:
        TypeError: an operand is not of 8 bits.
        ValueError: another output_dtype or act.

    Example:
        >>> x = argosy.ones([2, 16]).astype("float8_e4m3fn")
        >>> argosy.linalg.fp8_fp8_half_gemm_fused(x, x, transpose_y=True, scale=0.5).tolist()
        [[8.0, 8.0], [8.0, 8.0]]
    """
    op = "fp8_fp8_half_gemm_fused"
    _check_choice(op, "output_dtype", output_dtype, ("float16", "bfloat16"))
    _check_choice(op, "act", act, ("identity", "relu", "gelu"))
    for operand, value in (("x", x), ("y", y)):
        if not value.dtype.name.lower().startswith("float8"):
            raise TypeError(
                f"(InvalidType) [{op}] {operand}: expected float8_e4m3fn or float8_e5m2, got"
                f" {value.dtype.name.lower()}. Do this: cast it, or use matmul."
            )
    wide = [value.astype("float32") for value in (x, y)]
    out = _tensor.matmul(*wide, transpose_x=transpose_x, transpose_y=transpose_y) * scale
    if bias is not None:
        out = out + bias.astype("float32")
    if act != "identity":
        out = getattr(_ops, act)(out)
    return out.astype(output_dtype)


__all__.append("fp8_fp8_half_gemm_fused")
