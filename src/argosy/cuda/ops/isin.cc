#include "argosy/kernels/cuda/isin.h"

#include "argosy/cuda/ops/move_operands.h"
#include "argosy/ops/search/search.h"

namespace argosy::cuda {
namespace {

const char* isin_match(const op::Inputs& in, const ops::IsinAttrs&) {
  if (is_complex(in[0].dtype())) return "complex numbers have no order";
  if (kFloat8.has(in[0].dtype())) return "8-bit floats";
  return in[1].numel() < INT32_MAX ? nullptr : "more than 2^31 numbers";
}
void isin_run(op::KernelFrame& f, const ops::IsinAttrs& a) {
  const Tensor &x = f.in[0], &test = f.in[1];
  isin(stream_of(f), x.dtype(), f.out[0].data<bool>(), x.raw(), x.numel(), test.raw(), test.numel(),
       a.invert);
}
[[maybe_unused]] const bool isin_added = add_kernel<ops::IsinAttrs>("isin", isin_match, isin_run);

}  // namespace
}  // namespace argosy::cuda
