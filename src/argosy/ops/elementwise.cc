#include "argosy/ops/elementwise.h"

#include "argosy/op/launch.h"

namespace argosy::ops {

void run_elementwise(op::KernelFrame& f, const cpu::LoopTable& table, const void* params,
                     double cost, int key) {
  const Tensor& y = f.out[0];
  if (y.place().kind != DeviceKind::cpu) [[unlikely]]
    return op::launcher(y.place().kind).loop(f, table, params, key);
  cpu::Loop loop = table[f.in.flat()[static_cast<size_t>(key)].dtype()];
  ARGOSY_CHECK(loop, type) << '[' << f.name() << "] is not defined for "
                           << f.in.flat()[static_cast<size_t>(key)].dtype()
                           << ". Do this: cast with .astype(..).";
  constexpr size_t kMost = 12;
  const auto in = f.in.flat();
  const size_t count = in.size() + f.out.size();
  ARGOSY_INVARIANT(count <= kMost);
  cpu::Operand operands[kMost];
  Shape strides[kMost];
  for (size_t i = 0; i < in.size(); ++i) {
    const int64_t* steps = in[i].strides().data();
    if (!(in[i].shape() == y.shape())) {
      strides[i] = broadcast_strides(in[i], y.shape());
      steps = strides[i].data();
    }
    operands[i] = {in[i].raw(), steps, item_size(in[i].dtype())};
  }
  for (size_t i = 0; i < f.out.size(); ++i)
    operands[in.size() + i] = {f.out[i].raw(), f.out[i].strides().data(),
                               item_size(f.out[i].dtype())};
  cpu::run_loop(loop, y.shape(), std::span(operands, count), params, cost);
}

}  // namespace argosy::ops
