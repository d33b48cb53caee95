#include "argosy/cuda/channels_last.h"

#include "argosy/op/define.h"

namespace argosy::cuda {
namespace {

Shape last_strides(const Shape& s) {
  const int64_t column = s[1], row = s[3] * column;
  return {s[2] * row, 1, row, column};
}

}  // namespace

bool lies_last(const Tensor& t) {
  return t.rank() == 4 && !t.is_contiguous() && t.strides() == last_strides(t.shape());
}

Tensor lying_last(const Tensor& t) {
  if (lies_last(t)) return t;
  const Tensor copy =
      Tensor::empty(t.shape(), t.dtype(), t.place()).view(t.shape(), last_strides(t.shape()));
  op::copy_into(copy, t);
  return copy;
}

bool may_lie_last(const Tensor& out) {
  const TensorImpl& impl = *out.impl();
  return out.rank() == 4 && out.dim(1) > 1 && out.dim(2) * out.dim(3) > 1 && out.is_contiguous() &&
         impl.storage && impl.ref_count() == 1 && impl.storage->ref_count() == 1 &&
         impl.offset == 0;
}

void lay_last(Tensor& out) {
  out = out.view(out.shape(), last_strides(out.shape()));
}

}  // namespace argosy::cuda
