#include "argosy/ops/math/unary.h"

#include <algorithm>

#include "argosy/ops/math/math.h"

namespace argosy::ops {

void run_floating(op::KernelFrame& f, const cpu::LoopTable& table, const cpu::LoopParams* params,
                  double cost) {
  const DType type = f.in[0].dtype();
  if (type != DType::float64 && !is_complex(type)) cost = std::max(1.0, cost / 8);
  if (is_differentiable(type)) return run_elementwise(f, table, params, cost);
  Tensor x = Tensor::empty(f.in[0].shape(), DType::float32, f.in[0].place());
  op::copy_into(x, f.in[0]);
  op::KernelFrame floats{f.op, op::Inputs({&x, 1}), f.out};
  run_elementwise(floats, table, params, cost);
}

Tensor chain(const Tensor& dy, const Tensor& derivative) {
  return multiply(dy, conj_if_complex(derivative));
}

Tensors curved_rule(const op::GradCall& c, const Tensor& curve) {
  Tensor to_saved, to_dy;
  if (curve.defined()) to_saved = chain(multiply(conj_if_complex(c.dy()), c.in[1]), curve);
  if (c.needs(1)) {
    const Tensor in[] = {c.in[0], conj_if_complex(c.dy())};
    const op::NoAttrs none;
    to_dy = conj_if_complex(op::dispatch(c.op, op::Inputs(in), &none)[0]);
  }
  return {to_saved, to_dy};
}

}  // namespace argosy::ops
