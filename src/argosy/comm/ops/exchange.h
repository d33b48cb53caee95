#pragma once

#include <cstdint>
#include <optional>

#include "argosy/comm/header.h"
#include "argosy/op/op.h"

namespace argosy::comm {

// What an operation exchanges when it runs, as far as its Program tells: what ranks compare then.
struct Exchange {
  // Without a sequence number. Of root and peer, the number in the group; count is kUnknownCount
  // where a size is not known yet.
  Header header;
  int64_t group = 0;
  // Goes on at once; an operation that reads its first result waits for it.
  bool begins = false;
  bool waits = false;  // for what the operation that made its last operand has begun
};

inline constexpr uint64_t kUnknownCount = UINT64_MAX;

using ExchangeOf = Exchange (*)(const op::Inputs& in, const void* attrs);

// Beside the description of an op: true, for static initializers.
bool describe_exchange(const char* op, ExchangeOf fn);
// Nothing for an op that exchanges nothing, or does not say it.
ARGOSY_API std::optional<Exchange> exchange_of(const op::OpDef& op, const op::Inputs& in,
                                               const void* attrs);

// --- for describe_exchange ---

// Of tensors whose elements count together.
Exchange exchange(Kind kind, int64_t group, std::span<const Tensor> tensors,
                  Reduce op = Reduce::none, int64_t root = -1);
template <class A>
const A& as(const void* attrs) {
  return *static_cast<const A*>(attrs);
}

}  // namespace argosy::comm
