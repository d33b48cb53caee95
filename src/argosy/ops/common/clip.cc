#include <algorithm>
#include <cmath>

#include "argosy/kernels/cpu/elementwise.h"
#include "argosy/kernels/cpu/reduce.h"
#include "argosy/op/define.h"
#include "argosy/ops/common/common.h"

namespace argosy::ops {
namespace {

using op::InferContext;
using op::KernelFrame;

using ClipAttrs = ClipGradNormAttrs;

void clip_infer(InferContext& c, const ClipAttrs& a) {
  ARGOSY_CHECK(a.norm_type >= 0, invalid_argument)
      << "[clip_grad_norm_] norm_type must be inf or not negative, got " << a.norm_type << '.';
  auto grads = c.in.list(0);
  c.out[0] = {{}, grads.empty() ? DType::float32 : grads[0].dtype()};
}

// Of one tensor, what adds up (or, for inf, is compared) to the common norm.
double part_of(const Tensor& t, double p) {
  if (t.numel() == 0) return 0;
  const bool inf = std::isinf(p);
  const uint32_t all = (1u << t.rank()) - 1;
  double value = 0;
  if (p == 0) {
    int64_t count = 0;
    cpu::reduce(cpu::Reduce::count_nonzero, t.dtype(), t.raw(), t.shape(), t.strides().data(), all,
                &count);
    return static_cast<double>(count);
  }
  Tensor x = Tensor::empty(t.shape(), DType::float64), norm = Tensor::empty({}, DType::float64);
  op::copy_into(x, t);
  const int64_t* strides = x.strides().data();
  if (!inf) {
    cpu::reduce_norm(p, DType::float64, x.raw(), x.shape(), strides, all, norm.raw());
    return std::pow(norm.data<double>()[0], p);
  }
  for (cpu::Reduce kind : {cpu::Reduce::max, cpu::Reduce::min}) {
    cpu::reduce(kind, DType::float64, x.raw(), x.shape(), strides, all, norm.raw());
    const double v = std::abs(norm.data<double>()[0]);
    if (!(v <= value)) value = v;  // keeps nan
  }
  return value;
}

void clip_run(KernelFrame& f, const ClipAttrs& a) {
  const bool inf = std::isinf(a.norm_type);
  double total = 0;
  for (const Tensor& g : f.in.list(0)) {
    const double part = part_of(g, a.norm_type);
    if (!inf)
      total += part;
    else if (!(part <= total))
      total = part;
  }
  if (!inf && a.norm_type > 0) total = std::pow(total, 1 / a.norm_type);
  ARGOSY_CHECK(!a.error_if_nonfinite || std::isfinite(total), runtime)
      << "The total norm of order " << a.norm_type
      << " of the gradients is non-finite, so it cannot be clipped [clip_grad_norm_]. Do this: "
         "find "
         "the gradient that is infinite or no number, or set error_if_nonfinite=False.";
  dispatch_floating(f.out[0].dtype(),
                    [&]<class T>(T) { f.out[0].data<T>()[0] = static_cast<T>(total); });
  const double factor = a.max_norm / (total + 1e-6);
  if (factor >= 1) return;
  cpu::LoopParams scale{factor, 0};
  for (const Tensor& g : f.in.list(0)) {
    const cpu::Operand operand{g.raw(), g.strides().data(), item_size(g.dtype())};
    const cpu::Operand operands[] = {operand, operand};
    cpu::run_loop(cpu::scale_loops()[g.dtype()], g.shape(), operands, &scale);
    g.wrote("clip_grad_norm_");
  }
}

ARGOSY_OP(clip_grad_norm_, ClipAttrs)
    .doc(
        "The norm of all gradients together; scales them in place by max_norm / (norm + 1e-6) if "
        "that is below 1.")
    .list_input("grads", kFloating)
    .index_output("total_norm")
    .updates({0})
    .infer(clip_infer)
    .kernel("loop", clip_run)
    .strided()
    .done();

}  // namespace
}  // namespace argosy::ops
