"""Linear algebra."""

from argosy import tensor as _tensor

# Every public function of the tensor API that belongs here and exists.
_NAMES = (
    "bmm cholesky cholesky_inverse cholesky_solve cond corrcoef cov cross det diagonal dot eig eigh"
    " eigvals eigvalsh householder_product inv lstsq lu lu_solve lu_unpack matmul matrix_exp"
    " matrix_norm matrix_power matrix_rank matrix_transpose mm multi_dot mv norm ormqr pca_lowrank"
    " pinv qr slogdet solve svd svd_lowrank svdvals t transpose triangular_solve vecdot vector_norm"
).split()
__all__ = [name for name in _NAMES if hasattr(_tensor, name)]
globals().update({name: getattr(_tensor, name) for name in __all__})
