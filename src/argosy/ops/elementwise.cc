#include "argosy/ops/elementwise.h"

namespace argosy::ops {

void run_elementwise(op::KernelFrame& f, const cpu::LoopTable& table, const void* params,
                     double cost, int key) {
  const Tensor& y = f.out[0];
  cpu::Loop loop = table[f.in.flat()[static_cast<size_t>(key)].dtype()];
  ARGOSY_CHECK(loop, type) << '[' << f.name() << "] is not defined for "
                           << f.in.flat()[static_cast<size_t>(key)].dtype()
                           << ". Do this: cast with .astype(..).";
  InlineVector<cpu::Operand, 5> operands;
  InlineVector<Shape, 4> strides;
  strides.reserve(f.in.flat().size());
  for (const Tensor& t : f.in.flat()) {
    const int64_t* steps = t.strides().data();
    if (!(t.shape() == y.shape())) {
      strides.push_back(broadcast_strides(t, y.shape()));
      steps = strides.back().data();
    }
    operands.push_back({t.raw(), steps, item_size(t.dtype())});
  }
  for (const Tensor& t : f.out)
    operands.push_back({t.raw(), t.strides().data(), item_size(t.dtype())});
  cpu::run_loop(loop, y.shape(), operands, params, cost);
}

}  // namespace argosy::ops
