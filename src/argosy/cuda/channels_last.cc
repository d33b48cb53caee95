#include "argosy/cuda/channels_last.h"

#include <map>
#include <string>

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
  if (lies_last(out)) return true;
  return out.rank() == 4 && out.dim(1) > 1 && out.dim(2) * out.dim(3) > 1 && out.is_contiguous() &&
         impl.storage && impl.ref_count() == 1 && impl.storage->ref_count() == 1 &&
         impl.offset == 0;
}

void lay_last(Tensor& out) {
  if (!lies_last(out)) out = out.view(out.shape(), last_strides(out.shape()));
}

namespace {

std::map<std::string, LaysLast>& all_that_lay() {
  static std::map<std::string, LaysLast> all;
  return all;
}

}  // namespace

bool register_lays_last(const char* op, LaysLast lays) {
  return all_that_lay().emplace(op, lays).second;
}
LaysLast find_lays_last(const std::string& op) {
  const auto found = all_that_lay().find(op);
  return found == all_that_lay().end() ? nullptr : found->second;
}

bool follows_last(const op::Inputs& in, const Tensor& out) {
  if (out.rank() != 4 || item_size(out.dtype()) != 2) return false;
  for (const Tensor& t : in.flat())
    if (t.defined() && lies_last(t) && t.shape() == out.shape()) return true;
  return false;
}

}  // namespace argosy::cuda
