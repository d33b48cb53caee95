#pragma once

#include <map>
#include <string>

#include "argosy/passes/rewrite.h"

// What the rules that pack weights share.
namespace argosy::passes {

class Packer {
 public:
  // An operation packed_linear before the current one; null where packing does not pay.
  Operation* linear(Rewriter& r, const Ref<Value>& x, const Ref<Value>& weight_value,
                    const Tensor& weight, const Ref<Value>& bias);

  // make() as a constant: one for all operations of the same weights and order (`key`).
  template <class F>
  Ref<Value> once(Rewriter& r, const Ref<Value>& weights, const std::string& key, F&& make) {
    auto& kept = packed_[{weights->id, key}];
    if (!kept) kept = r.constant(make());
    return kept;
  }

 private:
  std::map<std::pair<uint32_t, std::string>, Ref<Value>> packed_;
};

}  // namespace argosy::passes
