#pragma once

#include "argosy/op/attrs.h"

// Products of matrices and vectors, and decompositions.
namespace argosy::ops {

struct MatmulAttrs {
  bool transpose_x = false;
  bool transpose_y = false;
};
ARGOSY_ATTRS(MatmulAttrs, transpose_x, transpose_y)

struct GatedAttrs {
  bool transpose_y = false;
  double factor = 1;
};
ARGOSY_ATTRS(GatedAttrs, transpose_y, factor)

struct UpperAttrs {
  bool upper = false;
};
ARGOSY_ATTRS(UpperAttrs, upper)

struct TriangularAttrs {
  bool upper = true;
  bool transpose = false;
  bool unitriangular = false;
};
ARGOSY_ATTRS(TriangularAttrs, upper, transpose, unitriangular)

struct InverseAttrs {
  bool check = true;  // raise for singular matrices, else leave them unspecified
};
ARGOSY_ATTRS(InverseAttrs, check)

struct LstsqAttrs {
  double rcond = -1;
  std::string driver = "gelsy";
};
ARGOSY_ATTRS(LstsqAttrs, rcond, driver)

struct QrAttrs {
  bool complete = false;
};
ARGOSY_ATTRS(QrAttrs, complete)

struct SvdAttrs {
  bool full_matrices = false;
};
ARGOSY_ATTRS(SvdAttrs, full_matrices)

struct EighAttrs {
  std::string UPLO = "L";
};
ARGOSY_ATTRS(EighAttrs, UPLO)

struct AddProductAttrs {
  double beta = 1;
  double alpha = 1;
};
ARGOSY_ATTRS(AddProductAttrs, beta, alpha)

struct PNormAttrs {
  double p = 2;
  op::IntArray axis = op::IntArray::all();
  bool keepdim = false;
};
ARGOSY_ATTRS(PNormAttrs, p, axis, keepdim)

struct HistogramAttrs {
  int64_t bins = 100;
  double min = 0;
  double max = 0;
  bool density = false;
};
ARGOSY_ATTRS(HistogramAttrs, bins, min, max, density)

struct BincountAttrs {
  int64_t minlength = 0;
};
ARGOSY_ATTRS(BincountAttrs, minlength)

struct CrossAttrs {
  int64_t axis = 9;
};
ARGOSY_ATTRS(CrossAttrs, axis)

// The axis that cross takes, from 0; checks the shapes.
ARGOSY_API int64_t cross_axis(const Shape& x, const Shape& y, int64_t axis);

// NumPy's matmul; the flags transpose the last two dimensions first. Dtypes promote.
ARGOSY_API Tensor matmul(const Tensor& x, const Tensor& y, bool transpose_x = false,
                         bool transpose_y = false);
// x [.., in] times weight [in, out] plus bias [out] (may be undefined).
ARGOSY_API Tensor linear(const Tensor& x, const Tensor& weight, const Tensor& bias);
// (sum of |x|^p)^(1/p) over axis; p may be 0 and +-inf. The gradient is 0 where the norm is.
ARGOSY_API Tensor p_norm(const Tensor& x, double p, const op::IntArray& axis = op::IntArray::all(),
                         bool keepdim = false);
// z with x z = y (transpose: x^T z = y), x triangular.
ARGOSY_API Tensor triangular_solve(const Tensor& x, const Tensor& y, bool upper,
                                   bool transpose = false, bool unit = false);
ARGOSY_API Tensor solve(const Tensor& x, const Tensor& y);  // z with x z = y

}  // namespace argosy::ops
