#pragma once

#include <string>

#include "argosy/base/export.h"

// How an op that promotes its operands differs from the rules of docs/dtypes.md. Said beside its
// description, once for each op:
//   [[maybe_unused]] const bool mixes = op::promotes_kinds("matmul");
namespace argosy::op {

struct OpDef;

// Operands of different kinds with dimensions mix: float32 with int64 is float32.
ARGOSY_API bool promotes_kinds(const std::string& op);
// 0-d operands decide as others do: float32[3] with float64[] is float64.
ARGOSY_API bool promotes_0d(const std::string& op);

struct Promotion {
  bool kinds = false, zero_d = false;
};
Promotion promotion_of(const OpDef& op);

}  // namespace argosy::op
