#include <algorithm>
#include <cmath>
#include <cstring>

#include "argosy/kernels/cpu/linalg.h"
#include "argosy/op/define.h"
#include "argosy/ops/common/common.h"
#include "argosy/ops/norm/parts.h"

// Initial values of weights.
namespace argosy::ops {
namespace {

using op::InferContext;
using op::KernelFrame;

struct DiracAttrs {
  op::IntArray shape;
  int64_t groups = 1;
  DType dtype = DType::float32;
};
ARGOSY_ATTRS(DiracAttrs, shape, groups, dtype)

void dirac_infer(InferContext& c, const DiracAttrs& a) {
  ARGOSY_CHECK(3 <= a.shape.size() && a.shape.size() <= 5, invalid_argument)
      << "[dirac_fill] the weight must have 3, 4 or 5 dimensions, got " << a.shape.size() << '.';
  ARGOSY_CHECK(a.groups > 0 && (a.shape[0] < 0 || a.shape[0] % a.groups == 0), invalid_argument)
      << "[dirac_fill] groups must divide the first size: groups is " << a.groups << ", shape is "
      << Shape(a.shape.values) << '.';
  for (const int64_t size : a.shape.values)
    ARGOSY_CHECK(size >= 0 || !a.shape.symbols.empty(), invalid_argument)
        << "[dirac_fill] sizes must be 0 or more, got " << Shape(a.shape.values) << '.';
  c.out[0] = {Shape(a.shape.values), a.dtype};
}

void dirac_run(KernelFrame& f, const DiracAttrs& a) {
  const Tensor& out = f.out[0];
  if (out.numel() == 0) return;
  std::memset(out.raw(), 0, out.nbytes());
  const int64_t each = out.dim(0) / a.groups, kept = std::min(each, out.dim(1));
  int64_t middle = 0;
  for (int i = 2; i < out.rank(); ++i) middle = middle * out.dim(i) + out.dim(i) / 2;
  dispatch_floating(a.dtype, [&]<class T>(T) {
    for (int64_t g = 0; g < a.groups; ++g)
      for (int64_t k = 0; k < kept; ++k)
        out.data<T>()[(g * each + k) * out.strides()[0] + k * out.strides()[1] + middle] = T(1);
  });
}

ARGOSY_OP(dirac_fill, DiracAttrs)
    .doc("A convolution weight that passes as many channels on unchanged as it can, per group.")
    .output("out")
    .infer(dirac_infer)
    .kernel("fill", dirac_run)
    .done();

struct BilinearAttrs {
  op::IntArray shape;
  DType dtype = DType::float32;
};
ARGOSY_ATTRS(BilinearAttrs, shape, dtype)

void bilinear_fill_infer(InferContext& c, const BilinearAttrs& a) {
  ARGOSY_CHECK(a.shape.size() == 4 && a.shape[2] == a.shape[3], invalid_argument)
      << "[bilinear_fill] the weight must be [out, in, k, k], got " << Shape(a.shape.values) << '.';
  c.out[0] = {Shape(a.shape.values), a.dtype};
}

void bilinear_fill_run(KernelFrame& f, const BilinearAttrs& a) {
  const Tensor& out = f.out[0];
  const auto k = static_cast<double>(out.dim(3));
  const double half = std::ceil(k / 2), center = (2 * half - 1 - std::fmod(half, 2)) / (2 * half);
  dispatch_floating(a.dtype, [&]<class T>(T) {
    for (int64_t i = 0; i < out.numel(); ++i) {
      // y keeps its fraction: such are the values of the framework that programs come from.
      const double x = std::fmod(static_cast<double>(i), k);
      const double y = std::fmod(static_cast<double>(i) / k, k);
      out.data<T>()[i] = T(static_cast<float>((1 - std::abs(x / half - center)) *
                                              (1 - std::abs(y / half - center))));
    }
  });
}

ARGOSY_OP(bilinear_fill, BilinearAttrs)
    .doc("A transposed convolution's weight that enlarges by bilinear interpolation.")
    .output("out")
    .infer(bilinear_fill_infer)
    .kernel("fill", bilinear_fill_run)
    .done();

struct GainAttrs {
  double gain = 1;
};
ARGOSY_ATTRS(GainAttrs, gain)

void orthogonalize_infer(InferContext& c, const GainAttrs&) {
  const Tensor& x = c.in[0];
  ARGOSY_CHECK(x.rank() == 2 && x.dim(0) >= x.dim(1), invalid_argument)
      << "[orthogonalize] expected [m, n] with m >= n, got " << x << '.';
}

void orthogonalize_run(KernelFrame& f, const GainAttrs& a) {
  const Tensor &x = f.in[0], &out = f.out[0];
  const int64_t m = x.dim(0), n = x.dim(1);
  if (x.numel() == 0) return;
  const DType wide = statistics_dtype(x.dtype());
  Tensor from = as_dtype(x, wide), q = Tensor::empty({m, n}, wide), r = Tensor::empty({n, n}, wide);
  cpu::qr(wide, 1, m, n, false, from.raw(), q.raw(), r.raw());
  dispatch_types<float, double>(wide, [&]<class T>(T) {
    for (int64_t i = 0; i < m; ++i)
      for (int64_t k = 0; k < n; ++k) {
        const T diagonal = r.data<T>()[k * n + k];
        const T sign = static_cast<T>((diagonal > 0) - (diagonal < 0));
        q.data<T>()[i * n + k] *= static_cast<T>(a.gain) * sign;
      }
  });
  op::copy_into(out, q);
}

ARGOSY_OP(orthogonalize, GainAttrs)
    .doc("gain * Q * sign(diag R) of the reduced QR decomposition of x [m, n], m >= n.")
    .paper("1312.6120")
    .input("x", kFloating)
    .index_output("out")
    .infer(orthogonalize_infer)
    .kernel("qr", orthogonalize_run)
    .done();

}  // namespace
}  // namespace argosy::ops
