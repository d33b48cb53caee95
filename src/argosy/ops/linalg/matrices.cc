#include "argosy/ops/linalg/matrices.h"

#include <algorithm>

#include "argosy/op/define.h"

namespace argosy::ops {

Matrices matrices(const char* op, const Shape& xs, const Shape& ys, const MatmulAttrs& a) {
  ARGOSY_CHECK(xs.rank() > 0 && ys.rank() > 0, invalid_argument)
      << '[' << op << "] operands must have at least 1 dimension, got shapes " << xs << " and "
      << ys << ". Do this: use multiply for numbers.";
  Matrices s{xs, ys, 0, 0, 0, 0, {}, xs.rank() == 1, ys.rank() == 1};
  if (s.x_vector) s.x.insert(0, 1);
  if (s.y_vector) s.y.insert(1, 1);
  bool tx = a.transpose_x && !s.x_vector, ty = a.transpose_y && !s.y_vector;
  int rx = s.x.rank(), ry = s.y.rank();
  s.m = s.x[rx - (tx ? 1 : 2)];
  s.k = s.x[rx - (tx ? 2 : 1)];
  s.k_of_y = s.y[ry - (ty ? 1 : 2)];
  s.n = s.y[ry - (ty ? 2 : 1)];
  ARGOSY_CHECK(s.k == s.k_of_y || s.k < 0 || s.k_of_y < 0, invalid_argument)
      << '[' << op << "] inner sizes must be equal: x is " << xs << (tx ? " (transposed)" : "")
      << ", y is " << ys << (ty ? " (transposed)" : "") << ", so " << s.k << " meets " << s.k_of_y
      << ". Do this: transpose one of them.";
  Shape bx(std::span<const int64_t>(s.x.data(), static_cast<size_t>(rx - 2)));
  Shape by(std::span<const int64_t>(s.y.data(), static_cast<size_t>(ry - 2)));
  s.batch = broadcast(op, bx, by);
  return s;
}

Stored stored(const Tensor& t, const Shape& shape, const Shape& batch, bool transposed) {
  int r = shape.rank();
  Tensor v = t;
  if (t.rank() == 1) {
    // A vector as a row or a column: the new dimension has size 1, its stride is never used.
    const int64_t step = t.strides()[0];
    v = shape[0] == 1 ? t.view(shape, {t.dim(0) * step, step}) : t.view(shape, {step, 1});
  }
  auto row_major = [&](const Tensor& x) {
    return (x.dim(-1) <= 1 || x.strides()[r - 1] == 1) &&
           (x.dim(-2) <= 1 || x.strides()[r - 2] >= std::max<int64_t>(x.dim(-1), 1));
  };
  auto column_major = [&](const Tensor& x) {
    return (x.dim(-2) <= 1 || x.strides()[r - 2] == 1) &&
           (x.dim(-1) <= 1 || x.strides()[r - 1] >= std::max<int64_t>(x.dim(-2), 1));
  };
  Stored s{v, transposed, 0, {}};
  if (!row_major(v)) {
    if (column_major(v)) {
      s.transposed = !transposed;
    } else {
      s.tensor = op::contiguous(v);
    }
  }
  const Tensor& x = s.tensor;
  bool flipped = s.transposed != transposed;
  int64_t rows = flipped ? x.dim(-1) : x.dim(-2), row = flipped ? x.dim(-2) : x.dim(-1);
  int64_t step = x.strides()[flipped ? r - 1 : r - 2];
  s.ld = rows > 1 ? step : std::max<int64_t>(row, 1);
  int skip = batch.rank() - (r - 2);
  s.batch_strides = Shape::filled(batch.rank(), 0);
  for (int i = 0; i < r - 2; ++i) s.batch_strides[skip + i] = x.dim(i) == 1 ? 0 : x.strides()[i];
  return s;
}

bool is_usual_linear(const Shape& w, const Tensor& bias) {
  if (w.rank() != 2) return false;
  if (!bias.defined()) return true;
  return bias.rank() == 1 && (bias.dim(0) == w[1] || bias.dim(0) < 0 || w[1] < 0);
}

}  // namespace argosy::ops
