#include <cmath>
#include <vector>

#include "argosy/op/define.h"
#include "argosy/ops/linalg/linalg.h"
#include "argosy/ops/manip/manip.h"
#include "argosy/ops/math/math.h"
#include "argosy/ops/norm/norm.h"
#include "argosy/ops/norm/parts.h"
#include "argosy/ops/reduce/reduce.h"

namespace argosy::ops {
namespace {

using op::InferContext;
using op::Inputs;
using op::KernelFrame;

// Of weight seen as a matrix [weight.dim(dim), rest]: the sizes that u and v must have.
void check_spectral(const char* op, const Inputs& in, const SpectralAttrs& a) {
  const Tensor& weight = in[0];
  ARGOSY_CHECK(weight.rank() >= 2, invalid_argument)
      << '[' << op << "] weight must have at least 2 dimensions, got " << weight
      << ". Do this: apply it to weights of matrices and convolutions.";
  const int d = normalize_axis(op, a.dim, weight.rank());
  const int64_t rows = weight.dim(d);
  const int64_t columns = weight.numel() < 0 || rows <= 0 ? kUnknown : weight.numel() / rows;
  check_parameter(op, "u", in[1], rows, weight.shape());
  check_parameter(op, "v", in[2], columns, weight.shape());
}

Tensor matrix_of(const Tensor& weight, int64_t dim) {
  const int d = normalize_axis("spectral_norm", dim, weight.rank());
  Tensor first = weight;
  if (d != 0) {
    std::vector<int64_t> perm{d};
    for (int i = 0; i < weight.rank(); ++i)
      if (i != d) perm.push_back(i);
    first = transpose(weight, perm);
  }
  return reshape(first, {0, -1});
}

void power_infer(InferContext& c, const SpectralAttrs& a) {
  check_spectral(c.name(), c.in, a);
  for (size_t i = 0; i < 2; ++i) c.out[i] = {c.in[i + 1].shape(), c.in[i + 1].dtype()};
}

void power_run(KernelFrame& f, const SpectralAttrs& a) {
  op::GradMode off(false);
  Tensor w = as_dtype(matrix_of(f.in[0].detach(), a.dim), DType::float64);
  Tensor u = Tensor::empty({w.dim(0)}, DType::float64),
         v = Tensor::empty({w.dim(1)}, DType::float64);
  op::copy_into(u, reshape(f.in[1].detach(), {-1}));
  op::copy_into(v, reshape(f.in[2].detach(), {-1}));
  const int64_t rows = w.dim(0), columns = w.dim(1);
  const double* m = w.data<double>();
  double *left = u.data<double>(), *right = v.data<double>();
  auto scale_to_one = [&](double* x, int64_t n) {
    double norm = 0;
    for (int64_t i = 0; i < n; ++i) norm += x[i] * x[i];
    norm = std::sqrt(norm) + a.eps;
    for (int64_t i = 0; i < n; ++i) x[i] /= norm;
  };
  for (int64_t step = 0; step < a.power_iters; ++step) {
    for (int64_t k = 0; k < columns; ++k) right[k] = 0;
    for (int64_t i = 0; i < rows; ++i)
      for (int64_t k = 0; k < columns; ++k) right[k] += m[i * columns + k] * left[i];
    scale_to_one(right, columns);
    for (int64_t i = 0; i < rows; ++i) {
      left[i] = 0;
      for (int64_t k = 0; k < columns; ++k) left[i] += m[i * columns + k] * right[k];
    }
    scale_to_one(left, rows);
  }
  op::copy_into(f.out[0].view(u.shape(), u.strides()), u);
  op::copy_into(f.out[1].view(v.shape(), v.strides()), v);
}

ARGOSY_OP(power_iteration, SpectralAttrs)
    .doc(
        "power_iters times v = W'u / (|W'u| + eps), u = Wv / (|Wv| + eps), W being weight with "
        "axis dim first and the others flattened. No gradient.")
    .input("weight", kFloating)
    .input("u", kFloating)
    .input("v", kFloating)
    .index_output("new_u")
    .index_output("new_v")
    .infer(power_infer)
    .kernel("loop", power_run)
    .done();

void spectral_infer(InferContext& c, const SpectralAttrs& a) {
  check_spectral(c.name(), c.in, a);
}

Tensors spectral_parts(const Inputs& in, const SpectralAttrs& a) {
  Tensors uv = power_iteration_op.all({in[0], in[1], in[2]}, a);
  Tensor u = reshape(uv[0], {-1, 1}), v = reshape(uv[1], {-1, 1});
  Tensor sigma = sum(multiply(u, matmul(matrix_of(in[0], a.dim), v)));
  return divide(in[0], sigma);
}

ARGOSY_OP(spectral_norm, SpectralAttrs)
    .doc(
        "weight over its largest singular value as power_iters power iterations from u and v find "
        "it; see power_iteration. u and v are not changed and get no gradient.")
    .shape("weight [*s], u [h], v [w] -> [*s]")
    .paper("1802.05957")
    .input("weight", kFloating)
    .input("u", kFloating)
    .input("v", kFloating)
    .output("out")
    .infer(spectral_infer)
    .compose(spectral_parts)
    .done();

}  // namespace
}  // namespace argosy::ops
