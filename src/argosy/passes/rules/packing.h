#pragma once

#include <map>
#include <string>

#include "argosy/ops/conv/packed.h"
#include "argosy/passes/rewrite.h"

// What the rules that pack weights share.
namespace argosy::passes {

class Packer {
 public:
  // An operation packed_linear before the current one; null where there is none, and for weights of
  // fewer elements than `least`.
  Operation* linear(Rewriter& r, const Ref<Value>& x, const Ref<Value>& weight_value,
                    const Tensor& weight, const Ref<Value>& bias, int64_t least);

  // The packed weight as a constant: one for all operations of the same weights and order (`key`).
  // `value` is what the weight, or the tensor that it is a view of, is in the Program.
  template <class Attrs>
  Ref<Value> once(Rewriter& r, const Ref<Value>& value, const std::string& key,
                  const Tensor& weight, const Attrs& a) {
    auto& kept = packed_[{value->id, key}];
    if (!kept) kept = r.constant(ops::pack(weight, a));
    return kept;
  }

 private:
  std::map<std::pair<uint32_t, std::string>, Ref<Value>> packed_;
};

}  // namespace argosy::passes
