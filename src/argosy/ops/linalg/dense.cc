#include "argosy/ops/linalg/dense.h"

#include <algorithm>
#include <utility>

namespace argosy::ops {

void check_matrix(const char* op, const char* name, const Shape& x) {
  ARGOSY_CHECK(x.rank() >= 2, invalid_argument)
      << '[' << op << "] " << name << " must be a matrix [m, n] or a stack of them, got shape " << x
      << ". Do this: reshape it.";
}

void check_square(const char* op, const char* name, const Shape& x) {
  check_matrix(op, name, x);
  const int64_t m = x[x.rank() - 2], n = x[x.rank() - 1];
  ARGOSY_CHECK(m == n || m < 0 || n < 0, invalid_argument)
      << '[' << op << "] " << name << " must be square, got shape " << x
      << ". Do this: use pinv or lstsq for other matrices.";
}

Shape leading(const Shape& x, int count) {
  return Shape(std::span<const int64_t>(x.data(), static_cast<size_t>(x.rank() - count)));
}

int64_t smaller(int64_t m, int64_t n) {
  return m < 0 || n < 0 ? kUnknown : std::min(m, n);
}

int64_t matrix_count(const Tensor& x) {
  return leading(x.shape(), 2).numel();
}

void check_info(const char* op, const std::vector<int32_t>& info, const char* what) {
  for (size_t i = 0; i < info.size(); ++i)
    ARGOSY_CHECK(info[i] == 0, invalid_argument)
        << '[' << op << "] matrix " << i << ' ' << what << " (at " << info[i]
        << "). Do this: add a small multiple of the identity, or use pinv or lstsq.";
}

Tensor transposed(const Tensor& x) {
  std::vector<int64_t> perm;
  for (int i = 0; i < x.rank(); ++i) perm.push_back(i);
  std::swap(perm[perm.size() - 1], perm[perm.size() - 2]);
  return transpose(x, perm);
}

Tensor adjoint(const Tensor& x) {
  return conj_if_complex(transposed(x));
}

Tensor times_rows(const Tensor& x, const Tensor& d) {
  return multiply(x, unsqueeze(d, {-1}));
}
Tensor times_columns(const Tensor& x, const Tensor& d) {
  return multiply(x, unsqueeze(d, {-2}));
}

Tensor of_dtype(const Tensor& x, DType dtype) {
  return x.dtype() == dtype ? x : cast(x, dtype);
}

Tensor gaps(const Tensor& d) {
  return add(subtract(unsqueeze(d, {-2}), unsqueeze(d, {-1})), diag_embed(ones_like(d)));
}

}  // namespace argosy::ops
