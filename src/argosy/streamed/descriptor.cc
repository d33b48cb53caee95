#include "argosy/streamed/descriptor.h"

#include "argosy/op/dispatch.h"

namespace argosy::streamed {

Descriptor::Descriptor(const Tensor& t, const Mirror& mirror) : defined_(t.defined()) {
  if (!defined_) return;
  dtype_ = t.dtype();
  layout_ = t.layout();
  shape_ = t.shape();
  strides_ = t.strides();
  if (t.has_data()) {
    face_ = static_cast<const char*>(t.raw());
    ARGOSY_CHECK(mirror.has(face_), device)
        << "[streamed] an operand, " << t << " on " << t.place()
        << ", is not in the device's memory. Do this: move it with .to(..).";
    alias_ = mirror.alias(face_);
  }
  for (const Tensor& part : t.parts()) parts_.emplace_back(part, mirror);
}

Descriptor Descriptor::of_host(const Tensor& t) {
  Descriptor d;
  d.defined_ = t.defined();
  if (!d.defined_) return d;
  d.copy_ = Tensor::empty(t.shape(), t.dtype());
  op::copy_into(d.copy_, t);
  return d;
}

void Descriptor::add_uses(bool writes, std::vector<Use>& uses) const {
  for (const Descriptor& part : parts_) part.add_uses(writes, uses);
  if (!has_data() || shape_.numel() == 0) return;
  int64_t low = 0, high = 1;  // elements from the first
  for (int i = 0; i < shape_.rank(); ++i) {
    const int64_t reach = (shape_[i] - 1) * strides_[i];
    (reach < 0 ? low : high) += reach;
  }
  const auto first = reinterpret_cast<uintptr_t>(face_);
  const auto item = static_cast<int64_t>(item_size(dtype_));
  uses.push_back({first + static_cast<uintptr_t>(low * item),
                  first + static_cast<uintptr_t>(high * item), writes});
}

Tensor Descriptor::tensor() const {
  if (!defined_) return {};
  if (copy_.defined()) return copy_;
  if (has_data())
    return Tensor::wrap(alias_, shape_, strides_, dtype_, Place{}, nullptr, [](void*) {});
  Tensor t = Tensor::describe(shape_, dtype_);
  t.impl()->layout = layout_;
  for (const Descriptor& part : parts_) t.impl()->parts.push_back(part.tensor());
  return t;
}

}  // namespace argosy::streamed
