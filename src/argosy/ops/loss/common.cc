#include "argosy/ops/creation/creation.h"
#include "argosy/ops/loss/loss.h"
#include "argosy/ops/math/math.h"
#include "argosy/ops/reduce/reduce.h"

namespace argosy::ops {

void check_reduction(const char* op, const std::string& reduction) {
  ARGOSY_CHECK(reduction == "mean" || reduction == "sum" || reduction == "none", invalid_argument)
      << "The value of 'reduction' in " << op << " should be 'sum', 'mean' or 'none', but received "
      << reduction << ", which is not allowed. Do this: pass 'mean', the usual one.";
}

Tensor reduced(const Tensor& losses, const std::string& reduction) {
  if (reduction == "mean") return mean(losses);
  return reduction == "sum" ? sum(losses) : losses;
}

void infer_reduced(op::InferContext& c, const Shape& elements, const std::string& reduction) {
  check_reduction(c.name(), reduction);
  c.out[0].shape = reduction == "none" ? elements : Shape{};
}

void infer_loss(op::InferContext& c, const std::string& reduction) {
  Shape shape = c.in[0].shape();
  DType dtype = c.in[0].dtype();
  for (const Tensor& t : c.in.flat()) {
    if (!t.defined()) continue;
    shape = broadcast(c.name(), shape, t.shape());
    if (kFloating.has(t.dtype())) dtype = promote(dtype, t.dtype());
  }
  c.out[0].dtype = dtype;
  infer_reduced(c, shape, reduction);
}

void check_same_shape(const char* op, const char* name_a, const Tensor& a, const char* name_b,
                      const Tensor& b) {
  bool same = a.rank() == b.rank();
  for (int i = 0; same && i < a.rank(); ++i)
    same = a.dim(i) == b.dim(i) || a.dim(i) < 0 || b.dim(i) < 0;
  ARGOSY_CHECK(same, invalid_argument)
      << '[' << op << "] " << name_a << " and " << name_b << " must have the same shape: " << name_a
      << " is " << a << ", " << name_b << " is " << b
      << ". Do this: reshape, squeeze or expand one of them.";
}

Tensor as_number(const Tensor& label, const Tensor& x) {
  return is_differentiable(label.dtype()) ? label : cast(label, x.dtype());
}

Tensor is_value(const Tensor& label, double value, DType dtype) {
  return cast(equal(label, full_like(label, value)), dtype);
}

Tensor weighted_mean(const Tensor& losses, const Tensor& weights) {
  Tensor total = sum(weights);
  return divide(sum(losses), add(total, is_value(total, 0, total.dtype())));
}

}  // namespace argosy::ops
