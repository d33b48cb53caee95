#include "argosy/base/parallel.h"
#include "argosy/op/define.h"
#include "argosy/ops/math/math.h"

using namespace argosy;

namespace {

struct SquaredDifferenceAttrs {
  double weight = 1;
};
ARGOSY_ATTRS(SquaredDifferenceAttrs, weight)

// The meaning: any dtype, broadcasting, every device; differentiable by itself.
Tensors compose(const op::Inputs& in, const SquaredDifferenceAttrs& a) {
  Tensor d = ops::subtract(in[0], in[1]);
  return ops::scale(ops::multiply(d, d), a.weight);
}

// A faster way for the usual case.
const char* match(const op::Inputs& in, const SquaredDifferenceAttrs&) {
  if (in[0].dtype() != DType::float32) return "needs float32";
  if (in[0].shape() != in[1].shape()) return "needs equal shapes";
  return nullptr;
}

void run(op::KernelFrame& f, const SquaredDifferenceAttrs& a) {
  const float* x = f.in[0].data<float>();
  const float* y = f.in[1].data<float>();
  float* out = f.out[0].data<float>();
  const float weight = static_cast<float>(a.weight);
  parallel_for(f.out[0].numel(), 1 << 15, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) out[i] = weight * (x[i] - y[i]) * (x[i] - y[i]);
  });
}

ARGOSY_OP(squared_difference, SquaredDifferenceAttrs)
    .doc("weight * (x - y)^2, elementwise with broadcasting.")
    .input("x", kFloating)
    .input("y", kFloating)
    .output("out")
    .promote()
    .elementwise()
    .compose(compose)
    .kernel("fused", match, run)
    .done();

}  // namespace
