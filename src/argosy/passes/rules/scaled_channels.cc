#include "argosy/passes/rules/scaled_channels.h"

#include "argosy/kernels/cpu/scaled.h"
#include "argosy/op/dispatch.h"

namespace argosy::passes {

Tensor scaled_channels(const Tensor& weight, const Tensor& factor, bool first_axis, bool in_place) {
  const Tensor w = op::contiguous(weight), f = op::contiguous(factor);
  ARGOSY_INVARIANT(!in_place || w.raw() == weight.raw());
  const int64_t rows = w.rank() ? w.dim(0) : 1;
  const int64_t columns = rows ? w.numel() / rows : 0;
  const bool one = f.numel() == 1;
  const Tensor out = in_place ? w : Tensor::empty(w.shape(), w.dtype());
  cpu::scale_in_float64(w.dtype(), rows, columns, w.raw(), f.data<double>(), !one && first_axis,
                        !one && !first_axis, out.raw());
  return out;
}

}  // namespace argosy::passes
